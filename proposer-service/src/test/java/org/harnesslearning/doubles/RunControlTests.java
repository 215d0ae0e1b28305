package org.harnesslearning.doubles;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.trace.WorkContext;
import org.harnesslearning.testing.LogLines;
import org.harnesslearning.testing.RequiresPostgres;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tools.jackson.databind.JsonNode;

/** Cancelling, pausing and resuming revisions and evaluations; {@link AdaptationTests} has those of adaptations. */
@RequiresPostgres
class RunControlTests {
    private static final String HALF = Platform.SEED.replace("0.0", "0.5");
    private static final List<String> WISHES = List.of("cancel", "pause", "resume");

    private static Platform platform;
    private static String proposer;

    /**
     * Where an execution may be held or fail.
     *
     * @param before questions that are committed then
     */
    private record Place(String execution, String harness, int before) {
        boolean is(String id) {
            return id.endsWith(execution + "#" + before);
        }
    }

    /** A kind of run, with two places within it. */
    private enum Kind {
        /** Two feedback questions, two different edits, four dev questions each. */
        REVISION(
                "/revise",
                "/revisions/",
                new Place("/r1/c0/dev/0", HALF, 2),
                new Place("/r1/parent/feedback/0", Platform.SEED, 1)),
        /** Four dev questions, then the same ones for the baseline. */
        EVALUATION(
                "/evaluations",
                "/evaluations/",
                new Place("/evaluation/dev/0", HALF, 2),
                new Place("/baseline/dev/0", Platform.SEED, 1));

        final String order;
        final String path;
        final Place place;
        final Place other;

        Kind(String order, String path, Place place, Place other) {
            this.order = order;
            this.path = path;
            this.place = place;
            this.other = other;
        }

        /** An order with questions of its own, so that nothing is cached. */
        Map<String, Object> request() {
            Map<String, Object> request = new LinkedHashMap<>();
            request.put("task", platform.task(2, 4, 5));
            request.put("solver", Map.of("model", "solver"));
            if (this == EVALUATION) {
                request.put("harness", Map.of("source", HALF));
                request.put("baseline", Map.of("source", Platform.SEED));
                request.put("split", "dev");
            } else {
                request.put("harness", Map.of("source", Platform.SEED));
                request.put("candidates", 3);
                request.put("proposer", Map.of("model", proposer, "demonstrations", "none"));
            }
            return request;
        }

        /** Solver calls of a whole run: each question of each harness once. */
        int calls() {
            return this == EVALUATION ? 4 + 4 : 2 + 4 + 4;
        }
    }

    @BeforeAll
    static void start() {
        platform = new Platform();
        proposer = platform.model(Map.of(
                "1/0", Platform.edit("level: 0.0", "level: 0.5"), "1/1", Platform.edit("level: 0.0", "level: 1.0")));
    }

    @AfterAll
    static void stop() {
        platform.close();
    }

    @AfterEach
    void reset() {
        platform.undisturbed();
        assertThat(platform.executor.computed).doesNotHaveDuplicates();
    }

    private static String ordered(Kind kind, Map<String, Object> request) {
        Api.Answer answer = platform.api.post(kind.order, Platform.body(request), "Prefer", "wait=0");
        assertThat(answer.status()).as(answer.body()).isEqualTo(202);
        return kind.path + answer.json().get("id").asString();
    }

    private static Api.Answer told(String path, String wish) {
        return platform.api.post(path + "/" + wish, "");
    }

    private static void accepted(String path, String wish) {
        Api.Answer answer = told(path, wish);
        assertThat(answer.status()).as(answer.body()).isEqualTo(202);
        assertThat(answer.header("location")).isEqualTo(path);
        assertThat(answer.header("etag")).isNotBlank();
        assertThat(path).endsWith(answer.json().get("id").asString());
    }

    private static void refused(String path, String wish) {
        Api.Answer answer = told(path, wish);
        assertThat(answer.status()).as(answer.body()).isEqualTo(409);
        assertThat(answer.json().get("code").asString()).isEqualTo("INVALID_STATE");
    }

    private static JsonNode awaitState(String path, String state) {
        return platform.api.awaitAt(path, run -> run.get("state").asString().equals(state));
    }

    /** Waits until the question that was open at a place is committed, as the executor does even for a run that was left. */
    private static void awaitCommitted(String path, Place place) {
        platform.api.awaitAt(
                path,
                run -> platform.jdbc
                                .sql("select count(*) from question_result where run_id = ? and harness_hash = ?")
                                .params(path.substring(path.lastIndexOf('/') + 1), Hashes.harness(place.harness()))
                                .query(Integer.class)
                                .single()
                        == place.before() + 1);
    }

    /** What a run came to, without what names it, its questions or the time. */
    private static String findings(JsonNode run) {
        return findings(
                        run,
                        "state",
                        "stop_reason",
                        "message",
                        "counts",
                        "report",
                        "score",
                        "result",
                        "by_code",
                        "progress")
                + findings(run.get("usage"), "repeated", "cached", "cost")
                + findings(run.at("/usage/solver"), "calls", "prompt_tokens", "completion_tokens")
                + findings(run.at("/usage/proposer"), "calls", "prompt_tokens", "completion_tokens")
                + run.path("candidates")
                        .valueStream()
                        .map(candidate -> findings(
                                candidate,
                                "outcome",
                                "code",
                                "harness",
                                "score",
                                "reply",
                                "diff",
                                "duplicate_of",
                                "seed"))
                        .toList();
    }

