package org.harnesslearning.store.model;

import java.io.ByteArrayOutputStream;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.harnesslearning.store.Columns;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.simple.JdbcClient;

/** Adapters by content. */
public class ModelVersionStore {
    private static final int PART = 4 << 20;
    private static final String COLUMNS = "id, base, base_hash, kind, parent, training_run, step, bytes, created_at";

    private final JdbcClient jdbc;

    public ModelVersionStore(JdbcClient jdbc) {
        this.jdbc = jdbc;
    }

    /** Stores a version with its files; false when it is there already. The caller holds the transaction. */
    public boolean insert(ModelVersionRow version, byte[] config, byte[] weights) {
        boolean added = jdbc.sql("""
                                insert into model_version (id, base, base_hash, kind, parent, training_run, step, config,
                                    bytes, created_at)
                                values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing""")
                        .params(Columns.row(
                                version.id(),
                                version.base(),
                                version.baseHash(),
                                version.kind(),
                                version.parent(),
                                version.trainingRun(),
                                version.step(),
                                config,
                                version.bytes(),
                                Columns.time(version.createdAt())))
                        .update()
                == 1;
        if (added) {
            for (int part = 0; (long) part * PART < weights.length; part++) {
                jdbc.sql("insert into model_version_part (version_id, part, content) values (?, ?, ?)")
                        .params(version.id(), part, Arrays.copyOfRange(weights, part * PART, (int)
                                Math.min(weights.length, (part + 1L) * PART)))
                        .update();
            }
        }
        return added;
    }

    public Optional<ModelVersionRow> find(String id) {
        return jdbc.sql("select " + COLUMNS + " from model_version where id = ?")
                .param(id)
                .query(ModelVersionStore::row)
                .optional();
    }

    /** Versions of a base model, newest first; of all where {@code base} is null. */
    public List<ModelVersionRow> newest(@Nullable String base, int limit) {
        return jdbc.sql("select " + COLUMNS + """
                         from model_version where (:base::text is null or base = :base)
                        order by created_at desc, id limit :limit""")
                .param("base", base)
                .param("limit", limit)
                .query(ModelVersionStore::row)
                .list();
    }

    /** Both files of an adapter. */
    public record Content(byte[] config, byte[] weights) {}

    /** The files of a version that is there. */
    public Content content(String id) {
        byte[] config = jdbc.sql("select config from model_version where id = ?")
                .param(id)
                .query(byte[].class)
                .single();
        ByteArrayOutputStream weights = new ByteArrayOutputStream();
        List<Integer> parts = jdbc.sql("select part from model_version_part where version_id = ? order by part")
                .param(id)
                .query(Integer.class)
                .list();
        for (int part : parts) {
            weights.writeBytes(jdbc.sql("select content from model_version_part where version_id = ? and part = ?")
                    .params(id, part)
                    .query(byte[].class)
                    .single());
        }
        return new Content(config, weights.toByteArray());
    }

    private static ModelVersionRow row(ResultSet row, int index) throws SQLException {
        return new ModelVersionRow(
                row.getString("id"),
                row.getString("base"),
                row.getString("base_hash"),
                row.getString("kind"),
                row.getString("parent"),
                row.getString("training_run"),
                row.getLong("step"),
                row.getLong("bytes"),
                Objects.requireNonNull(Columns.instant(row, "created_at")));
    }
}
