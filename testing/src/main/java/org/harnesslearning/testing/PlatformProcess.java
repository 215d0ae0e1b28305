package org.harnesslearning.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** The whole platform as a process of its own, on the class path of the test, with its data in a folder of the test. */
public final class PlatformProcess implements AutoCloseable {
    private static final String MAIN = "org.harnesslearning.standalone.StandaloneApplication";
    /** Short-lived processes on a shared machine: quick to start, few threads. */
    private static final List<String> LIGHT = List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC");

    private static final Duration END = Duration.ofSeconds(60);

    private final Process process;
    private final Path data;
    private final PlatformApi api;

    private PlatformProcess(Process process, Path data, PlatformApi api) {
        this.process = process;
        this.data = data;
        this.api = api;
    }

    /** Starts it and waits until it is ready. */
    public static PlatformProcess start(Path data, List<String> properties) throws IOException {
        return start(data, LIGHT, properties);
    }

    /**
     * Starts it and waits until it is ready.
     *
     * @param machine options of the Java virtual machine
     * @param properties each {@code name=value}
     */
    public static PlatformProcess start(Path data, List<String> machine, List<String> properties) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.add("--enable-native-access=ALL-UNNAMED");
        command.addAll(machine);
        command.addAll(List.of("-cp", classPath(), MAIN));
        command.addAll(List.of("--data", data.toString(), "--port", "0"));
        properties.forEach(property -> command.addAll(List.of("--set", property)));
        Process process = new ProcessBuilder(command)
                .directory(SharedData.root().toFile())
                .redirectErrorStream(true)
                .start();
        StringBuilder output = new StringBuilder();
        BufferedReader lines = process.inputReader();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            output.append(line).append('\n');
            if (line.startsWith("[standalone] ready")) {
                // What it prints later must not fill the pipe.
                Thread.ofVirtual().start(() -> drain(lines));
                String key = Files.readString(data.resolve("admin-key")).strip();
                return new PlatformProcess(
                        process, data, new PlatformApi(line.substring(line.indexOf("http://")), key));
            }
        }
        throw new AssertionError("the platform did not start:\n" + output);
    }

    /** The test's, with the classes of standalone and not its jar, which names all libraries a second time. */
    private static String classPath() {
        return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .map(Path::of)
                .map(entry -> entry.endsWith("standalone.jar") ? entry.resolveSibling("classes") : entry)
                .map(Path::toString)
                .collect(Collectors.joining(File.pathSeparator));
    }

    private static void drain(BufferedReader lines) {
        try {
            while (lines.readLine() != null) {
                // Kept in the log of its data folder.
            }
        } catch (IOException e) {
            // The process has ended.
        }
    }

    /** Its API, with the first key, of scope {@code admin}. */
    public PlatformApi api() {
        return api;
    }

    /** Its data folder. */
    public Path data() {
        return data;
    }

    /** What the system knows about the process. */
    public ProcessHandle handle() {
        return process.toHandle();
    }

    /** Ends it as {@code kill -9} does. */
    public void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    /** A connection to its own Postgres, whose port stands in the pid file. */
    public Connection connect() throws IOException, SQLException {
        String port = Files.readAllLines(data.resolve("postgres/data/postmaster.pid"))
                .get(3)
                .strip();
        return DriverManager.getConnection("jdbc:postgresql://127.0.0.1:" + port + "/postgres", "postgres", "");
    }

    /** The first column of the one row that a query with texts as parameters finds. */
    public String single(String sql, String... parameters) throws IOException, SQLException {
        try (Connection connection = connect();
                PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int i = 0; i < parameters.length; i++) {
                statement.setString(i + 1, parameters[i]);
            }
            try (ResultSet rows = statement.executeQuery()) {
                assertThat(rows.next()).as(sql).isTrue();
                return rows.getString(1);
            }
        }
    }

    /** Looks again and again until something holds, as long as the process lives and the time is not over. */
    public void await(String what, Duration patience, Callable<Boolean> holds) throws Exception {
        long end = System.nanoTime() + patience.toNanos();
        while (!holds.call()) {
            assertThat(process.isAlive())
                    .as("the platform runs while waiting until %s", what)
                    .isTrue();
            assertThat(System.nanoTime()).as("not reached in time: %s", what).isLessThan(end);
            Thread.sleep(20);
        }
    }

    /** Stops it in order, or by force when it takes too long. */
    @Override
    public void close() {
        process.destroy();
        try {
            if (!process.waitFor(END.toSeconds(), TimeUnit.SECONDS)) {
                kill();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