    private static String findings(JsonNode node, String... names) {
        return List.of(names).stream()
                .map(name -> name + "=" + node.path(name))
                .toList()
                .toString();
    }

    private static void endsAsIfUndisturbed(Kind kind, String path) {
        JsonNode run = platform.api.awaitAt(path, Api::ended);
        JsonNode undisturbed = platform.api.awaitAt(ordered(kind, kind.request()), Api::ended);

        assertThat(run.get("state").asString()).isEqualTo("succeeded");
        assertThat(run.at("/usage/solver/calls").asInt()).isEqualTo(kind.calls());
        assertThat(findings(run)).isEqualTo(findings(undisturbed));
    }

    @ParameterizedTest
    @EnumSource
    void a_running_one_is_cancelled_within_an_evaluation_and_keeps_what_is_committed(Kind kind) throws Exception {
        platform.executor.hold(kind.place::is);
        String path = ordered(kind, kind.request());
        platform.executor.awaitHeld();
        accepted(path, "cancel");
        JsonNode run = platform.api.awaitAt(path, Api::ended);
        platform.executor.release();

        assertThat(run.get("state").asString()).isEqualTo("cancelled");
        assertThat(run.get("stop_reason").asString()).isEqualTo("cancelled");
        if (kind == Kind.REVISION) {
            assertThat(run.at("/candidates/0/outcome").asString()).isEqualTo("not_finished");
            assertThat(run.at("/candidates/0/diff").asString()).contains("level: 0.5");
            assertThat(run.at("/counts/not_finished").asInt()).isPositive();
        } else {
            assertThat(run.get("result").isNull()).isTrue();
            for (String format : List.of("json", "markdown", "junit")) {
                Api.Answer report = platform.api.get(path + "/report?format=" + format);
                assertThat(report.status()).as(report.body()).isEqualTo(200);
                assertThat(report.body()).contains("cancelled");
            }
        }
        for (String wish : WISHES) {
            refused(path, wish);
        }
    }

