package org.harnesslearning.trainer.rollout;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.time.Clock;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.execution.QuestionCode;
import org.harnesslearning.contracts.execution.Usage;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.model.ChatRequest;
import org.harnesslearning.contracts.model.ModelInfo;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.contracts.revision.RoundPrompt;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.contracts.web.Problem;
import org.harnesslearning.store.harness.HarnessStore;
import org.harnesslearning.store.model.ModelAliasStore;
import org.harnesslearning.store.run.CandidateOutcome;
import org.harnesslearning.store.run.CandidateScore;
import org.harnesslearning.store.run.CandidateStore;
import org.harnesslearning.store.run.EvaluationRow;
import org.harnesslearning.store.run.EvaluationStore;
import org.harnesslearning.store.run.MeasuredQuestion;
import org.harnesslearning.store.run.ProposerCallStore;
import org.harnesslearning.store.run.RoundStore;
import org.harnesslearning.store.run.RunKind;
import org.harnesslearning.store.run.RunRow;
import org.harnesslearning.store.run.RunState;
import org.harnesslearning.store.run.RunStore;
import org.springframework.jdbc.core.simple.JdbcClient;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * proposer-service over HTTP on a loopback port: it writes the rows of the real one, at once, with replies from a script,
 * and answers for solver-service which version a name stands for.
 * A harness scores what its comment {@code # level: 0.5} says, else 0.
 */
public final class ProposerDouble implements AutoCloseable {
    private static final Pattern LEVEL = Pattern.compile("# level: ([0-9.]+)");
    private static final Instant NOW = Instant.parse("2030-01-01T00:00:00Z");

    private final JdbcClient jdbc;
    private final RunStore runs;
    private final RoundStore rounds;
    private final CandidateStore candidates;
    private final ProposerCallStore calls;
    private final EvaluationStore evaluations;
    private final HarnessStore harnesses;
    private final HttpServer server;
    private final AtomicInteger number = new AtomicInteger();
    private final Map<String, String> byKey = new ConcurrentHashMap<>();

    /** Bodies of all revisions that were new, in the order of their arrival. */
    public final Queue<JsonNode> revised = new ConcurrentLinkedQueue<>();
    /** Bodies of all evaluations that were new. */
    public final Queue<JsonNode> evaluated = new ConcurrentLinkedQueue<>();

    /** What comes of each sample. */
    public volatile Script script = (request, candidate) -> Reply.scored(candidate % 2 == 0 ? 0.75 : 0.25);
    /** So many orders are refused with 503. */
    public final AtomicInteger refusals = new AtomicInteger();
    /** Runs of these families come to a pause, as in an outage. */
    public volatile String pausedFamily = "";
    /** Second scorings differ by this much. */
    public volatile double noise;

    /** Whether revisions stay under way until {@link #finishAll}. */
    public volatile boolean slow;

    /** Which revisions stay under way until {@link #finishAll}, by their requests. */
    public volatile Predicate<JsonNode> held = request -> false;

    /** Models that can be asked; an order of another one is refused. */
    public volatile Predicate<String> known = model -> true;

    private final Queue<String> underWay = new ConcurrentLinkedQueue<>();

    /** Ends all revisions that are under way. */
    public void finishAll() {
        slow = false;
        held = request -> false;
        for (String run = underWay.poll(); run != null; run = underWay.poll()) {
            runs.finish(run, RunState.SUCCEEDED, "rounds_done", null, null, null);
        }
    }

    /** Replies by candidate. */
    public interface Script {
        Reply reply(JsonNode request, int candidate);
    }

    /** A reply and how it ends; null columns stay null. */
    public record Reply(
            String text,
            List<Integer> tokens,
            List<Double> logprobs,
            String finish,
            String harness,
            CandidateOutcome outcome,
            OutcomeCode code,
            String score) {
        /** An edit that scores so. */
        public static Reply scored(double level) {
            String harness = "def run(question, env):\n    # level: " + level + "\n    return env.llm(question)\n";
            return new Reply(
                    "edit to " + level,
                    List.of(11, 12, 13),
                    List.of(-0.5, -1.0, -0.25),
                    "stop",
                    harness,
                    CandidateOutcome.SCORED,
                    null,
                    Json.write(new CandidateScore(level, 0, List.of(level), List.of(false))));
        }

        /** An edit that is invalid. */
        public static Reply invalid(OutcomeCode code) {
            return new Reply(
                    "nothing",
                    List.of(21, 22),
                    List.of(-0.5, -0.5),
                    "stop",
                    null,
                    CandidateOutcome.INVALID,
                    code,
                    null);
        }

        /** The same with another end. */
        public Reply ending(CandidateOutcome other, OutcomeCode otherCode) {
            return new Reply(text, tokens, logprobs, finish, harness, other, otherCode, null);
        }

        /** The same with another column {@code score}. */
        public Reply scoreColumn(String json) {
            return new Reply(text, tokens, logprobs, finish, harness, outcome, code, json);
        }

        /** The same with other tokens. */
        public Reply tokens(List<Integer> ids, List<Double> values) {
            return new Reply(text, ids, values, finish, harness, outcome, code, score);
        }

        /** The same with another text and end. */
        public Reply text(String other, String reason) {
            return new Reply(other, tokens, logprobs, reason, harness, outcome, code, score);
        }
    }

    public ProposerDouble(JdbcClient jdbc) {
        this.jdbc = jdbc;
        Clock clock = Clock.systemUTC();
        runs = new RunStore(jdbc, clock);
        rounds = new RoundStore(jdbc);
        candidates = new CandidateStore(jdbc, clock);
        calls = new ProposerCallStore(jdbc);
        evaluations = new EvaluationStore(jdbc);
        harnesses = new HarnessStore(jdbc, clock);
        try {
            server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        server.createContext("/revise", exchange -> answer(exchange, () -> ordered(exchange, true)));
        server.createContext("/evaluations", exchange -> answer(exchange, () -> ordered(exchange, false)));
        server.createContext(
                "/revisions/",
                exchange -> answer(
                        exchange,
                        () -> new RoundPrompt(
                                List.of(
                                        new ChatRequest.Message("system", "You edit."),
                                        new ChatRequest.Message("user", "Improve the harness.")),
                                false,
                                "p1",
                                "r1",
                                "d1")));
        server.createContext(
                "/v1/models/",
                exchange -> answer(exchange, () -> {
                    String path = exchange.getRequestURI().getPath();
                    return served(path.substring(path.lastIndexOf('/') + 1));
                }));
        server.start();
    }

    /** As solver-service answers for a name of the registry. */
    private ModelInfo served(String name) {
        String version = new ModelAliasStore(jdbc, Clock.systemUTC())
                .find(name)
                .orElseThrow()
                .version();
        return new ModelInfo(
                name, "model", 0, "tests", ModelInfo.Kind.LOCAL, "sha256:0", null, null, 512, null, version);
    }

    public String url() {
        return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    private interface Answer {
        Object get() throws IOException;
    }

    private void answer(HttpExchange exchange, Answer answer) throws IOException {
        int status = 202;
        Object body;
        if (refusals.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
            status = 503;
            body = Problem.of(ErrorCode.SANDBOX_UNAVAILABLE, "no sandbox can be started", "r", List.of());
        } else {
            try {
                body = answer.get();
            } catch (PlatformException e) {
                status = e.code().status();
                body = Problem.of(e.code(), String.valueOf(e.getMessage()), "r", e.errors());
            } catch (RuntimeException e) {
                status = 500;
                body = Problem.of(ErrorCode.INTERNAL, String.valueOf(e), "r", List.of());
            }
        }
        byte[] bytes = Json.write(body).getBytes(java.nio.charset.StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", status < 300 ? "application/json" : Problem.MEDIA_TYPE);
        exchange.sendResponseHeaders(status, bytes.length);
        exchange.getResponseBody().write(bytes);
        exchange.close();
    }

    private Object ordered(HttpExchange exchange, boolean revision) throws IOException {
        JsonNode request = Json.mapper().readTree(exchange.getRequestBody().readAllBytes());
        String key = exchange.getRequestHeaders().getFirst("Idempotency-Key");
        String model = request.at("/proposer/model").asString("");
        if (revision && !known.test(model)) {
            throw PlatformException.field(ErrorCode.UNKNOWN_MODEL, "/proposer/model", "names no model: " + model);
        }
        String id = byKey.computeIfAbsent(key, none -> {
            if (revision) {
                revised.add(request);
                return revise(request);
            }
            evaluated.add(request);
            return evaluate(request);
        });
        return Map.of("id", id, "state", "queued", "more", List.of());
    }

    private RunRow row(RunKind kind, JsonNode request, String harness) {
        ObjectNode settings = ((ObjectNode) request.deepCopy());
        settings.putObject("versions").put("prompt", "p1").put("report", "r1").put("descriptions", "d1");
        String family = request.at("/task/reasoning_gym/family").asString();
        RunRow row = new RunRow(
                "%s_%06d".formatted(kind.prefix(), number.incrementAndGet()),
                kind,
                HarnessStore.PROGRAM,
                "reasoning_gym",
                family,
                RunState.QUEUED,
                null,
                null,
                null,
                settings,
                Json.mapper().createObjectNode(),
                harness,
                false,
                null,
                null,
                "internal",
                NOW,
                null,
                0,
                0,
                0,
                0,
                1);
        Map<Split, List<Item>> items = new EnumMap<>(Split.class);
        for (Split split : List.of(Split.FEEDBACK, Split.DEV)) {
            items.put(
                    split,
                    List.of(Item.of(
                            family + " "
                                    + request.at("/task/reasoning_gym/seed").asLong() + " " + split,
                            List.of("a"))));
        }
        runs.insert(row, items);
        jdbc.sql("""
                        insert into run_budget (run_id, calls_limit, calls_used, tokens_limit, tokens_used, opened_at)
                        values (?, 1000, 3, 1000000, 100, now())""").param(row.id()).update();
        return row;
    }

    private String revise(JsonNode request) {
        String source = request.at("/harness/source").asString();
        String parent = harnesses.save(source);
        RunRow run = row(RunKind.REVISION, request, parent);
        if (run.taskName().equals(pausedFamily)) {
            runs.state(run.id(), RunState.PAUSED, "the model is away");
            return run.id();
        }
        rounds.open(run.id(), 1, parent);
        rounds.report(run.id(), 1, Map.of("mean", level(source), "n", 1), "a report");
        String model = request.at("/proposer/model").asString();
        int count = request.get("candidates").asInt();
        List<Integer> indexes = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            indexes.add(i);
        }
        calls.open(run.id(), 1, 0, null, indexes, "hash", List.of(), model);
        calls.begin(run.id(), 1, 0);
        for (int i = 0; i < count; i++) {
            candidates.open(run.id(), 1, i, 0, null, 1000L * request.get("seed").asLong() + i);
        }
        calls.commit(run.id(), 1, 0, weights(model), List.of(1, 2, 3, 4), Usage.ZERO, NOW);
        for (int i = 0; i < count; i++) {
            candidate(run.id(), i, script.reply(request, i));
        }
        if (slow || held.test(request)) {
            underWay.add(run.id());
        } else {
            runs.finish(run.id(), RunState.SUCCEEDED, "rounds_done", null, null, null);
        }
        return run.id();
    }

    /** As the registry of these tests names versions: the name of a policy ends with its version's place. */
    private String weights(String model) {
        return jdbc.sql("select model_version from training_group where model = ? limit 1")
                .param(model)
                .query(String.class)
                .optional()
                .map(version -> "base+" + version)
                .orElse("base");
    }

    private void candidate(String run, int index, Reply reply) {
        candidates.reply(run, 1, index, reply.text(), reply.finish(), reply.tokens(), reply.logprobs());
        if (reply.harness() != null) {
            candidates.edited(
                    run,
                    1,
                    index,
                    harnesses.save(reply.harness()),
                    "EXACT",
                    "--- a/harness.py\n+++ b/harness.py\n@@ -1,2 +1,3 @@\n def run(question, env):\n+    x = '"
                            + reply.text().hashCode() + "'\n     return env.llm(question)\n",
                    null);
        }
        if (reply.outcome() != null) {
            candidates.finish(run, 1, index, reply.outcome(), reply.code(), null, null, null);
        }
        jdbc.sql("update candidate set score = ?::jsonb where run_id = ? and candidate = ?")
                .params(java.util.Arrays.asList(reply.score(), run, index))
                .update();
    }

    private String evaluate(JsonNode request) {
        String source = request.at("/harness/source").asString();
        String harness = harnesses.save(source);
        RunRow run = row(RunKind.EVALUATION, request, harness);
        Split split = Json.mapper().convertValue(request.get("split"), Split.class);
        int repeat = request.get("repeat").asInt();
        double score = Math.max(0, level(source) - (repeat > 0 ? noise : 0));
        String id = run.id() + "/evaluation";
        evaluations.open(
                run.id(),
                new EvaluationRow(
                        id,
                        0,
                        null,
                        EvaluationRow.Role.CANDIDATE,
                        split,
                        repeat,
                        harness,
                        1,
                        EvaluationRow.State.RUNNING,
                        0,
                        List.of(),
                        null,
                        null));
        evaluations.update(
                id,
                EvaluationRow.State.DONE,
                0,
                List.of(new MeasuredQuestion(Hashes.item("q"), QuestionCode.OK, score, false, "a", null, Usage.ZERO)),
                null,
                null);
        runs.finish(run.id(), RunState.SUCCEEDED, "done", null, null, null);
        return run.id();
    }

    private static double level(String source) {
        Matcher matcher = LEVEL.matcher(source);
        return matcher.find() ? Double.parseDouble(matcher.group(1)) : 0;
    }

    @Override
    public void close() {
        server.stop(0);
    }
}
