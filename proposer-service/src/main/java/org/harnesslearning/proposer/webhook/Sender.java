package org.harnesslearning.proposer.webhook;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.Proxy;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.util.concurrent.TimeUnit;
import okhttp3.HttpUrl;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;
import okio.BufferedSource;
import org.harnesslearning.store.webhook.Delivery;
import org.springframework.stereotype.Component;

/** Makes one try: no proxy, no redirect, a bound on time, and of the answer only the status and a little text is read. */
@Component
class Sender {
    private static final MediaType JSON = MediaType.get("application/json");
    private static final int READ_BYTES = 16 * 1024;

    private final Targets targets;
    private final Clock clock;
    private final OkHttpClient client;

    Sender(Targets targets, WebhookSettings settings, Clock clock) {
        this.targets = targets;
        this.clock = clock;
        this.client = new OkHttpClient.Builder()
                .proxy(Proxy.NO_PROXY)
                .followRedirects(false)
                .followSslRedirects(false)
                .retryOnConnectionFailure(false)
                .callTimeout(settings.timeout())
                .build();
    }

    /** Sends a delivery's payload, signed; whatever happens becomes the try. */
    Delivery.Attempt send(String url, String secret, Delivery delivery) {
        int number = delivery.attempts() + 1;
        long begin = System.nanoTime();
        java.time.Instant at = clock.instant();
        Integer status = null;
        String error = null;
        String fault = targets.fault(url);
        HttpUrl target = HttpUrl.parse(url);
        if (fault != null || target == null) {
            error = "the URL " + (fault == null ? "can't be read" : fault);
        } else {
            try (Response response = client.newBuilder()
                    .dns(targets.dns(target))
                    .build()
                    .newCall(request(target, secret, delivery, at.getEpochSecond()))
                    .execute()) {
                status = response.code();
                BufferedSource source = response.body().source();
                // What is left unread is dropped with the connection.
                source.request(READ_BYTES);
            } catch (IOException e) {
                error = status == null ? reason(e) : null;
            }
        }
        long ms = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin);
        return new Delivery.Attempt(number, at, status, error, ms);
    }

    private static Request request(HttpUrl url, String secret, Delivery delivery, long timestamp) {
        return new Request.Builder()
                .url(url)
                .header("User-Agent", "harness-learning-webhooks/1")
                .header("webhook-id", delivery.event())
                .header("webhook-timestamp", Long.toString(timestamp))
                .header("webhook-signature", Signature.of(secret, delivery.event(), timestamp, delivery.payload()))
                .post(RequestBody.create(delivery.payload().getBytes(StandardCharsets.UTF_8), JSON))
                .build();
    }

    private static String reason(IOException e) {
        return switch (e) {
            case InterruptedIOException timeout -> "no answer in time";
            case UnknownHostException unknown -> "the host has no public address";
            default -> e.getClass().getSimpleName();
        };
    }
}
