package org.harnesslearning.standalone;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A Postgres of its own on a loopback port; its rows outlive it. */
final class Database implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Database.class);
    private static final Duration START = Duration.ofSeconds(60);
    private static final long STOP_S = 15;

    private final EmbeddedPostgres server;

    private Database(EmbeddedPostgres server) {
        this.server = server;
    }

    /** Starts the server on the rows in a folder, which is made on first use; at any free port. */
    static Database start(Path folder) {
        return start(folder, 0);
    }

    /** Starts the server at a port, so that others can be told of it before it runs. */
    static Database start(Path folder, int port) {
        try {
            Files.createDirectories(folder);
            Path data = folder.resolve("data");
            stopOrphan(data);
            EmbeddedPostgres server = EmbeddedPostgres.builder()
                    .setOverrideWorkingDirectory(folder.resolve("server").toFile())
                    .setDataDirectory(data)
                    .setCleanDataDirectory(false)
                    .setRegisterShutdownHook(false)
                    .setPGStartupWait(START)
                    .setPort(port)
                    // The library's defaults are for tests: here the rows must survive a power cut.
                    .setServerConfig("fsync", "on")
                    .setServerConfig("max_connections", "400")
                    .setServerConfig("shared_buffers", "64MB")
                    .start();
            return new Database(server);
        } catch (IOException e) {
            throw new UncheckedIOException("Postgres does not start on " + folder, e);
        }
    }

    /** Ends the server that a killed JVM left behind: no second one can start on its folder. */
    private static void stopOrphan(Path data) throws IOException {
        Path file = data.resolve("postmaster.pid");
        if (!Files.exists(file)) {
            return;
        }
        List<String> lines = Files.readAllLines(file);
        long pid = Long.parseLong(lines.getFirst().strip());
        ProcessHandle process = ProcessHandle.of(pid).orElse(null);
        boolean ours = process != null
                && process.info().commandLine().or(() -> process.info().command()).stream()
                        .anyMatch(command -> command.contains("postgres"));
        if (process == null || !ours) {
            return;
        }
        LOG.info("stopping the Postgres server {} of an earlier run", pid);
        process.destroy();
        CompletableFuture<ProcessHandle> end = process.onExit();
        try {
            end.get(STOP_S, TimeUnit.SECONDS);
        } catch (TimeoutException e) {
            process.destroyForcibly();
            end.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        } catch (java.util.concurrent.ExecutionException e) {
            throw new IOException(e);
        }
    }

    String jdbcUrl() {
        return jdbcUrl(server.getPort());
    }

    /** Address of the server at a port. */
    static String jdbcUrl(int port) {
        return "jdbc:postgresql://localhost:" + port + "/postgres?user=postgres";
    }

    @Override
    public void close() {
        try {
            server.close();
        } catch (IOException e) {
            throw new UncheckedIOException("Postgres does not stop", e);
        }
    }
}
