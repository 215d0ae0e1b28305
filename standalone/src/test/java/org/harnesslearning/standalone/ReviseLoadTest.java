package org.harnesslearning.standalone;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.testing.PlatformProcess;
import org.harnesslearning.testing.RequiresDocker;
import org.harnesslearning.testing.RequiresPostgres;
import org.harnesslearning.testing.SharedData;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/**
 * Revisions under load, on loopback: real sandboxes and Postgres, the proposer's reply from a file. Each request brings a
 * harness of its own, so that nothing comes from the cache: four sandbox jobs each, five questions. Prints its figures; they
 * are in docs/benchmarks.md.
 */
@Tag("long")
@RequiresDocker
@RequiresPostgres
class ReviseLoadTest {
    private static final int CLIENTS = 20;

    @TempDir
    Path folder;

    private PlatformProcess platform;

    @AfterEach
    void stop() throws Exception {
        platform.close();
    }

    @Test
    void two_hundred_revisions_by_twenty_clients_all_succeed() throws Exception {
        start("executor.admission.queue=256", "gateway.rate.burst=1000");
        int requests = 200;
        long transactions = transactions();
        Duration processor = processor();
        long begin = System.nanoTime();

        List<Long> times = clients(requests, index -> {
            long start = System.nanoTime();
            HttpResponse<String> answer = revise(index, true, "wait=600");
            assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
            JsonNode revision = Json.mapper().readTree(answer.body());
            assertThat(revision.get("state").asString()).isEqualTo("succeeded");
            assertThat(revision.at("/counts/scored").asInt()).as(answer.body()).isEqualTo(1);
            return System.nanoTime() - start;
        });

        double seconds = (System.nanoTime() - begin) / 1e9;
        List<Long> sorted = times.stream().sorted().toList();
        report(
                "%d revisions over %d clients: %.1f s, %.2f a second; ms p50 %d, p95 %d, p99 %d, most %d; each %.0f"
                        + " transactions and %.0f ms of the platform's processor time; %s",
                requests,
                CLIENTS,
                seconds,
                requests / seconds,
                ms(sorted, 0.5),
                ms(sorted, 0.95),
                ms(sorted, 0.99),
                ms(sorted, 1),
                (double) (transactions() - transactions) / requests,
                (double) processor().minus(processor).toMillis() / requests,
                memory());
        assertThat(sorted).hasSize(requests);
    }

    @Test
    void above_the_limits_callers_are_told_when_to_come_again_and_nothing_is_lost() throws Exception {
        start("gateway.rate.burst=5", "gateway.rate.per-second=2");
        int requests = 60;
        AtomicInteger refused = new AtomicInteger();

        List<String> ids = clients(requests, index -> {
            HttpResponse<String> answer = patient(refused, () -> revise(index, false, "wait=0"));
            assertThat(answer.statusCode()).as(answer.body()).isIn(200, 202);
            return Json.mapper().readTree(answer.body()).get("id").asString();
        });

        report(
                "%d revisions over %d clients against a limit of 2 a second and 5 at once: %d refused with Retry-After; %s",
                requests, CLIENTS, refused.get(), memory());
        assertThat(refused.get()).isPositive();
        Set<String> distinct = new HashSet<>(ids);
        assertThat(distinct).hasSize(requests);
        for (String id : distinct) {
            String state = "queued";
            for (int looks = 0; !state.equals("succeeded") && looks < 3000; looks++) {
                HttpResponse<String> answer =
                        patient(refused, () -> platform.api().send("GET", "/revisions/" + id, null));
                assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
                state = Json.mapper().readTree(answer.body()).get("state").asString();
                assertThat(state).isIn("queued", "running", "succeeded");
            }
            assertThat(state).isEqualTo("succeeded");
        }
    }

