package org.harnesslearning.store.sample;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Clock;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.store.Columns;
import org.harnesslearning.store.run.CandidateOutcome;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.simple.JdbcClient;

/** Groups of training runs and their samples; callers hold the transaction where several rows belong together. */
public class GroupStore {
    private final JdbcClient jdbc;
    private final Clock clock;

    public GroupStore(JdbcClient jdbc, Clock clock) {
        this.jdbc = jdbc;
        this.clock = clock;
    }

    /** Adds a group in state ORDERED, if it is not there yet, and returns it as it is stored. */
    public GroupRow order(GroupRow group) {
        jdbc.sql("""
                        insert into training_group (training_run, number, batch, lane, depth, family, item_seed, sampling_seed,
                            harness, model, model_version, policy_step, reward_mode, request, state, ordered_at)
                        values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?::jsonb, ?, ?) on conflict do nothing""")
                .params(Columns.row(
                        group.trainingRun(),
                        group.number(),
                        group.batch(),
                        group.lane(),
                        group.depth(),
                        group.family(),
                        group.itemSeed(),
                        group.samplingSeed(),
                        group.harness(),
                        group.model(),
                        group.modelVersion(),
                        group.policyStep(),
                        group.rewardMode(),
                        Columns.json(group.request()),
                        GroupRow.State.ORDERED.json(),
                        Columns.time(clock.instant())))
                .update();
        return find(group.trainingRun(), group.number()).orElseThrow();
    }

    /** Notes the revision that a group came to. */
    public void run(String trainingRun, long number, String run) {
        jdbc.sql("update training_group set run_id = ? where training_run = ? and number = ?")
                .params(Columns.row(run, trainingRun, number))
                .update();
    }

    /** Ends a group without samples. */
    public void failed(String trainingRun, long number, String failure) {
        jdbc.sql("""
                        update training_group set state = ?, failure = ?, finished_at = ?
                        where training_run = ? and number = ? and state = 'ordered'""")
                .params(Columns.row(
                        GroupRow.State.FAILED.json(),
                        Columns.storable(failure),
                        Columns.time(clock.instant()),
                        trainingRun,
                        number))
                .update();
    }

    /** Ends a group with its samples, once; callers hold the transaction. */
    public void sampled(String trainingRun, long number, GroupRow.Sampled sampled, List<SampleRow> samples) {
        int changed = jdbc.sql("""
                        update training_group set state = ?, weights_version = ?, temperature = ?, prompt_version = ?,
                            report_version = ?, descriptions_version = ?, prompt_token_ids = ?::jsonb, baseline = ?,
                            finished_at = ?
                        where training_run = ? and number = ? and state = 'ordered'""")
                .params(Columns.row(
                        GroupRow.State.SAMPLED.json(),
                        sampled.weightsVersion(),
                        sampled.temperature(),
                        sampled.promptVersion(),
                        sampled.reportVersion(),
                        sampled.descriptionsVersion(),
                        Columns.json(sampled.promptTokenIds()),
                        sampled.baseline(),
                        Columns.time(clock.instant()),
                        trainingRun,
                        number))
                .update();
        if (changed == 0) {
            return;
        }
        for (SampleRow sample : samples) {
            CandidateOutcome outcome = sample.outcome();
            OutcomeCode code = sample.code();
            jdbc.sql("""
                            insert into training_sample (training_run, number, candidate, seed, completion_token_ids, logprobs,
                                finish_reason, harness, outcome, code, score, reward, reward_with_bonus, valid, reason)
                            values (?, ?, ?, ?, ?::jsonb, ?::jsonb, ?, ?, ?, ?, ?, ?, ?, ?, ?)""")
                    .params(Columns.row(
                            trainingRun,
                            number,
                            sample.candidate(),
                            sample.seed(),
                            Columns.json(sample.completionTokenIds()),
                            Columns.json(sample.logprobs()),
                            sample.finishReason(),
                            sample.harness(),
                            outcome == null ? null : outcome.json(),
                            code == null ? null : code.name(),
                            sample.score(),
                            sample.reward(),
                            sample.rewardWithBonus(),
                            sample.valid(),
                            sample.reason()))
                    .update();
        }
    }

    /** Lets the failed groups of a batch be asked for again. */
    public void renew(String trainingRun, long batch) {
        jdbc.sql("""
                        update training_group set state = ?, failure = null, finished_at = null, run_id = null,
                            attempt = attempt + 1
                        where training_run = ? and batch = ? and state = 'failed'""")
                .params(Columns.row(GroupRow.State.ORDERED.json(), trainingRun, batch))
                .update();
    }

    /**
     * What a training run had executed so far.
     *
     * @param calls of solvers
     * @param tokens of solvers and proposers
     */
    public record Spent(long calls, long tokens) {}

