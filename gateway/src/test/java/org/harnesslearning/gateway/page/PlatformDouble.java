package org.harnesslearning.gateway.page;

import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.gateway.UpstreamDouble;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * Stands in for the services behind the gateway: a finished adaptation with everything that one can have, and runs that
 * are started, go on when the test says so, and stop when the page says so. Answers have the form of the public API.
 */
final class PlatformDouble implements AutoCloseable {
    /** Texts from outside that would do something if a page took them for markup. */
    static final String HOSTILE = Boolean.getBoolean("pages.screenshots")
            ? "main"
            : "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>";

    static final String REVISION = "rev_01jzzzzzzzzzzzzzzzzzzzzzz1";
    static final String EVALUATION = "evl_01jzzzzzzzzzzzzzzzzzzzzzz1";

    /** Prefix of the ids of a kind of run by the path of its list. */
    private static final Map<String, String> KINDS =
            Map.of("/adaptations", "adp_", "/revisions", "rev_", "/evaluations", "evl_");

    static final String DONE = "adp_01j00000000000000000000001";
    static final String TRAINING = "trn_01jzzzzzzzzzzzzzzzzzzzzzz1";
    static final String SEED = hash("seed");
    static final String BEST = hash("best");

    private static final String SOURCE = "def run(question, env):\n    return env.llm(question)\n";

    private final UpstreamDouble server = new UpstreamDouble();
    private final Map<String, ObjectNode> runs = new ConcurrentHashMap<>();
    private final Map<String, List<String>> events = new ConcurrentHashMap<>();
    private volatile int trainingSteps = 42;
    private volatile String trainingState = "running";
    private final AtomicInteger number = new AtomicInteger(100);
    /** What the model {@code edits} served, newest last; version, action, whether forced, why. */
    private final List<String[]> served = new CopyOnWriteArrayList<>();
    /** What was live under each name, newest last: version, action, note. */
    private final Map<String, List<String[]>> live = new ConcurrentHashMap<>();

    private final List<ObjectNode> webhooks = new CopyOnWriteArrayList<>();
    private final List<ObjectNode> deliveries = new CopyOnWriteArrayList<>();

    PlatformDouble() {
        runs.put(DONE, finished());
        runs.put(REVISION, order(REVISION, "paused").put("message", "The model failed: " + HOSTILE));
        runs.put(EVALUATION, order(EVALUATION, "succeeded").set("score", score(0.25, 12)));
        events.put(TRAINING, new ArrayList<>());
        served.add(new String[] {hash("v1"), "promote", "false", null});
        live.put("support", new CopyOnWriteArrayList<>());
        live.get("support").add(new String[] {"1", "promoted", "first of all"});
        live.get("support").add(new String[] {"2", "promoted", HOSTILE});
        webhooks.add(webhook("whk_01jzzzzzzzzzzzzzzzzzzzzzz1", "https://ci.example.org/hooks/harness", HOSTILE));
        deliveries.add(delivery("whd_1", "adaptation.finished", "failed", 500));
        deliveries.add(delivery("whd_2", "adaptation.finished", "delivered", 200));
        server.answers(this::answer);
    }

    URI url() {
        return server.url();
    }

    List<UpstreamDouble.Seen> seen() {
        return server.seen();
    }

    /** The run that was started last. */
    String newest() {
        return runs.keySet().stream()
                .filter(id -> id.startsWith("adp_"))
                .max(String::compareTo)
                .orElseThrow();
    }

    /** Lets a run finish its first round with one scored and one invalid candidate. */
    void goOn(String id) {
        ObjectNode run = runs.get(id);
        synchronized (run) {
            ArrayNode rounds = (ArrayNode) run.get("rounds");
            ObjectNode round = json("""
                    {"index": 1, "parent": "%s", "report": {"mean": 0.1, "n": 6}, "candidates": [], "chosen": "%s"}""".formatted(SEED, BEST));
            ArrayNode candidates = (ArrayNode) round.get("candidates");
            candidates.add(candidate(0, "scored", null, 0.75, BEST));
            candidates.add(candidate(1, "invalid", "NO_BLOCK", null, null));
            rounds.add(round);
            run.set("counts", json("""
                    {"attempted": 2, "scored": 1, "invalid": 1, "infra_failure": 0, "not_finished": 0, "duplicates": 0,
                     "by_code": {"NO_BLOCK": 1}}"""));
            run.set("progress", json("{\"done\": 40, \"planned\": 120, \"unit\": \"solver_calls\"}"));
        }
        event(id, "round.finished", "{\"round\": 1}");
    }

    private void event(String id, String type, String data) {
        List<String> stream = events.get(id);
        synchronized (stream) {
            stream.add("id: " + (stream.size() + 1) + "\nevent: " + type + "\ndata: " + data + "\n\n");
            stream.notifyAll();
        }
    }

