package org.harnesslearning.executor;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Function;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.model.ChatRequest;
import org.harnesslearning.contracts.model.ChatResponse;
import org.harnesslearning.contracts.web.Problem;

/** A model endpoint on loopback whose replies are a function of the request; keeps every request. */
public final class ScriptedModel implements AutoCloseable {
    private final HttpServer server;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final List<ChatRequest> requests = new CopyOnWriteArrayList<>();
    private volatile Function<ChatRequest, String> script;

    /** @param script gives the reply, or throws the error to answer with */
    public ScriptedModel(Function<ChatRequest, String> script) {
        this.script = script;
        try {
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        server.setExecutor(threads);
        server.createContext("/v1/chat/completions", this::answer);
        server.start();
    }

    private void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            ChatRequest request =
                    Json.mapper().readValue(exchange.getRequestBody().readAllBytes(), ChatRequest.class);
            requests.add(request);
            int status = 200;
            Object body;
            try {
                String reply = script.apply(request);
                body = new ChatResponse(
                        "chat-" + requests.size(),
                        "chat.completion",
                        0,
                        request.model(),
                        List.of(new ChatResponse.Choice(
                                0, new ChatRequest.Message("assistant", reply), "stop", null, null)),
                        new ChatResponse.Usage(10, 5, 15),
                        null,
                        null,
                        null,
                        null);
            } catch (PlatformException e) {
                status = e.code().status();
                body = Problem.of(e.code(), e.getMessage(), null, e.errors());
            }
            byte[] bytes = Json.mapper().writeValueAsBytes(body);
            exchange.getResponseHeaders().set("Content-Type", status == 200 ? "application/json" : Problem.MEDIA_TYPE);
            exchange.sendResponseHeaders(status, bytes.length);
            exchange.getResponseBody().write(bytes);
        }
    }

    public void script(Function<ChatRequest, String> next) {
        script = next;
    }

    public URI url() {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    }

    /** All requests so far. */
    public List<ChatRequest> requests() {
        return List.copyOf(requests);
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}
