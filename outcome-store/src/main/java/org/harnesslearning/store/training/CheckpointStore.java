package org.harnesslearning.store.training;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Clock;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.store.Columns;
import org.springframework.jdbc.core.simple.JdbcClient;

/**
 * Checkpoints of training runs: the files of a folder, cut into parts. Callers of {@link #save} hold a transaction, so a
 * checkpoint is there with all its parts or not at all; what is read is compared with the hashes of when it was written.
 */
public class CheckpointStore {
    private static final int PART = 4 << 20;

    private final JdbcClient jdbc;
    private final Clock clock;

    public CheckpointStore(JdbcClient jdbc, Clock clock) {
        this.jdbc = jdbc;
        this.clock = clock;
    }

    /** A file of a checkpoint; the name is its path within the folder, with slashes. */
    public record StoredFile(String name, long bytes, String hash) {}

    /** A stored checkpoint. */
    public record Checkpoint(long step, long activeMs, List<StoredFile> files, Instant createdAt) {
        public Checkpoint {
            files = List.copyOf(files);
        }

        /** Size of all files. */
        public long bytes() {
            return files.stream().mapToLong(StoredFile::bytes).sum();
        }
    }

    /** A checkpoint whose stored bytes are not those that were written. */
    public static final class BrokenCheckpointException extends Exception {
        private static final long serialVersionUID = 1L;

        BrokenCheckpointException(String message) {
            super(message);
        }
    }

    /**
     * Stores a folder as the checkpoint of a step, in place of an earlier one of the same step.
     *
     * @throws UncheckedIOException when the folder can't be read
     */
    public void save(String run, long step, long activeMs, Path folder) {
        try (Stream<Path> walk = Files.walk(folder)) {
            List<Path> paths = walk.filter(Files::isRegularFile).sorted().toList();
            List<StoredFile> files = new ArrayList<>();
            for (Path path : paths) {
                files.add(new StoredFile(name(folder, path), Files.size(path), hash(path)));
            }
            jdbc.sql("delete from training_checkpoint where run_id = ? and step = ?")
                    .params(run, step)
                    .update();
            jdbc.sql("""
                            insert into training_checkpoint (run_id, step, active_ms, files, created_at)
                            values (?, ?, ?, ?::jsonb, ?)""")
                    .params(Columns.row(run, step, activeMs, Columns.json(files), Columns.time(clock.instant())))
                    .update();
            for (Path path : paths) {
                parts(run, step, name(folder, path), path);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void parts(String run, long step, String name, Path path) throws IOException {
        try (InputStream in = Files.newInputStream(path)) {
            for (int part = 0; ; part++) {
                byte[] content = in.readNBytes(PART);
                if (content.length == 0) {
                    return;
                }
                jdbc.sql("""
                                insert into training_checkpoint_part (run_id, step, file, part, content)
                                values (?, ?, ?, ?, ?)""").params(run, step, name, part, content).update();
            }
        }
    }

    /**
     * Notes how long the run had worked when it was left at a checkpoint.
     *
     * @param activeMs milliseconds, from its start on
     */
    public void active(String run, long step, long activeMs) {
        jdbc.sql("update training_checkpoint set active_ms = ? where run_id = ? and step = ?")
                .params(activeMs, run, step)
                .update();
    }

    /** A run's checkpoints, newest first. */
    public List<Checkpoint> all(String run) {
        return jdbc.sql("select * from training_checkpoint where run_id = ? order by step desc")
                .param(run)
                .query((row, index) -> new Checkpoint(
                        row.getLong("step"),
                        row.getLong("active_ms"),
                        Arrays.asList(Json.read(row.getString("files"), StoredFile[].class)),
                        Objects.requireNonNull(Columns.instant(row, "created_at"))))
                .list();
    }

    /**
     * Writes a checkpoint's files into a folder.
     *
     * @param folder empty
     * @throws BrokenCheckpointException when a part is missing or a hash differs
     * @throws UncheckedIOException when the folder can't be written
     */
    public void read(String run, Checkpoint checkpoint, Path folder) throws BrokenCheckpointException {
        for (StoredFile file : checkpoint.files()) {
            try {
                Path path = folder.resolve(file.name()).normalize();
                if (!path.startsWith(folder)) {
                    throw new BrokenCheckpointException("the file " + file.name() + " leads out of its folder");
                }
                Files.createDirectories(Objects.requireNonNull(path.getParent()));
                try (OutputStream out = Files.newOutputStream(path)) {
                    List<Integer> parts = jdbc.sql("""
                                    select part from training_checkpoint_part
                                    where run_id = ? and step = ? and file = ? order by part""")
                            .params(run, checkpoint.step(), file.name())
                            .query(Integer.class)
                            .list();
                    for (int part : parts) {
                        out.write(jdbc.sql("""
                                        select content from training_checkpoint_part
                                        where run_id = ? and step = ? and file = ? and part = ?""")
                                .params(run, checkpoint.step(), file.name(), part)
                                .query(byte[].class)
                                .single());
                    }
                }
                if (Files.size(path) != file.bytes() || !hash(path).equals(file.hash())) {
                    throw new BrokenCheckpointException("the file " + file.name() + " of the checkpoint of step "
                            + checkpoint.step() + " has other bytes than were written");
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /** Keeps the newest checkpoints only. */
    public void prune(String run, int keep) {
        jdbc.sql("""
                        delete from training_checkpoint where run_id = :run and step not in
                            (select step from training_checkpoint where run_id = :run order by step desc limit :keep)""").param("run", run).param("keep", keep).update();
    }

    /** Forgets all checkpoints above a step: they are of steps that will be done again. */
    public void rewind(String run, long step) {
        jdbc.sql("delete from training_checkpoint where run_id = ? and step > ?")
                .params(run, step)
                .update();
    }

    private static String name(Path folder, Path path) {
        return folder.relativize(path).toString().replace('\\', '/');
    }

    private static String hash(Path path) throws IOException {
        try (InputStream in = Files.newInputStream(path)) {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            byte[] buffer = new byte[1 << 16];
            for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
                digest.update(buffer, 0, read);
            }
            return "sha256:" + HexFormat.of().formatHex(digest.digest());
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("SHA-256 is part of every Java platform", e);
        }
    }
}
