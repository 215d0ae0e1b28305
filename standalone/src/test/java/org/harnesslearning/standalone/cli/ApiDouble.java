package org.harnesslearning.standalone.cli;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** A public API on a loopback port that answers what a test says, by the contract. */
final class ApiDouble implements AutoCloseable {
    /** One request. */
    record Seen(String call, String key, String lastEventId, String body) {}

    private record Answer(int status, String type, String body) {}

    private final HttpServer server;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final Map<String, Deque<Answer>> answers = new ConcurrentHashMap<>();
    private final List<Seen> seen = new CopyOnWriteArrayList<>();

    ApiDouble() {
        try {
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        server.setExecutor(threads);
        server.createContext("/", this::handle);
        server.start();
    }

    String url() {
        return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    /** Adds an answer of a call such as {@code GET /models}; the last one is repeated. */
    ApiDouble on(String call, int status, String body) {
        String type = status >= 400
                ? "application/problem+json"
                : body.startsWith("id:") || body.startsWith("event:") ? "text/event-stream" : "application/json";
        answers.computeIfAbsent(call, c -> new ArrayDeque<>()).add(new Answer(status, type, body));
        return this;
    }

    List<Seen> seen(String call) {
        return seen.stream().filter(request -> request.call().equals(call)).toList();
    }

    private void handle(HttpExchange exchange) throws IOException {
        try (exchange) {
            String call = exchange.getRequestMethod() + " " + exchange.getRequestURI();
            seen.add(new Seen(
                    call,
                    String.valueOf(exchange.getRequestHeaders().getFirst("Authorization")),
                    String.valueOf(exchange.getRequestHeaders().getFirst("Last-Event-ID")),
                    new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8)));
            Deque<Answer> here = answers.get(call);
            Answer answer;
            if (here == null) {
                answer = new Answer(
                        404, "application/problem+json", "{\"code\":\"NOT_FOUND\",\"detail\":\"" + call + "\"}");
            } else {
                synchronized (here) {
                    answer = here.size() > 1 ? here.pop() : here.peek();
                }
            }
            byte[] bytes = answer.body().getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("Content-Type", answer.type());
            exchange.sendResponseHeaders(answer.status(), bytes.length == 0 ? -1 : bytes.length);
            exchange.getResponseBody().write(bytes);
        }
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}
