package org.harnesslearning.testing;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.nio.file.Path;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/** A Postgres of a test's own that can go away and come back with its data, at the same port. */
public final class RestartablePostgres implements AutoCloseable {
    private final Path folder;
    private final int port;
    private @Nullable EmbeddedPostgres server;

    /**
     * Starts it.
     *
     * @param folder empty, for its data
     */
    public RestartablePostgres(Path folder) {
        this.folder = folder;
        try (ServerSocket free = new ServerSocket(0)) {
            this.port = free.getLocalPort();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        start();
    }

    /** Starts it again. */
    public void start() {
        try {
            server = EmbeddedPostgres.builder()
                    .setDataDirectory(folder)
                    .setCleanDataDirectory(false)
                    .setPort(port)
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException("embedded Postgres does not start", e);
        }
    }

    /** Stops it: open connections break off, new ones are refused. */
    public void stop() {
        EmbeddedPostgres running = server;
        server = null;
        if (running != null) {
            try {
                running.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /** JDBC URL, user {@code postgres} and no password included. */
    public String jdbcUrl() {
        return "jdbc:postgresql://localhost:" + port + "/postgres?user=postgres";
    }

    /** Its data source; one connection a call, not pooled. */
    public DataSource dataSource() {
        EmbeddedPostgres running = server;
        if (running == null) {
            throw new IllegalStateException("it is stopped");
        }
        return running.getPostgresDatabase();
    }

    @Override
    public void close() {
        stop();
    }
}
