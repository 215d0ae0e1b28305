package org.harnesslearning.store.run;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.store.Columns;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.simple.JdbcClient;

/** Evaluations of a run, by the id under which the executor knows them. */
public class EvaluationStore {
    private final JdbcClient jdbc;

    public EvaluationStore(JdbcClient jdbc) {
        this.jdbc = jdbc;
    }

    /** Adds an evaluation before it is asked for, if it is not there yet. */
    public void open(String run, EvaluationRow row) {
        jdbc.sql("""
                        insert into evaluation (id, run_id, round, candidate, role, split, repeat, harness, questions, state,
                            results)
                        values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '[]'::jsonb) on conflict do nothing""")
                .params(Columns.row(
                        row.id(),
                        run,
                        row.round(),
                        row.candidate(),
                        row.role().name().toLowerCase(Locale.ROOT),
                        row.split().json(),
                        row.repeat(),
                        row.harness(),
                        row.questions(),
                        EvaluationRow.State.RUNNING.name().toLowerCase(Locale.ROOT)))
                .update();
    }

    /** Stores where an evaluation stands. */
    public void update(
            String id,
            EvaluationRow.State state,
            int attempts,
            List<MeasuredQuestion> results,
            @Nullable OutcomeCode failure,
            @Nullable String message) {
        jdbc.sql("""
                        update evaluation set state = ?, attempts = ?, results = ?::jsonb, failure = ?, message = ? where id = ?""")
                .params(Columns.row(
                        state.name().toLowerCase(Locale.ROOT),
                        attempts,
                        Columns.json(results),
                        failure == null ? null : failure.name(),
                        message == null ? null : Columns.storable(message),
                        id))
                .update();
    }

    public Optional<EvaluationRow> find(String id) {
        return jdbc.sql("select * from evaluation where id = ?")
                .param(id)
                .query(EvaluationStore::row)
                .optional();
    }

    /** Evaluations of a run, by id. */
    public List<EvaluationRow> all(String run) {
        return jdbc.sql("select * from evaluation where run_id = ? order by round, id")
                .param(run)
                .query(EvaluationStore::row)
                .list();
    }

    /** Number of committed questions over all evaluations of a run. */
    public long answered(String run) {
        return jdbc.sql("select coalesce(sum(jsonb_array_length(results)), 0) from evaluation where run_id = ?")
                .param(run)
                .query(Long.class)
                .single();
    }

    /** How far each evaluation of a run is, without the results. */
    public List<Extent> extents(String run) {
        return jdbc.sql("""
                        select round, candidate, role, split, state, questions, jsonb_array_length(results) done
                        from evaluation where run_id = ?""")
                .param(run)
                .query((row, index) -> new Extent(
                        row.getInt("round"),
                        Columns.integer(row, "candidate"),
                        EvaluationRow.Role.valueOf(row.getString("role").toUpperCase(Locale.ROOT)),
                        Json.mapper().convertValue(row.getString("split"), Split.class),
                        EvaluationRow.State.valueOf(row.getString("state").toUpperCase(Locale.ROOT)),
                        row.getInt("questions"),
                        row.getInt("done")))
                .list();
    }

    /** How far one evaluation is. */
    public record Extent(
            int round,
            @Nullable Integer candidate,
            EvaluationRow.Role role,
            Split split,
            EvaluationRow.State state,
            int questions,
            int done) {}

    private static EvaluationRow row(ResultSet row, int index) throws SQLException {
        String failure = row.getString("failure");
        return new EvaluationRow(
                row.getString("id"),
                row.getInt("round"),
                Columns.integer(row, "candidate"),
                EvaluationRow.Role.valueOf(row.getString("role").toUpperCase(Locale.ROOT)),
                Json.mapper().convertValue(row.getString("split"), Split.class),
                row.getInt("repeat"),
                row.getString("harness"),
                row.getInt("questions"),
                EvaluationRow.State.valueOf(row.getString("state").toUpperCase(Locale.ROOT)),
                row.getInt("attempts"),
                List.of(Json.read(row.getString("results"), MeasuredQuestion[].class)),
                failure == null ? null : OutcomeCode.valueOf(failure),
                row.getString("message"));
    }
}
