package org.harnesslearning.doubles;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Deque;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A receiver of webhooks on a loopback port; answers with the statuses that the test queued, else 204. */
final class Receiver implements AutoCloseable {
    /** One call. */
    record Call(String path, String id, long timestamp, String signature, String body) {}

    final BlockingQueue<Call> calls = new LinkedBlockingQueue<>();
    final Deque<Integer> answers = new ConcurrentLinkedDeque<>();
    private final HttpServer server;

    Receiver() {
        try {
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        server.createContext("/", exchange -> {
            try (exchange) {
                calls.add(new Call(
                        exchange.getRequestURI().getPath(),
                        exchange.getRequestHeaders().getFirst("webhook-id"),
                        Long.parseLong(exchange.getRequestHeaders().getFirst("webhook-timestamp")),
                        exchange.getRequestHeaders().getFirst("webhook-signature"),
                        new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8)));
                Integer status = answers.poll();
                if (status != null && status == 302) {
                    exchange.getResponseHeaders().set("Location", url("/elsewhere"));
                }
                exchange.sendResponseHeaders(status == null ? 204 : status, -1);
            }
        });
        server.start();
    }

    int port() {
        return server.getAddress().getPort();
    }

    String url(String path) {
        return "http://127.0.0.1:" + port() + path;
    }

    Call next() {
        try {
            Call call = calls.poll(30, TimeUnit.SECONDS);
            if (call == null) {
                throw new AssertionError("no call came");
            }
            return call;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        server.stop(0);
    }
}
