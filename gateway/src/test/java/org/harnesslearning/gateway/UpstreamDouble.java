package org.harnesslearning.gateway;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Stands in for proposer-service on a loopback port: keeps what it was asked and answers what the test says. */
public final class UpstreamDouble implements AutoCloseable {
    /** One request as it arrived. */
    public record Seen(String method, String target, Map<String, List<String>> headers, byte[] body) {
        public String header(String name) {
            List<String> values = headers.entrySet().stream()
                    .filter(entry -> entry.getKey().equalsIgnoreCase(name))
                    .flatMap(entry -> entry.getValue().stream())
                    .toList();
            return String.join(",", values);
        }
    }

    private final HttpServer server;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final List<Seen> seen = new CopyOnWriteArrayList<>();
    private volatile HttpHandler handler = exchange -> answer(exchange, 200, "application/json", "{}");

    /** Starts it on a free port. */
    public UpstreamDouble() {
        try {
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        server.setExecutor(threads);
        server.createContext("/", exchange -> {
            try {
                byte[] body = exchange.getRequestBody().readAllBytes();
                seen.add(new Seen(
                        exchange.getRequestMethod(),
                        exchange.getRequestURI().toString(),
                        Map.copyOf(exchange.getRequestHeaders()),
                        body));
                handler.handle(exchange);
            } finally {
                exchange.close();
            }
        });
        server.start();
    }

    /** Where it answers. */
    public URI url() {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    }

    /** What to answer from now on; what was asked before is forgotten. */
    public void answers(HttpHandler next) {
        handler = next;
        seen.clear();
    }

    /** What was asked. */
    public List<Seen> seen() {
        return seen;
    }

    /** Answers with a whole body. */
    public static void answer(HttpExchange exchange, int status, String type, String body) throws IOException {
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", type);
        exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
        exchange.getResponseBody().write(bytes);
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}
