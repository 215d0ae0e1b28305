package org.harnesslearning.trainer.rollout;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.store.run.CandidateOutcome;
import org.harnesslearning.store.run.EvaluationRow;
import org.harnesslearning.store.run.EvaluationStore;
import org.harnesslearning.store.run.MeasuredQuestion;
import org.harnesslearning.store.run.RunRow;
import org.harnesslearning.store.run.RunStore;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;
import tools.jackson.databind.JsonNode;

/**
 * What a finished revision left in Postgres. It trusts nothing: a missing score stays missing and a broken list of numbers
 * becomes none, so that no default ever passes for a measurement.
 */
@Component
public class Answers {
    private static final int ROUND = 1;

    private final JdbcClient jdbc;
    private final RunStore runs;
    private final EvaluationStore evaluations;

    Answers(JdbcClient jdbc, RunStore runs, EvaluationStore evaluations) {
        this.jdbc = jdbc;
        this.runs = runs;
        this.evaluations = evaluations;
    }

    /**
     * A revision as it ended.
     *
     * @param reportMean score of the parent on the feedback questions; null without one
     */
    public record Revision(
            String run,
            String parent,
            @Nullable Double reportMean,
            double temperature,
            String promptVersion,
            String reportVersion,
            String descriptionsVersion,
            List<Call> calls,
            List<Candidate> candidates) {}

    /**
     * One call of the model.
     *
     * @param promptTokenIds null where the endpoint gives none
     */
    public record Call(
            int call,
            String model,
            @Nullable String weightsVersion,
            @Nullable List<Integer> promptTokenIds) {}

    /**
     * One reply and how it ended.
     *
     * @param tokenIds null where there are none, or not whole ones
     * @param logprobs null where there are none, or not finite ones
     * @param mean score on the dev questions; null where there is none
     */
    public record Candidate(
            int candidate,
            int call,
            long seed,
            @Nullable String demonstration,
            @Nullable String reply,
            @Nullable String finishReason,
            @Nullable List<Integer> tokenIds,
            @Nullable List<Double> logprobs,
            @Nullable String harness,
            @Nullable String tier,
            @Nullable String diff,
            @Nullable CandidateOutcome outcome,
            @Nullable OutcomeCode code,
            @Nullable Double mean) {}

    /**
     * Reads a revision.
     *
     * @throws RolloutFailure when it has no round, or when questions of report and reward overlap
     */
    public Revision revision(RunRow run) {
        Map<Split, List<Item>> items = runs.items(run.id());
        Set<String> shown = new HashSet<>();
        Objects.requireNonNull(items.get(Split.FEEDBACK)).forEach(item -> shown.add(item.hash()));
        if (Objects.requireNonNull(items.get(Split.DEV)).stream().anyMatch(item -> shown.contains(item.hash()))) {
            throw new RolloutFailure(
                    ErrorCode.OVERLAPPING_SPLITS, run.id() + " has questions of the reward in its report");
        }
        JsonNode versions = run.settings().path("versions");
        Parent parent = jdbc.sql("select parent, report from round where run_id = ? and round = ?")
                .params(run.id(), ROUND)
                .query((row, index) -> new Parent(row.getString("parent"), row.getString("report")))
                .optional()
                .orElseThrow(() -> new RolloutFailure(ErrorCode.NOT_FOUND, run.id() + " has no round"));
        return new Revision(
                run.id(),
                parent.harness(),
                parent.mean(),
                run.settings().at("/proposer/temperature").asDouble(),
                versions.path("prompt").asString(""),
                versions.path("report").asString(""),
                versions.path("descriptions").asString(""),
                calls(run.id()),
                candidates(run.id()));
    }

    private record Parent(String harness, @Nullable String report) {
        @Nullable
        Double mean() {
            JsonNode mean =
                    report == null ? null : Json.mapper().readTree(report).get("mean");
            return mean == null || !mean.isNumber() ? null : mean.asDouble();
        }
    }

    private List<Call> calls(String run) {
        return jdbc.sql("""
                        select call, model, weights_version, prompt_token_ids from proposer_call
                        where run_id = ? and round = ? and committed_at is not null order by call""")
                .params(run, ROUND)
                .query((row, index) -> new Call(
                        row.getInt("call"),
                        row.getString("model"),
                        row.getString("weights_version"),
                        integers(row.getString("prompt_token_ids"))))
                .list();
    }

    private List<Candidate> candidates(String run) {
        return jdbc.sql("""
                        select *, score -> 'mean' score_mean from candidate
                        where run_id = ? and round = ? order by candidate""").params(run, ROUND).query(Answers::candidate).list();
    }

    private static Candidate candidate(ResultSet row, int index) throws SQLException {
        String outcome = row.getString("outcome");
        String code = row.getString("code");
        return new Candidate(
                row.getInt("candidate"),
                row.getInt("call"),
                row.getLong("seed"),
                row.getString("demonstration"),
                row.getString("reply"),
                row.getString("finish_reason"),
                integers(row.getString("token_ids")),
                numbers(row.getString("logprobs")),
                row.getString("harness"),
                row.getString("tier"),
                row.getString("diff"),
                outcome == null ? null : Json.mapper().convertValue(outcome, CandidateOutcome.class),
                code == null ? null : OutcomeCode.valueOf(code),
                number(row.getString("score_mean")));
    }

    /**
     * Mean score of an evaluation.
     *
     * @throws RolloutFailure when it is not complete
     */
    double mean(String run) {
        EvaluationRow evaluation = evaluations.all(run).stream()
                .findFirst()
                .orElseThrow(() -> new RolloutFailure(ErrorCode.NOT_FOUND, run + " has no evaluation"));
        List<MeasuredQuestion> results = evaluation.results();
        if (evaluation.state() != EvaluationRow.State.DONE
                || results.isEmpty()
                || results.size() != evaluation.questions()) {
            throw new RolloutFailure(
                    ErrorCode.NOT_FINISHED,
                    run + " has scored " + results.size() + " of " + evaluation.questions() + " questions");
        }
        return results.stream().mapToDouble(MeasuredQuestion::score).sum() / results.size();
    }

    private static @Nullable Double number(@Nullable String json) {
        JsonNode node = json == null ? null : Json.mapper().readTree(json);
        return node == null || !node.isNumber() ? null : node.asDouble();
    }

    private static @Nullable List<Integer> integers(@Nullable String json) {
        JsonNode node = json == null ? null : Json.mapper().readTree(json);
        if (node == null || !node.isArray()) {
            return null;
        }
        List<Integer> values = new ArrayList<>();
        for (JsonNode value : node) {
            if (!value.isInt() || value.asInt() < 0) {
                return null;
            }
            values.add(value.asInt());
        }
        return values;
    }

    private static @Nullable List<Double> numbers(@Nullable String json) {
        JsonNode node = json == null ? null : Json.mapper().readTree(json);
        if (node == null || !node.isArray()) {
            return null;
        }
        List<Double> values = new ArrayList<>();
        for (JsonNode value : node) {
            if (!value.isNumber() || !Double.isFinite(value.asDouble())) {
                return null;
            }
            values.add(value.asDouble());
        }
        return values;
    }
}