    /** Calls again when told to, after the time that the answer names. */
    private static HttpResponse<String> patient(AtomicInteger refused, Callable<HttpResponse<String>> call)
            throws Exception {
        while (true) {
            HttpResponse<String> answer = call.call();
            if (answer.statusCode() != 429) {
                return answer;
            }
            refused.incrementAndGet();
            assertThat(Json.mapper().readTree(answer.body()).get("code").asString())
                    .isIn("RATE_LIMITED", "QUEUE_FULL");
            String after = answer.headers().firstValue("Retry-After").orElseThrow();
            Thread.sleep(Duration.ofSeconds(Long.parseLong(after)));
        }
    }

    private interface Work<T> {
        T of(int index) throws Exception;
    }

    private static <T> List<T> clients(int requests, Work<T> work) throws Exception {
        AtomicInteger next = new AtomicInteger();
        try (ExecutorService threads = Executors.newFixedThreadPool(CLIENTS)) {
            List<Future<List<T>>> clients = new ArrayList<>();
            for (int i = 0; i < CLIENTS; i++) {
                Callable<List<T>> own = () -> {
                    List<T> results = new ArrayList<>();
                    for (int index = next.getAndIncrement(); index < requests; index = next.getAndIncrement()) {
                        results.add(work.of(index));
                    }
                    return results;
                };
                clients.add(threads.submit(own));
            }
            List<T> all = new ArrayList<>();
            for (Future<List<T>> one : clients) {
                all.addAll(one.get());
            }
            return all;
        }
    }

    private HttpResponse<String> revise(int index, boolean evaluate, String prefer) throws Exception {
        List<Map<String, Object>> feedback = items("feedback", 1);
        Map<String, Object> body = Map.of(
                "task",
                Map.of(
                        "inline",
                        Map.of(
                                "description",
                                "Answer with the number of the harness.",
                                "scorer",
                                "exact",
                                "items",
                                Map.of("feedback", feedback, "dev", items("dev", 4)))),
                "harness",
                Map.of("source", "def run(question, env):\n    return \"" + index + "\"\n"),
                "candidates",
                1,
                "evaluate",
                evaluate,
                "proposer",
                Map.of("model", "recorded", "demonstrations", "none"),
                "solver",
                Map.of("model", "recorded"));
        return platform.api().send("POST", "/revise", body, "Idempotency-Key", "load-" + index, "Prefer", prefer);
    }

    private static List<Map<String, Object>> items(String split, int count) {
        return IntStream.range(0, count)
                .mapToObj(i ->
                        Map.<String, Object>of("question", "Which number, " + split + " " + i + "?", "answer", "7"))
                .toList();
    }

    private static long ms(List<Long> sorted, double share) {
        return sorted.get((int) Math.min(sorted.size() - 1, Math.ceil(share * sorted.size()) - 1)) / 1_000_000;
    }

    /** Transactions that Postgres has committed so far. */
    private long transactions() throws Exception {
        return Long.parseLong(platform.single("select sum(xact_commit) from pg_stat_database"));
    }

    /** Processor time of the platform's own process, without Postgres, Docker and the sandboxes. */
    private Duration processor() {
        return platform.handle().info().totalCpuDuration().orElseThrow();
    }

    /** Resident memory of the platform, now and at most. */
    private String memory() throws IOException {
        try (Stream<String> lines =
                Files.lines(Path.of("/proc/" + platform.handle().pid() + "/status"))) {
            return String.join(
                    ", ",
                    lines.filter(line -> line.startsWith("VmRSS") || line.startsWith("VmHWM"))
                            .map(line -> line.replaceAll("\\s+", " "))
                            .toList());
        }
    }

    private static void report(String format, Object... values) {
        System.out.println("[load] " + format.formatted(values));
    }

    private void start(String... settings) throws Exception {
        Path replies = SharedData.root().resolve("standalone/src/test/resources/recorded/log-line.jsonl");
        List<String> properties = new ArrayList<>(List.of(
                "solver.discover=false",
                "solver.models[0].name=recorded",
                "solver.models[0].kind=recorded",
                "solver.models[0].file=" + replies));
        properties.addAll(List.of(settings));
        platform = PlatformProcess.start(folder, List.of("-Xmx1g", "-XX:+UseSerialGC"), properties);
    }
}
