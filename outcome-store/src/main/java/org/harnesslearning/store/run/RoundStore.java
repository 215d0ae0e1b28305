package org.harnesslearning.store.run;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.store.Columns;
import org.springframework.jdbc.core.simple.JdbcClient;

/** Rounds of a run. */
public class RoundStore {
    private final JdbcClient jdbc;

    public RoundStore(JdbcClient jdbc) {
        this.jdbc = jdbc;
    }

    /** Opens a round; true when it was not open yet. */
    public boolean open(String run, int round, String parent) {
        return jdbc.sql("insert into round (run_id, round, parent) values (?, ?, ?) on conflict do nothing")
                        .params(Columns.row(run, round, parent))
                        .update()
                == 1;
    }

    /** Stores the report of a round. */
    public void report(String run, int round, Object report, String text) {
        jdbc.sql("update round set report = ?::jsonb, report_text = ? where run_id = ? and round = ?")
                .params(Columns.row(Columns.json(report), Columns.storable(text), run, round))
                .update();
    }

    /** Stores the choice of a round, once; true when it was not made yet. */
    public boolean choose(String run, int round, String chosen) {
        return jdbc.sql("update round set chosen = ? where run_id = ? and round = ? and chosen is null")
                        .params(Columns.row(chosen, run, round))
                        .update()
                == 1;
    }

    public Optional<RoundRow> find(String run, int round) {
        return jdbc.sql("select * from round where run_id = ? and round = ?")
                .params(Columns.row(run, round))
                .query(RoundStore::row)
                .optional();
    }

    /** Rounds in order. */
    public List<RoundRow> all(String run) {
        return jdbc.sql("select * from round where run_id = ? order by round")
                .param(run)
                .query(RoundStore::row)
                .list();
    }

    private static RoundRow row(ResultSet row, int index) throws SQLException {
        String report = row.getString("report");
        return new RoundRow(
                row.getInt("round"),
                row.getString("parent"),
                report == null ? null : Json.mapper().readTree(report),
                row.getString("report_text"),
                row.getString("chosen"));
    }
}
