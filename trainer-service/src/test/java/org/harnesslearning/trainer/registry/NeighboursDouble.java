package org.harnesslearning.trainer.registry;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.model.ModelInfo;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.store.harness.HarnessStore;
import org.harnesslearning.store.model.ModelAliasStore;
import org.harnesslearning.store.run.CandidateOutcome;
import org.harnesslearning.store.run.CandidateScore;
import org.harnesslearning.store.run.CandidateStore;
import org.harnesslearning.store.run.RunKind;
import org.harnesslearning.store.run.RunRow;
import org.harnesslearning.store.run.RunState;
import org.harnesslearning.store.run.RunStore;
import org.springframework.context.ApplicationContext;
import tools.jackson.databind.JsonNode;

/**
 * Stands in for solver-service and proposer-service on a loopback port: names of the registry are answered from its rows,
 * a revision is finished at once with scores by family and version.
 */
final class NeighboursDouble implements AutoCloseable {
    private final HttpServer server;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final Map<String, String> revisions = new ConcurrentHashMap<>();
    /** Mean score by version; the base model is under its name. */
    final Map<String, Double> skill = new ConcurrentHashMap<>();
    /** Bodies of the revisions that were ordered. */
    final List<JsonNode> ordered = new ArrayList<>();

    private volatile ApplicationContext context;

    @SuppressWarnings("NullAway") // set before the first request
    NeighboursDouble() {
        try {
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        server.setExecutor(threads);
        server.createContext("/v1/models", exchange -> {
            String path = exchange.getRequestURI().getPath();
            if (path.equals("/v1/models")) {
                answer(exchange, 200, Map.of("object", "list", "data", List.of(info("tiny", null))));
            } else {
                String name = path.substring("/v1/models/".length());
                String version = context.getBean(ModelAliasStore.class)
                        .find(name)
                        .orElseThrow()
                        .version();
                answer(exchange, 200, info(name, version));
            }
        });
        server.createContext("/revise", exchange -> {
            JsonNode body = Json.mapper().readTree(exchange.getRequestBody().readAllBytes());
            String key = exchange.getRequestHeaders().getFirst("Idempotency-Key");
            String id;
            synchronized (ordered) {
                id = revisions.get(key);
                if (id == null) {
                    id = "rev_" + revisions.size();
                    revise(id, body);
                    revisions.put(key, id);
                    ordered.add(body);
                }
            }
            answer(exchange, 202, Map.of("id", id, "state", "succeeded"));
        });
        server.start();
    }

    void serves(ApplicationContext trainer) {
        context = trainer;
    }

    String url() {
        return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    private static ModelInfo info(String name, String version) {
        return new ModelInfo(
                name, "model", 0, "tests", ModelInfo.Kind.LOCAL, "sha256:0", null, null, 512, null, version);
    }

    private void revise(String id, JsonNode body) {
        String family = body.at("/task/reasoning_gym/family").asString();
        String model = body.at("/proposer/model").asString();
        String version = context.getBean(ModelAliasStore.class)
                .find(model)
                .map(alias -> String.valueOf(alias.version()))
                .orElse(model);
        double mean = skill.getOrDefault(version, 0.0);
        int dev = body.at("/splits/dev").asInt();
        String harness = context.getBean(HarnessStore.class).save("def run(question, env):\n    return question\n");
        RunStore runs = context.getBean(RunStore.class);
        runs.insert(
                new RunRow(
                        id,
                        RunKind.REVISION,
                        "program",
                        "reasoning_gym",
                        family,
                        RunState.QUEUED,
                        null,
                        null,
                        null,
                        body,
                        Json.mapper().createObjectNode(),
                        harness,
                        false,
                        null,
                        null,
                        "trainer-service",
                        Instant.EPOCH,
                        null,
                        0,
                        0,
                        0,
                        0,
                        1),
                Map.of(
                        Split.DEV,
                        IntStream.range(0, dev)
                                .mapToObj(i -> Item.of(family + " " + i, List.of("x")))
                                .toList()));
        CandidateStore candidates = context.getBean(CandidateStore.class);
        int count = body.get("candidates").asInt();
        for (int candidate = 0; candidate < count; candidate++) {
            candidates.open(id, 1, candidate, 0, null, candidate);
            if (candidate == 0) {
                candidates.finish(id, 1, 0, CandidateOutcome.INVALID, OutcomeCode.NO_BLOCK, "none", null, null);
            } else {
                int shift = Math.floorMod(Hashes.item(family).hashCode(), 5);
                List<Double> scores = IntStream.range(0, dev)
                        .mapToObj(i -> Math.clamp(mean + 0.02 * ((i + shift) % 5 - 2), 0.0, 1.0))
                        .toList();
                candidates.finish(
                        id,
                        1,
                        candidate,
                        CandidateOutcome.SCORED,
                        null,
                        null,
                        null,
                        new CandidateScore(
                                mean,
                                0,
                                scores,
                                scores.stream().map(s -> s == 1.0).toList()));
            }
        }
        runs.finish(id, RunState.SUCCEEDED, "done", null, null, null);
    }

    private static void answer(HttpExchange exchange, int status, Object body) throws IOException {
        byte[] bytes = Json.write(body).getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", "application/json");
        exchange.sendResponseHeaders(status, bytes.length);
        exchange.getResponseBody().write(bytes);
        exchange.close();
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}