    @ParameterizedTest
    @EnumSource
    void a_paused_one_goes_on_to_the_result_of_an_undisturbed_one(Kind kind) throws Exception {
        for (Place place : List.of(kind.place, kind.other)) {
            platform.executor.hold(place::is);
            String path = ordered(kind, kind.request());
            platform.executor.awaitHeld();
            refused(path, "resume");
            accepted(path, "pause");
            JsonNode paused = awaitState(path, "paused");
            assertThat(paused.get("message").asString()).isEqualTo("paused by the user");
            refused(path, "pause");
            platform.executor.release();
            awaitCommitted(path, place);
            accepted(path, "resume");

            endsAsIfUndisturbed(kind, path);
            for (String wish : WISHES) {
                refused(path, wish);
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void an_outage_of_the_solver_pauses_it_as_often_as_it_is_resumed_until_the_solver_is_back(Kind kind) {
        platform.executor.solverAway(kind.other::is);
        String path = ordered(kind, kind.request());
        // More often than a run may lose its worker.
        for (int outage = 0; outage < 6; outage++) {
            JsonNode paused = awaitState(path, "paused");
            assertThat(paused.get("message").asString()).startsWith("SOLVER_UNAVAILABLE");
            if (kind == Kind.REVISION) {
                assertThat(paused.at("/counts/attempted").asInt()).isZero();
            }
            accepted(path, "resume");
        }
        awaitState(path, "paused");
        platform.executor.solverAway(place -> false);
        accepted(path, "resume");

        endsAsIfUndisturbed(kind, path);
    }

    @Test
    void an_outage_while_edits_are_judged_pauses_a_revision_and_keeps_its_replies() {
        platform.executor.solverAway(id -> id.contains("/dev/0#"));
        String path = ordered(Kind.REVISION, Kind.REVISION.request());
        JsonNode paused = awaitState(path, "paused");
        assertThat(paused.get("message").asString()).startsWith("SOLVER_UNAVAILABLE");
        assertThat(paused.at("/usage/proposer/calls").asInt()).isEqualTo(3);
        platform.executor.solverAway(place -> false);
        accepted(path, "resume");

        endsAsIfUndisturbed(Kind.REVISION, path);
    }

    @Test
    void an_outage_of_the_proposer_pauses_a_revision_and_resuming_finishes_it() {
        platform.model.fail(3);
        String path = ordered(Kind.REVISION, Kind.REVISION.request());
        assertThat(awaitState(path, "paused").get("message").asString()).contains("PROPOSER_UNAVAILABLE");
        accepted(path, "resume");

        endsAsIfUndisturbed(Kind.REVISION, path);
    }

    @Test
    void a_wish_that_comes_while_the_proposer_writes_is_obeyed_before_its_edits() throws Exception {
        Map<String, Object> request = Kind.REVISION.request();
        request.put("evaluate", false);
        platform.model.hold("1/0");
        String cancelled = ordered(Kind.REVISION, request);
        platform.model.awaitHeld();
        accepted(cancelled, "cancel");
        // It is being cancelled already.
        refused(cancelled, "pause");
        platform.model.release();
        assertThat(platform.api.awaitAt(cancelled, Api::ended).get("state").asString())
                .isEqualTo("cancelled");

        platform.model.hold("1/0");
        String path = ordered(Kind.REVISION, request);
        platform.model.awaitHeld();
        accepted(path, "pause");
        platform.model.release();
        JsonNode paused = awaitState(path, "paused");
        assertThat(paused.at("/candidates/0/reply").asString()).contains("REPLACE");
        assertThat(paused.at("/candidates/0/diff").isNull()).isTrue();
        accepted(path, "resume");
        JsonNode done = platform.api.awaitAt(path, Api::ended);
        assertThat(done.get("state").asString()).isEqualTo("succeeded");
        assertThat(done.at("/candidates/0/diff").asString()).contains("level: 0.5");
        assertThat(done.at("/usage/proposer/calls").asInt()).isEqualTo(3);
    }

    @Test
    void cancelling_a_paused_one_ends_it_at_once_and_closes_its_candidates() throws Exception {
        platform.executor.hold(Kind.REVISION.place::is);
        String path = ordered(Kind.REVISION, Kind.REVISION.request());
        platform.executor.awaitHeld();
        accepted(path, "pause");
        awaitState(path, "paused");
        JsonNode run;
        try (LogLines lines = new LogLines("org.harnesslearning.proposer.run.RunMetrics")) {
            run = told(path, "cancel").json();
            String id = run.get("id").asString();
            assertThat(lines.with(id + " cancelled"))
                    .singleElement()
                    .satisfies(line -> assertThat(line.getMDCPropertyMap()).containsEntry(WorkContext.RUN, id));
        }

        assertThat(run.get("state").asString()).isEqualTo("cancelled");
        assertThat(run.at("/candidates/0/outcome").asString()).isEqualTo("not_finished");
        assertThat(run.at("/candidates/2/code").asString()).isEqualTo("NO_BLOCK");
        assertThat(run.at("/progress/done")).isEqualTo(run.at("/progress/planned"));
        refused(path, "resume");
    }

    @Test
    void an_outage_does_not_turn_a_cancellation_into_a_pause() throws Exception {
        try (Platform impatient = new Platform(List.of("--proposer.attempts=1"))) {
            String model = impatient.model(Map.of("1/0", Platform.edit("level: 0.0", "level: 0.5")));
            impatient.executor.hold(id -> id.startsWith("check ") && id.contains("level: 0.5"));
            Map<String, Object> request = impatient.request(model, Map.of("candidates", 1));
            request.remove("rounds");
            String path = "/revisions/"
                    + impatient
                            .api
                            .post("/revise", Platform.body(request), "Prefer", "wait=0")
                            .json()
                            .get("id")
                            .asString();
            impatient.executor.awaitHeld();
            assertThat(impatient.api.post(path + "/cancel", "").status()).isEqualTo(202);
            impatient.executor.outage(new PlatformException(ErrorCode.SANDBOX_UNAVAILABLE, "no Docker"));
            impatient.executor.release();
            JsonNode run = impatient.api.awaitAt(
                    path, state -> !state.get("state").asString().equals("running"));

            assertThat(run.get("state").asString()).isEqualTo("cancelled");
            assertThat(run.at("/candidates/0/outcome").asString()).isEqualTo("not_finished");
        }
    }

    @Test
    void a_run_is_found_under_its_own_kind_only() {
        Map<String, Object> adaptation = platform.request(proposer, Map.of("rounds", 1));
        String adapted = platform.api
                .post("/adapt", Platform.body(adaptation))
                .json()
                .get("id")
                .asString();
        String revision = ordered(Kind.REVISION, Kind.REVISION.request());
        String evaluation = ordered(Kind.EVALUATION, Kind.EVALUATION.request());
        String revised = revision.substring(Kind.REVISION.path.length());
        String evaluated = evaluation.substring(Kind.EVALUATION.path.length());
        for (String wish : WISHES) {
            for (String path : List.of(
                    "/revisions/rev_unknown",
                    "/evaluations/evl_unknown",
                    "/revisions/" + adapted,
                    "/revisions/" + evaluated,
                    "/evaluations/" + adapted,
                    "/evaluations/" + revised,
                    "/adaptations/" + revised,
                    "/adaptations/" + evaluated)) {
                Api.Answer answer = told(path, wish);
                assertThat(answer.status()).as(path + "/" + wish).isEqualTo(404);
                assertThat(answer.json().get("code").asString()).isEqualTo("NOT_FOUND");
            }
        }
        for (String path : List.of(revision, evaluation, "/adaptations/" + adapted)) {
            assertThat(platform.api.awaitAt(path, Api::ended).get("state").asString())
                    .isEqualTo("succeeded");
        }
    }
}
