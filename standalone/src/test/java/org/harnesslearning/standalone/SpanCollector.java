package org.harnesslearning.standalone;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;
import io.opentelemetry.proto.trace.v1.Span;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;

/** Takes spans over OTLP/HTTP, as a collector does, and keeps them. */
final class SpanCollector implements AutoCloseable {
    private final HttpServer server;
    private final List<Collected> spans = new CopyOnWriteArrayList<>();

    SpanCollector() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/v1/traces", this::take);
        server.start();
    }

    /**
     * A span.
     *
     * @param service name of the service that made it
     * @param start nanoseconds since 1970
     */
    record Collected(
            String service, String name, ByteString trace, ByteString id, ByteString parent, long start, long end) {}

    String endpoint() {
        return "http://127.0.0.1:" + server.getAddress().getPort() + "/v1/traces";
    }

    private void take(HttpExchange exchange) throws IOException {
        try (exchange) {
            ExportTraceServiceRequest request = ExportTraceServiceRequest.parseFrom(
                    exchange.getRequestBody().readAllBytes());
            request.getResourceSpansList().forEach(resource -> {
                String service = resource.getResource().getAttributesList().stream()
                        .filter(attribute -> attribute.getKey().equals("service.name"))
                        .findFirst()
                        .orElseThrow()
                        .getValue()
                        .getStringValue();
                resource.getScopeSpansList()
                        .forEach(scope -> scope.getSpansList().forEach(span -> add(service, span)));
            });
            exchange.sendResponseHeaders(200, -1);
        } catch (InvalidProtocolBufferException e) {
            exchange.sendResponseHeaders(400, -1);
        }
    }

    private void add(String service, Span span) {
        spans.add(new Collected(
                service,
                span.getName(),
                span.getTraceId(),
                span.getSpanId(),
                span.getParentSpanId(),
                span.getStartTimeUnixNano(),
                span.getEndTimeUnixNano()));
    }

    List<Collected> spans() {
        return List.copyOf(spans);
    }

    /** A span with those around it, the outermost first; ends where a parent is not known. */
    List<Collected> path(Collected span) {
        List<Collected> path = new ArrayList<>();
        Optional<Collected> at = Optional.of(span);
        while (at.isPresent()) {
            path.addFirst(at.get());
            ByteString parent = at.get().parent();
            at = spans.stream().filter(other -> other.id().equals(parent)).findFirst();
        }
        return path;
    }

    @Override
    public void close() {
        server.stop(0);
    }
}
