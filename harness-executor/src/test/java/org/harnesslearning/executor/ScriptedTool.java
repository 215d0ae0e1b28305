package org.harnesslearning.executor;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A tool on loopback whose answers are a function of the request; keeps every request. */
public final class ScriptedTool implements AutoCloseable {
    private final HttpServer server;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final List<Request> requests = new CopyOnWriteArrayList<>();
    private volatile Function<Request, Answer> script;

    /** A request; names of headers in small letters, of several values the first. */
    public record Request(
            String method, String path, @Nullable String query, Map<String, String> headers, String body) {
        /** A header's value. */
        public String header(String name) {
            return Objects.requireNonNull(headers.get(name), name);
        }
    }

    /** An answer; {@link #NONE} closes the connection instead. */
    public record Answer(int status, String body, Map<String, String> headers) {
        public static final Answer NONE = new Answer(0, "", Map.of());

        public static Answer ok(String body) {
            return new Answer(200, body, Map.of());
        }

        public static Answer status(int status) {
            return new Answer(status, "{}", Map.of());
        }
    }

    public ScriptedTool(Function<Request, Answer> script) {
        this.script = script;
        try {
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        server.setExecutor(threads);
        server.createContext("/", this::answer);
        server.start();
    }

    private void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            Map<String, String> headers = new java.util.HashMap<>();
            exchange.getRequestHeaders()
                    .forEach((name, values) -> headers.put(name.toLowerCase(java.util.Locale.ROOT), values.getFirst()));
            Request request = new Request(
                    exchange.getRequestMethod(),
                    exchange.getRequestURI().getPath(),
                    exchange.getRequestURI().getRawQuery(),
                    headers,
                    new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8));
            requests.add(request);
            Answer answer = script.apply(request);
            if (answer.status() == 0) {
                return;
            }
            answer.headers().forEach(exchange.getResponseHeaders()::set);
            byte[] body = answer.body().getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(answer.status(), body.length == 0 ? -1 : body.length);
            exchange.getResponseBody().write(body);
        }
    }

    public void script(Function<Request, Answer> next) {
        script = next;
    }

    public URI url(String path) {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort() + path);
    }

    /** All requests so far. */
    public List<Request> requests() {
        return List.copyOf(requests);
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}