    private void answer(HttpExchange exchange) throws IOException {
        String path = exchange.getRequestURI().getPath();
        String method = exchange.getRequestMethod();
        String[] parts = path.substring(1).split("/");
        if (path.equals("/status")) {
            respond(exchange, 200, status());
        } else if (path.equals("/models")) {
            respond(exchange, 200, """
                    {"data": [{"id": "qwen2.5-coder-1.5b", "kind": "local", "version": "%s", "roles": ["proposer", "solver"],
                      "default": true, "number_type": "q8_0", "max_model_len": 4096},
                     {"id": "replies", "kind": "recorded", "version": "%s", "roles": ["proposer", "solver"], "default": false},
                     {"id": "edits", "kind": "local", "version": "%s", "roles": ["proposer"], "default": false, "base": "qwen2.5-coder-1.5b", "adapter": "%s"}]}
                    """.formatted(hash("qwen"), hash("replies"), hash("edits"), hash("v1")));
        } else if (path.equals("/tasks") && method.equals("POST")) {
            task(exchange);
        } else if (path.equals("/tasks")) {
            respond(exchange, 200, "{\"data\": [" + ownTask() + "," + families() + "], \"next_cursor\": null}");
        } else if (path.startsWith("/tasks/tsk_")) {
            respond(exchange, 200, ownTask());
        } else if (path.startsWith("/training-runs")) {
            training(exchange, parts, method);
        } else if (parts[0].equals("models") && method.equals("POST")) {
            serve(exchange, parts[2]);
        } else if (path.startsWith("/harnesses/names")) {
            name(exchange, parts, method);
        } else if (parts[0].equals("webhooks")) {
            webhook(exchange, parts, method);
        } else if (parts[0].equals("harnesses") && parts.length == 2) {
            respond(
                    exchange,
                    200,
                    json("{\"hash\": \"%s\"}".formatted(parts[1]))
                            .put("source", "# " + HOSTILE + "\n" + SOURCE)
                            .toString());
        } else if (parts[0].equals("models") && parts.length == 3) {
            respond(exchange, 200, versions(parts[1]));
        } else if (path.equals("/adapt")) {
            start(exchange);
        } else if (KINDS.containsKey(path)) {
            list(exchange, KINDS.get(path));
        } else if (parts[0].equals("harnesses") && parts.length == 4) {
            UpstreamDouble.answer(exchange, 200, "text/x-diff;charset=UTF-8", diff());
        } else if (parts.length > 1
                && runs.containsKey(parts[1])
                && parts[1].startsWith(KINDS.getOrDefault("/" + parts[0], "none"))) {
            run(exchange, parts, method);
        } else {
            problem(exchange, 404, "NOT_FOUND", "There is no " + path);
        }
    }

    private void run(HttpExchange exchange, String[] parts, String method) throws IOException {
        String id = parts[1];
        ObjectNode run = runs.get(id);
        if (parts.length == 2 && method.equals("DELETE")) {
            runs.remove(id);
            exchange.sendResponseHeaders(204, -1);
        } else if (parts.length == 2) {
            synchronized (run) {
                respond(exchange, 200, run.toString());
            }
        } else if (parts[2].equals("events")) {
            stream(exchange, id);
        } else if (parts[2].equals("evaluations")) {
            respond(exchange, 200, evaluations(exchange));
        } else if (parts[2].equals("questions")) {
            respond(exchange, 200, question(exchange, parts[3]));
        } else if (parts[2].equals("rounds")) {
            respond(exchange, 200, detail(parts[5]));
        } else {
            act(exchange, id, run, parts[2]);
        }
    }

    private void act(HttpExchange exchange, String id, ObjectNode run, String action) throws IOException {
        String state = run.get("state").stringValue();
        String next = switch (action) {
            case "cancel" -> "cancelled";
            case "pause" -> "paused";
            default -> "running";
        };
        if (state.equals("cancelled") || state.equals("succeeded")) {
            problem(exchange, 409, "INVALID_STATE", "A run in state " + state + " can't be " + next);
            return;
        }
        synchronized (run) {
            run.put("state", next);
            if (action.equals("cancel")) {
                run.put("stop_reason", "cancelled");
                run.put("finished_at", now().toString());
            }
        }
        events.computeIfAbsent(id, _ -> new ArrayList<>());
        event(id, action.equals("cancel") ? "finished" : "state", "{\"state\": \"" + next + "\"}");
        respond(exchange, 202, run.toString());
    }

    private void start(HttpExchange exchange) throws IOException {
        JsonNode body = Json.mapper().readTree(server.seen().getLast().body());
        if (!body.path("task").has("reasoning_gym") && !body.path("task").has("id")) {
            problem(exchange, 400, "INVALID_FIELD", "Field task is missing");
            return;
        }
        String id = "adp_01jzzzzzzzzzzzzzzzzzzzz" + number.incrementAndGet();
        ObjectNode run = finished();
        run.put("id", id);
        run.put("state", "running");
        run.put("created_at", now().toString());
        run.putNull("finished_at");
        run.putNull("stop_reason");
        run.putNull("result");
        run.putNull("lineage_hash");
        run.putArray("rounds");
        run.put("recorded", false);
        run.set("labels", body.path("labels"));
        ((ObjectNode) run.get("settings")).set("labels", body.path("labels"));
        run.set("counts", json("""
                {"attempted": 0, "scored": 0, "invalid": 0, "infra_failure": 0, "not_finished": 0, "duplicates": 0, "by_code": {}}"""));
        run.set("progress", json("{\"done\": 12, \"planned\": 120, \"unit\": \"solver_calls\"}"));
        runs.put(id, run);
        events.put(id, new ArrayList<>());
        event(id, "state", "{\"state\": \"running\"}");
        respond(exchange, 202, run.toString());
    }

