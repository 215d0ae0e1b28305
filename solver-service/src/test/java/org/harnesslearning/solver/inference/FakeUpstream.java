package org.harnesslearning.solver.inference;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import org.harnesslearning.contracts.json.Json;
import tools.jackson.databind.JsonNode;

/** An OpenAI-compatible endpoint on loopback whose answers are written by the test. */
final class FakeUpstream implements AutoCloseable {
    /** Answers one request. */
    interface Script {
        void answer(HttpExchange exchange) throws IOException;
    }

    private final HttpServer server;
    final List<JsonNode> bodies = Collections.synchronizedList(new ArrayList<>());
    final List<String> keys = Collections.synchronizedList(new ArrayList<>());
    final List<Script> scripts = Collections.synchronizedList(new ArrayList<>());
    final CountDownLatch release = new CountDownLatch(1);

    FakeUpstream() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        server.createContext("/v1/chat/completions", exchange -> {
            bodies.add(Json.mapper().readTree(exchange.getRequestBody().readAllBytes()));
            keys.add(String.valueOf(exchange.getRequestHeaders().getFirst("Authorization")));
            Script script = scripts.isEmpty() ? choices("ok") : scripts.removeFirst();
            script.answer(exchange);
        });
        server.start();
    }

    String baseUrl() {
        return "http://127.0.0.1:" + server.getAddress().getPort() + "/v1";
    }

    static Script choices(String... texts) {
        StringBuilder choices = new StringBuilder();
        for (int i = 0; i < texts.length; i++) {
            choices.append(i == 0 ? "" : ",")
                    .append(
                            "{\"index\": %d, \"message\": {\"role\": \"assistant\", \"content\": %s}, \"finish_reason\": \"stop\"}"
                                    .formatted(i, Json.write(texts[i])));
        }
        return status(
                200,
                "{\"id\": \"x\", \"object\": \"chat.completion\", \"created\": 1, \"model\": \"up\", \"choices\": ["
                        + choices
                        + "], \"usage\": {\"prompt_tokens\": 11, \"completion_tokens\": 5, \"total_tokens\": 16}}");
    }

    static Script status(int status, String body, String... headers) {
        return exchange -> {
            byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("Content-Type", "application/json");
            for (int i = 0; i < headers.length; i += 2) {
                exchange.getResponseHeaders().set(headers[i], headers[i + 1]);
            }
            exchange.sendResponseHeaders(status, bytes.length);
            exchange.getResponseBody().write(bytes);
            exchange.close();
        };
    }

    /** Announces a body and closes before its end. */
    static Script cut() {
        return exchange -> {
            exchange.sendResponseHeaders(200, 1000);
            exchange.getResponseBody().write("{\"id\":".getBytes(StandardCharsets.UTF_8));
            exchange.getResponseBody().flush();
            exchange.close();
        };
    }

    /** Says nothing until the test is over. */
    Script silence() {
        return exchange -> {
            try {
                release.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            exchange.close();
        };
    }

    @Override
    public void close() {
        release.countDown();
        server.stop(0);
    }
}
