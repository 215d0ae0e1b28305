package org.harnesslearning.standalone;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.List;

/** A few harmless requests through all services, so that the start-up cache covers the first request too. */
final class Warmup {
    private Warmup() {}

    static void run(String url, String key) {
        try (HttpClient client = HttpClient.newHttpClient()) {
            for (String path : List.of("/readyz", "/openapi.json", "/models", "/adaptations", "/tasks")) {
                client.send(
                        HttpRequest.newBuilder(URI.create(url + path))
                                .header("Authorization", "Bearer " + key)
                                .build(),
                        BodyHandlers.discarding());
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