    /** What all revisions and evaluations of a training run have used. */
    public Spent spent(String trainingRun) {
        return jdbc.sql("""
                        select coalesce(sum(b.calls_used), 0) calls, coalesce(sum(b.tokens_used), 0) tokens
                        from run r join run_budget b on b.run_id = r.id where r.settings #>> '{labels,training_run}' = ?""")
                .param(trainingRun)
                .query((row, index) -> new Spent(row.getLong("calls"), row.getLong("tokens")))
                .single();
    }

    /** Notes which harness goes on from a group. */
    public void chosen(String trainingRun, long number, String harness) {
        jdbc.sql("update training_group set chosen = ? where training_run = ? and number = ?")
                .params(Columns.row(harness, trainingRun, number))
                .update();
    }

    public Optional<GroupRow> find(String trainingRun, long number) {
        return jdbc.sql("select * from training_group where training_run = ? and number = ?")
                .params(Columns.row(trainingRun, number))
                .query(GroupStore::group)
                .optional();
    }

    /** Groups of one batch, by number. */
    public List<GroupRow> ofBatch(String trainingRun, long batch) {
        return jdbc.sql("select * from training_group where training_run = ? and batch = ? order by number")
                .params(Columns.row(trainingRun, batch))
                .query(GroupStore::group)
                .list();
    }

    /** The first groups with a number above {@code after}, by number. */
    public List<GroupRow> page(String trainingRun, long after, int limit) {
        return jdbc.sql("select * from training_group where training_run = ? and number > ? order by number limit ?")
                .params(Columns.row(trainingRun, after, limit))
                .query(GroupStore::group)
                .list();
    }

    /** Samples of the groups whose numbers lie between two, both included: by number, then by candidate. */
    public Map<Long, List<SampleRow>> samples(String trainingRun, long from, long to) {
        Map<Long, List<SampleRow>> samples = new TreeMap<>();
        jdbc.sql("""
                        select * from training_sample where training_run = ? and number between ? and ?
                        order by number, candidate""").params(Columns.row(trainingRun, from, to)).query((ResultSet row) -> {
            samples.computeIfAbsent(row.getLong("number"), number -> new ArrayList<>())
                    .add(sample(row, 0));
        });
        return samples;
    }

    /** Samples of a group, by candidate. */
    public List<SampleRow> samples(String trainingRun, long number) {
        return jdbc.sql("select * from training_sample where training_run = ? and number = ? order by candidate")
                .params(Columns.row(trainingRun, number))
                .query(GroupStore::sample)
                .list();
    }

    private static GroupRow group(ResultSet row, int index) throws SQLException {
        String weights = row.getString("weights_version");
        GroupRow.Sampled sampled = weights == null
                ? null
                : new GroupRow.Sampled(
                        weights,
                        row.getDouble("temperature"),
                        Objects.requireNonNull(row.getString("prompt_version")),
                        Objects.requireNonNull(row.getString("report_version")),
                        Objects.requireNonNull(row.getString("descriptions_version")),
                        List.of(Json.read(Objects.requireNonNull(row.getString("prompt_token_ids")), Integer[].class)),
                        number(row, "baseline"));
        return new GroupRow(
                row.getString("training_run"),
                row.getLong("number"),
                row.getLong("batch"),
                row.getInt("lane"),
                row.getInt("depth"),
                row.getString("family"),
                row.getLong("item_seed"),
                row.getLong("sampling_seed"),
                row.getString("harness"),
                row.getString("model"),
                row.getString("model_version"),
                row.getLong("policy_step"),
                row.getString("reward_mode"),
                Json.mapper().readTree(row.getString("request")),
                Json.mapper().convertValue(row.getString("state"), GroupRow.State.class),
                row.getString("run_id"),
                row.getInt("attempt"),
                row.getString("failure"),
                sampled,
                row.getString("chosen"));
    }

    private static SampleRow sample(ResultSet row, int index) throws SQLException {
        Integer[] tokens = Columns.read(row.getString("completion_token_ids"), Integer[].class);
        Double[] logprobs = Columns.read(row.getString("logprobs"), Double[].class);
        String outcome = row.getString("outcome");
        String code = row.getString("code");
        return new SampleRow(
                row.getInt("candidate"),
                row.getLong("seed"),
                tokens == null ? null : List.of(tokens),
                logprobs == null ? null : List.of(logprobs),
                row.getString("finish_reason"),
                row.getString("harness"),
                outcome == null ? null : Json.mapper().convertValue(outcome, CandidateOutcome.class),
                code == null ? null : OutcomeCode.valueOf(code),
                number(row, "score"),
                number(row, "reward"),
                number(row, "reward_with_bonus"),
                row.getBoolean("valid"),
                row.getString("reason"));
    }

    private static @Nullable Double number(ResultSet row, String column) throws SQLException {
        double value = row.getDouble(column);
        return row.wasNull() ? null : value;
    }
}