    /** A revision or an evaluation as a list shows it. */
    private static ObjectNode order(String id, String state) {
        ObjectNode whole = finished();
        ObjectNode run = Json.mapper().createObjectNode();
        run.put("id", id);
        run.put("state", state);
        for (String field : List.of("settings", "created_at", "progress", "counts", "recorded", "usage")) {
            run.set(field, whole.path(field));
        }
        return run;
    }

    private void stream(HttpExchange exchange, String id) throws IOException {
        exchange.getResponseHeaders().set("Content-Type", "text/event-stream");
        exchange.sendResponseHeaders(200, 0);
        List<String> stream = events.get(id);
        if (stream == null) {
            exchange.close();
            return;
        }
        String last = exchange.getRequestHeaders().getFirst("Last-Event-ID");
        int at = last == null ? 0 : Integer.parseInt(last);
        try (OutputStream out = exchange.getResponseBody()) {
            while (true) {
                List<String> fresh;
                synchronized (stream) {
                    if (at >= stream.size()) {
                        stream.wait(500);
                    }
                    fresh = List.copyOf(stream.subList(Math.min(at, stream.size()), stream.size()));
                }
                for (String text : fresh) {
                    out.write(text.getBytes(StandardCharsets.UTF_8));
                }
                at += fresh.size();
                if (fresh.isEmpty()) {
                    out.write(": still here\n\n".getBytes(StandardCharsets.UTF_8));
                }
                out.flush();
                if (fresh.stream().anyMatch(text -> text.contains("event: finished"))) {
                    return;
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void list(HttpExchange exchange, String prefix) throws IOException {
        String query = exchange.getRequestURI().getQuery();
        List<String> found = new ArrayList<>();
        runs.keySet().stream()
                .filter(id -> id.startsWith(prefix))
                .sorted((a, b) -> b.compareTo(a))
                .map(runs::get)
                .filter(run -> query == null
                        || !query.contains("state=")
                        || query.contains("state=" + run.get("state").stringValue()))
                .forEach(run -> found.add(run.toString()));
        respond(exchange, 200, "{\"data\": [" + String.join(",", found) + "], \"next_cursor\": null}");
    }

    private void task(HttpExchange exchange) throws IOException {
        String text = new String(server.seen().getLast().body(), StandardCharsets.UTF_8);
        if (text.contains("not json")) {
            problem(exchange, 400, "MALFORMED_JSON", "Line 1 is not JSON");
        } else {
            respond(exchange, 201, ownTask());
        }
    }

    static ObjectNode candidate(int index, String outcome, String code, Double mean, String harness) {
        ObjectNode candidate = Json.mapper().createObjectNode();
        candidate.put("index", index);
        candidate.put("outcome", outcome);
        candidate.put("code", code);
        candidate.put("message", code == null ? null : "0 of 1 blocks applied: " + HOSTILE);
        candidate.put("tier", outcome.equals("scored") ? "EXACT" : null);
        candidate.put("harness", harness);
        candidate.putNull("duplicate_of");
        if (mean == null) {
            candidate.putNull("score");
        } else {
            candidate.set("score", score(mean, 12));
        }
        candidate.put("demonstration", "program");
        candidate.put("similarity", 0.31);
        candidate.set(
                "usage", json("{\"calls\": 12, \"prompt_tokens\": 1480, \"completion_tokens\": 320, \"ms\": 5210}"));
        return candidate;
    }

    private static ObjectNode score(double mean, int n) {
        double low = Math.max(0, mean - 0.22);
        double high = Math.min(1, mean + 0.2);
        return json("""
                {"mean": %s, "strict": %s, "n": %d, "ci": {"level": 0.95, "low": %s, "high": %s},
                 "strict_ci": {"level": 0.95, "low": %s, "high": %s}}
                """.formatted(mean, mean, n, low, high, low, high));
    }

    private static ObjectNode finished() {
        ObjectNode run = json("""
                {"id": "%s", "state": "succeeded", "stop_reason": "rounds_done", "message": null,
                 "settings": {"task": {"reasoning_gym": {"family": "chain_sum", "seed": 42, "config": {}}},
                  "harness": {"hash": "%s"}, "splits": {"feedback": 6, "dev": 12, "held_out": 24}, "candidates": 4,
                  "rounds": 3, "selection": "keep_incumbent", "items": {"feedback": {"count": 6, "hashes": []},
                   "dev": {"count": 12, "hashes": []}, "held_out": {"count": 24, "hashes": []}},
                  "proposer": {"model": "qwen2.5-coder-1.5b", "temperature": 0.8, "top_p": 0.95, "max_tokens": 1024,
                   "demonstrations": "default-1", "reply_form": "search_replace"},
                  "solver": {"model": "qwen2.5-coder-1.5b", "temperature": 0.0, "max_tokens": 512},
                  "budget": {"solver_calls": 2000, "tokens": 2000000, "wall_clock_s": 3600}, "seed": 1, "labels": {}},
                 "progress": {"done": 540, "planned": 540, "unit": "solver_calls"},
                 "baseline": {"harness": "%s"}, "rounds": [],
                 "counts": {"attempted": 12, "scored": 9, "invalid": 3, "infra_failure": 0, "not_finished": 0,
                  "duplicates": 1, "by_code": {"NO_BLOCK": 2, "SYNTAX_ERROR": 1}},
                 "result": {"harness": "%s", "held_out": {"gain": {"mean": 0.54, "ci": {"level": 0.95, "low": 0.33, "high": 0.75}}},
                  "noise": {"repeats": 2, "mean_abs_diff": 0.02}, "gate": "passed"},
                 "recorded": true,
                 "usage": {"repeated": 0, "cached": 24, "proposer": {"calls": 12, "prompt_tokens": 21400, "completion_tokens": 5210, "ms": 91000},
                  "solver": {"calls": 540, "prompt_tokens": 68000, "completion_tokens": 17300, "ms": 214000}, "cost": 0.0421, "wall_clock_ms": 312000},
                 "lineage_hash": "%s"}
                """.formatted(DONE, SEED, SEED, BEST, hash("lineage")));
        Instant began = now().minus(3, ChronoUnit.HOURS);
        run.put("created_at", began.toString());
        run.put("finished_at", began.plusSeconds(342).toString());
        ((ObjectNode) run.get("settings")).set("labels", Json.mapper().valueToTree(Map.of("branch", HOSTILE)));
        ((ObjectNode) run.get("baseline")).set("score", score(0.17, 12));
        ObjectNode heldOut = (ObjectNode) run.get("result").get("held_out");
        heldOut.set("seed", score(0.21, 24));
        heldOut.set("result", score(0.75, 24));
        heldOut.set(
                "demonstrations",
                Json.mapper().createArrayNode().add(score(0.5, 24).put("name", "program")));
        ArrayNode rounds = (ArrayNode) run.get("rounds");
        double[][] means = {{0.17, 0.42, -1, 0.33}, {0.58, 0.42, 0.25, -1}, {0.5, 0.83, 0.83, -1}};
        String parent = SEED;
        for (int r = 0; r < means.length; r++) {
            ObjectNode round = json("{\"index\": %d, \"candidates\": []}".formatted(r + 1));
            ArrayNode candidates = (ArrayNode) round.get("candidates");
            int best = 0;
            for (int c = 0; c < means[r].length; c++) {
                best = means[r][c] > means[r][best] ? c : best;
                String own = r == 2 && c == 1 ? BEST : hash(r + "/" + c);
                candidates.add(
                        means[r][c] < 0
                                ? candidate(c, "invalid", r == 2 ? "SYNTAX_ERROR" : "NO_BLOCK", null, null)
                                : candidate(c, "scored", null, means[r][c], own));
            }
            if (r == 2) {
                ((ObjectNode) candidates.get(2)).put("duplicate_of", "3/1").put("harness", BEST);
            }
            String chosen = candidates.get(best).get("harness").stringValue();
            round.put("parent", parent);
            round.put("chosen", chosen);
            round.set("report", json("{\"mean\": %s, \"n\": 6}".formatted(0.16 + 0.2 * r)));
            rounds.add(round);
            parent = chosen;
        }
        return run;
    }

    private static String detail(String index) {
        ObjectNode candidate = index.equals("3")
                ? candidate(3, "invalid", "SYNTAX_ERROR", null, null)
                : candidate(Integer.parseInt(index), "scored", null, 0.83, BEST);
        candidate.put("round", 3);
        candidate.put(
                "reply",
                "Ask for the number alone.\n<<<<<<< SEARCH\n    return env.llm(question)\n=======\n" + HOSTILE
                        + "\n>>>>>>> REPLACE");
        candidate.put("finish_reason", "stop");
        candidate.put("model", "qwen2.5-coder-1.5b");
        candidate.put("diff", index.equals("3") ? null : diff());
        ArrayNode questions = candidate.putArray("questions");
        for (int i = 0; i < 6 && !index.equals("3"); i++) {
            questions.add(result(
                    "dev" + i, i == 2 ? "timeout" : "ok", i == 2 ? 0 : i == 4 ? 0.5 : 1, i == 0 ? HOSTILE : "4" + i));
        }
        return candidate.toString();
    }

    private static ObjectNode result(String item, String code, double score, String answer) {
        ObjectNode result = json("""
                {"item_hash": "%s", "code": "%s", "score": %s, "strict": %s,
                 "usage": {"calls": 1, "prompt_tokens": 120, "completion_tokens": 24, "ms": 410}}
                """.formatted(hash(item), code, score, score == 1));
        result.put("answer", answer);
        return result;
    }

    private static String evaluations(HttpExchange exchange) {
        boolean admin = "admin".equals(exchange.getRequestHeaders().getFirst("X-Key-Scope"));
        ArrayNode data = Json.mapper().createArrayNode();
        String[][] measured = {
            {"seed", "dev", null},
            {"candidate", "dev", "0"},
            {"candidate", "dev", "1"},
            {"seed", "held_out", null},
            {"result", "held_out", null},
            {"noise", "held_out", null},
            {"incumbent", "feedback", null}
        };
        for (int m = 0; m < measured.length; m++) {
            ObjectNode evaluation =
                    json("{\"id\": \"e%d\", \"round\": 1, \"repeat\": 0, \"questions\": 6, \"state\": \"done\"}"
                            .formatted(m));
            evaluation.put("role", measured[m][0]);
            evaluation.put("split", measured[m][1]);
            if (measured[m][2] == null) {
                evaluation.putNull("candidate");
            } else {
                evaluation.put("candidate", Integer.parseInt(measured[m][2]));
            }
            evaluation.put("harness", m == 1 ? BEST : SEED);
            evaluation.set("score", score(0.25 + m * 0.1, 6));
            ArrayNode results = evaluation.putArray("results");
            for (int i = 0; i < 6; i++) {
                boolean fault = m == 2 && i == 3;
                double score = fault ? 0 : (i * 7 + m * 3) % 4 == 0 ? 1 : (i + m) % 3 == 0 ? 0.5 : 0;
                boolean shown = admin || !measured[m][1].equals("held_out");
                results.add(result(measured[m][1] + i, fault ? "timeout" : "ok", score, shown ? "4" + i : null));
            }
            data.add(evaluation);
        }
        return "{\"data\": " + data + "}";
    }

    private static String question(HttpExchange exchange, String item) {
        boolean heldOut = List.of(0, 1, 2, 3, 4, 5).stream()
                .anyMatch(i -> hash("held_out" + i).equals(item));
        boolean admin = "admin".equals(exchange.getRequestHeaders().getFirst("X-Key-Scope"));
        ObjectNode question = result("dev0", "ok", 1, HOSTILE);
        question.put("item_hash", item);
        question.put("split", heldOut ? "held_out" : "dev");
        question.put("harness", BEST);
        question.put("repeat", 0);
        question.put("question", "State the final answer to the following arithmetic problem: 4 + 3 - 12 =");
        question.set("expected", Json.mapper().createArrayNode().add("-5"));
        question.set(
                "trace",
                Json.mapper()
                        .valueToTree(Map.of(
                                "stdout", "",
                                "stderr", "",
                                "log", List.of("asked once"),
                                "calls",
                                        List.of(Map.of(
                                                "messages",
                                                List.of(Map.of("role", "user", "content", "4 + 3 - 12 = " + HOSTILE)),
                                                "reply",
                                                "-5",
                                                "finish_reason",
                                                "stop",
                                                "prompt_tokens",
                                                31,
                                                "completion_tokens",
                                                3,
                                                "ms",
                                                412)),
                                "python_runs", List.of())));
        if (heldOut && !admin) {
            List.of("question", "expected", "answer", "trace").forEach(question::putNull);
        }
        return question.toString();
    }

    /** Promotes by force what the trainer would compare first, and goes back. */
    private void serve(HttpExchange exchange, String action) throws IOException {
        JsonNode body = Json.mapper().readTree(server.seen().getLast().body());
        if (action.equals("promote") && body.path("force").asBoolean(false)) {
            served.add(new String[] {
                body.get("version").stringValue(),
                "promote",
                "true",
                body.get("reason").stringValue()
            });
        } else if (action.equals("rollback")) {
            if (served.size() < 2) {
                problem(exchange, 409, "INVALID_STATE", "The name serves its base model: nothing was served before");
                return;
            }
            served.add(new String[] {served.get(served.size() - 2)[0], "rollback", "false", null});
        }
        respond(exchange, action.equals("promote") ? 202 : 200, "{}");
    }

    private void name(HttpExchange exchange, String[] parts, String method) throws IOException {
        if (parts.length == 2) {
            List<String> names = live.keySet().stream().sorted().map(this::name).toList();
            respond(exchange, 200, "{\"data\": [" + String.join(",", names) + "], \"next_cursor\": null}");
            return;
        }
        String name = parts[2];
        List<String[]> changes = live.get(name);
        if (parts.length == 4 && method.equals("POST")) {
            JsonNode body = Json.mapper().readTree(server.seen().getLast().body());
            String note = body.path("note").asString("");
            if (parts[3].equals("rollback")) {
                changes.add(new String[] {changes.get(changes.size() - 2)[0], "rolled_back", note});
            } else if (body.path("adaptation").asString("").equals("adp_failed")
                    && !body.path("force").asBoolean(false)) {
                problem(exchange, 409, "PROMOTION_REFUSED", "The run's gate failed");
                return;
            } else {
                changes = live.computeIfAbsent(name, any -> new CopyOnWriteArrayList<>());
                changes.add(new String[] {
                    body.path("version").asString(Integer.toString(changes.size() + 1)), "promoted", note
                });
            }
            respond(exchange, 200, name(name));
        } else if (changes == null) {
            problem(exchange, 404, "NOT_FOUND", "No harness has the name " + name);
        } else if (method.equals("DELETE")) {
            live.remove(name);
            exchange.sendResponseHeaders(204, -1);
        } else if (parts.length == 4) {
            ArrayNode data = Json.mapper().createArrayNode();
            for (int i = changes.size() - 1; i >= 0; i--) {
                ObjectNode change = json("{\"forced\": false, \"created_by\": \"key_1\"}");
                change.put("id", i + 1)
                        .put("action", changes.get(i)[1])
                        .put("version", Integer.valueOf(changes.get(i)[0]));
                change.put("before", i == 0 ? null : Integer.valueOf(changes.get(i - 1)[0]));
                change.put("note", changes.get(i)[2]).put("created_at", now().toString());
                data.add(change);
            }
            respond(exchange, 200, "{\"data\": " + data + "}");
        } else {
            respond(exchange, 200, name(name));
        }
    }

    private String name(String name) {
        List<String[]> changes = live.get(name);
        ObjectNode answer = json("{\"created_by\": \"key_1\"}");
        answer.put("name", name).put("created_at", now().toString());
        ArrayNode versions = answer.putArray("versions");
        int newest = changes.stream()
                .mapToInt(change -> Integer.parseInt(change[0]))
                .max()
                .orElseThrow();
        for (int i = newest; i >= 1; i--) {
            ObjectNode version = json("{\"created_by\": \"key_1\"}");
            version.put("version", i).put("harness", i == 1 ? SEED : BEST);
            version.put("adaptation", i == 1 ? null : DONE);
            version.put("note", HOSTILE)
                    .put("created_at", now().minus(newest - i, ChronoUnit.DAYS).toString());
            versions.add(version);
            if (changes.getLast()[0].equals(Integer.toString(i))) {
                answer.set("live", version.deepCopy());
            }
        }
        return answer.toString();
    }

    private static ObjectNode webhook(String id, String url, String description) {
        ObjectNode webhook =
                json("{\"events\": [\"adaptation.finished\", \"evaluation.finished\"], \"disabled_at\": null}");
        return webhook.put("id", id)
                .put("url", url)
                .put("description", description)
                .put("created_at", now().minus(3, ChronoUnit.DAYS).toString());
    }

    private static ObjectNode delivery(String id, String type, String state, int status) {
        ObjectNode delivery = json("{\"next_at\": null, \"payload\": {\"data\": {\"id\": \"adp_1\"}}}");
        delivery.put("id", id).put("event", "evt_" + id).put("type", type).put("state", state);
        delivery.putArray("attempts")
                .add(json("{\"attempt\": 1, \"status\": null, \"error\": \"no answer in time\", \"ms\": 15000}")
                        .put("at", now().toString()))
                .add(json("{\"attempt\": 2, \"error\": null, \"ms\": 41}")
                        .put("status", status)
                        .put("at", now().toString()));
        return delivery.put("created_at", now().toString()).put("ended_at", now().toString());
    }

    private void webhook(HttpExchange exchange, String[] parts, String method) throws IOException {
        if (parts.length == 1 && method.equals("GET")) {
            respond(exchange, 200, "{\"data\": " + webhooks + "}");
        } else if (parts.length == 1) {
            JsonNode body = Json.mapper().readTree(server.seen().getLast().body());
            if (!body.get("url").stringValue().startsWith("https://")) {
                problem(exchange, 400, "INVALID_FIELD", "url must be https", "/url");
                return;
            }
            ObjectNode made = webhook(
                    "whk_01jzzzzzzzzzzzzzzzzzzzz" + number.incrementAndGet(),
                    body.get("url").stringValue(),
                    body.path("description").asString(""));
            made.set("events", body.get("events"));
            webhooks.add(made.deepCopy());
            respond(exchange, 201, made.put("secret", "whsec_once").toString());
        } else if (parts.length == 2 && method.equals("DELETE")) {
            webhooks.removeIf(one -> one.get("id").stringValue().equals(parts[1]));
            exchange.sendResponseHeaders(204, -1);
        } else if (parts.length == 2) {
            respond(
                    exchange,
                    200,
                    webhooks.stream()
                            .filter(one -> one.get("id").stringValue().equals(parts[1]))
                            .findFirst()
                            .orElseThrow()
                            .toString());
        } else if (method.equals("GET")) {
            respond(exchange, 200, "{\"data\": " + deliveries.reversed() + ", \"next_cursor\": null}");
        } else {
            ObjectNode sent = delivery(
                    "whd_" + number.incrementAndGet(),
                    parts[2].equals("ping") ? "ping" : "adaptation.finished",
                    "delivered",
                    204);
            deliveries.add(sent);
            respond(exchange, 202, sent.toString());
        }
    }

    private void order(HttpExchange exchange) throws IOException {
        JsonNode body = Json.mapper().readTree(server.seen().getLast().body());
        if (body.at("/method/lora/rank").asInt(16) < 1) {
            problem(
                    exchange,
                    400,
                    "INVALID_FIELD",
                    "Field rank must be from 1 to 1024",
                    "/method/lora/rank",
                    "/method/teachers/0/model");
        } else {
            respond(exchange, 202, trainingRun().toString());
        }
    }

    private void training(HttpExchange exchange, String[] parts, String method) throws IOException {
        if (parts.length == 1 && method.equals("POST")) {
            order(exchange);
        } else if (parts.length == 1) {
            respond(exchange, 200, "{\"data\": [" + trainingRun() + "], \"next_cursor\": null}");
        } else if (parts.length == 2) {
            respond(exchange, 200, trainingRun().toString());
        } else if (parts[2].equals("metrics")) {
            respond(exchange, 200, metrics());
        } else if (parts[2].equals("events")) {
            stream(exchange, TRAINING);
        } else if (method.equals("POST")) {
            trainingState = parts[2].equals("pause") ? "paused" : parts[2].equals("cancel") ? "cancelled" : "running";
            event(TRAINING, "state", "{}");
            respond(exchange, 202, trainingRun().toString());
        } else {
            problem(exchange, 404, "NOT_FOUND", "There is no such training run");
        }
    }

    /** Lets the training do one more step. */
    void step() {
        trainingSteps++;
        event(TRAINING, "step", "{}");
    }

    private ObjectNode trainingRun() {
        ObjectNode run = json("""
                {"id": "%s", "kind": "grpo", "name": "edits %s", "base_model": "qwen2.5-coder-1.5b", "state": "%s",
                 "stop_reason": null, "message": null, "settings": {"budget": {"steps": 100}}, "created_at": "%s",
                 "started_at": null, "finished_at": null, "progress": {"done": %d, "planned": 100, "unit": "steps"},
                 "active_ms": 912000, "counts": {"tokens": 481200, "groups_dropped": 31},
                 "checkpoints": [{"step": 40, "bytes": 12000, "created_at": "%s"}], "result": null}
                """.formatted(
                        TRAINING,
                        HOSTILE.replace("\"", "\\\""),
                        trainingState,
                        now().minus(20, ChronoUnit.MINUTES),
                        trainingSteps,
                        now()));
        run.set("metrics", point(trainingSteps));
        return run;
    }

    private static ObjectNode point(int step) {
        double wave = Math.sin(step * 1.3) * 0.04;
        ObjectNode metrics = Json.mapper().createObjectNode();
        metrics.put("reward", 0.18 + step * 0.006 + wave);
        metrics.put("reward_with_bonus", 0.25 + step * 0.0068 + wave);
        metrics.put("valid_rate", Math.min(1, 0.4 + step * 0.009 + wave));
        metrics.put("kl", 0.0004 * step + wave * wave);
        metrics.put("zero_spread_share", Math.max(0, 0.5 - step * 0.005 + wave));
        metrics.put("tokens_per_second", 812 + 40 * Math.cos(step));
        metrics.put("loss", 0.02 - step * 0.0002 + wave / 20);
        metrics.put("entropy", 0.9 - step * 0.004 + wave);
        metrics.put("grad_norm", 0.7 + wave * 4);
        return metrics;
    }

    private String metrics() {
        ArrayNode data = Json.mapper().createArrayNode();
        for (int step = 1; step <= trainingSteps; step++) {
            ObjectNode one = json("{\"step\": %d, \"counts\": {}, \"ms\": 900, \"at\": \"%s\"}".formatted(step, now()));
            one.set("metrics", point(step));
            data.add(one);
        }
        return "{\"data\": " + data + ", \"next_after\": null}";
    }

    private String versions(String name) {
        ArrayNode history = Json.mapper().createArrayNode();
        for (int i = served.size() - 1; i >= 0; i--) {
            String[] change = served.get(i);
            history.add(json("{\"promotion\": null, \"changed_by\": \"key_1\"}")
                    .put("change", i + 1)
                    .put("version", change[0])
                    .put("previous", i == 0 ? null : served.get(i - 1)[0])
                    .put("action", change[1])
                    .put("forced", change[2].equals("true"))
                    .put("reason", change[3])
                    .put("at", now().toString()));
        }
        return """
                {"name": "%s", "base": "qwen2.5-coder-1.5b", "serving": "%s",
                 "data": [{"id": "%s", "base": "qwen2.5-coder-1.5b", "kind": "grpo", "parent": "%s", "run": "%s", "step": 100, "bytes": 8400000, "created_at": "%s"},
                          {"id": "%s", "base": "qwen2.5-coder-1.5b", "kind": "sft", "parent": null, "run": null, "step": 60, "bytes": 8400000, "created_at": "%s"}],
                 "history": %s,
                 "promotions": [{"id": "prm_1", "name": "%s", "base": "b", "candidate": "%s", "serving": null, "state": "promoted", "message": null,
                   "decision": {"verdict": "passed", "gain": {"mean": 0.12, "ci": {"level": 0.95, "low": 0.03, "high": 0.2}}, "min_gain": 0.0, "questions": 60,
                    "candidate": {"mean": 0.41, "valid_rate": 0.7, "replies": 240}, "serving": {"mean": 0.29, "valid_rate": 0.4, "replies": 240},
                    "families": [{"family": "gcd", "questions": 12, "candidate": 0.5, "serving": 0.3, "gain": 0.2}, {"family": "word_sorting", "questions": 12, "candidate": 0.3, "serving": 0.31, "gain": -0.01}],
                    "recorded": false}, "created_at": "%s", "finished_at": "%s"}]}
                """.formatted(
                        name,
                        served.getLast()[0],
                        hash("v1"),
                        hash("v2"),
                        TRAINING,
                        now(),
                        hash("v2"),
                        now(),
                        history,
                        name,
                        hash("v1"),
                        now(),
                        now());
    }

    private static String status() {
        StringBuilder history = new StringBuilder();
        Instant minute = now().truncatedTo(ChronoUnit.MINUTES);
        for (int i = 59; i >= 0; i--) {
            long tokens = Math.round(2400 + 1500 * Math.sin(i / 5.0) + 600 * Math.cos(i * 1.7));
            history.append(history.isEmpty() ? "" : ",")
                    .append("{\"at\": \"%s\", \"tokens\": %d, \"questions\": %d}"
                            .formatted(minute.minus(i, ChronoUnit.MINUTES), i % 17 == 0 ? 0 : tokens, tokens / 300));
        }
        return """
                {"runs": {"queued": 1, "running": 1, "paused": 0, "succeeded": 14, "failed": 0, "cancelled": 2},
                 "runs_by_kind": {"adaptation": {"queued": 1, "running": 1, "paused": 0, "succeeded": 14, "failed": 0, "cancelled": 2},
                  "revision": {"queued": 2, "running": 1, "paused": 4, "succeeded": 30, "failed": 0, "cancelled": 0},
                  "evaluation": {"queued": 0, "running": 0, "paused": 1, "succeeded": 3, "failed": 0, "cancelled": 0}},
                 "jobs": {"waiting": 1, "working": 1, "oldest_waiting_s": 4.2},
                 "sandbox": {"executors": 1, "running": 3, "waiting": 0, "idle": 4, "starting": 0},
                 "solver": {"calls_in_flight": 3, "tokens_per_s": 41.7, "calls_per_s": 1.9, "window_s": 60},
                 "outcomes": {"since": "%s", "scored": 38, "invalid": 9, "infra_failure": 1,
                  "by_code": {"NO_BLOCK": 5, "SYNTAX_ERROR": 3, "SMOKE_ERROR": 1, "SANDBOX_FAULT": 1}},
                 "spend": {"since": "%s", "proposer": {"calls": 48, "prompt_tokens": 96000, "completion_tokens": 22000, "ms": 400000},
                  "solver": {"calls": 2210, "prompt_tokens": 310000, "completion_tokens": 74000, "ms": 900000}, "cost": 0.214},
                 "history": [%s]}
                """.formatted(now(), now(), history);
    }

    private static String ownTask() {
        return """
                {"id": "tsk_01jzzzzzzzzzzzzzzzzzzzzzzz", "kind": "items", "name": "Pens", "description": "Answer with the number alone. %s",
                 "scorer": {"name": "numeric"}, "created_at": "%s",
                 "splits": {"feedback": {"count": 1, "hashes": [], "items": [{"question": "How many pens are 2 and 3?", "answer": ["5"]}]},
                  "dev": {"count": 1, "hashes": [], "items": [{"question": "How many pens are 4 and 3?", "answer": ["7"]}]},
                  "held_out": {"count": 2, "hashes": []}}}
                """.formatted(HOSTILE.replace("\"", "\\\""), now().minus(2, ChronoUnit.DAYS));
    }

    private static String families() {
        List<String> families = new ArrayList<>();
        String[][] named = {
            {"chain_sum", "arithmetic"},
            {"basic_arithmetic", "arithmetic"},
            {"gcd", "arithmetic"},
            {"letter_counting", "algorithmic"},
            {"word_sorting", "algorithmic"},
            {"number_sorting", "algorithmic"},
            {"family_relationships", "graphs"}
        };
        for (String[] family : named) {
            families.add("""
                    {"id": "%s", "kind": "reasoning_gym", "name": "%s", "category": "%s", "role": "training",
                     "description": "Answer with the result alone."}""".formatted(family[0], family[0], family[1]));
        }
        return String.join(",", families);
    }

    private static String diff() {
        return """
                --- before
                +++ after
                @@ -1,2 +1,6 @@
                +import re
                +
                 def run(question, env):
                -    return env.llm(question)
                +    reply = env.llm(question + "\\nAnswer with the number alone.")
                +    # %s
                +    return re.findall(r"-?\\d+", reply)[-1]
                """.formatted(HOSTILE);
    }

    private static Instant now() {
        return Instant.now().truncatedTo(ChronoUnit.SECONDS);
    }

    private static String hash(String of) {
        return Hashes.sha256(of.getBytes(StandardCharsets.UTF_8));
    }

    private static ObjectNode json(String text) {
        return (ObjectNode) Json.mapper().readTree(text);
    }

    private static void respond(HttpExchange exchange, int status, String body) throws IOException {
        UpstreamDouble.answer(exchange, status, "application/json", body);
    }

    private static void problem(HttpExchange exchange, int status, String code, String detail, String... pointers)
            throws IOException {
        Map<String, Object> problem = new LinkedHashMap<>();
        problem.put("type", "about:blank");
        problem.put("title", code);
        problem.put("status", status);
        problem.put("detail", detail);
        problem.put("code", code);
        problem.put(
                "errors",
                List.of(pointers).stream()
                        .map(pointer -> Map.of("pointer", pointer, "code", code, "detail", detail))
                        .toList());
        UpstreamDouble.answer(exchange, status, "application/problem+json", Json.write(problem));
    }

    @Override
    public void close() {
        server.close();
    }
}
