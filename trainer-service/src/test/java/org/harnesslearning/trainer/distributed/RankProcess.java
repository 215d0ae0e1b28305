package org.harnesslearning.trainer.distributed;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.harnesslearning.testing.SharedData;

/** A rank as a process of its own, whose output is read line by line. */
final class RankProcess implements AutoCloseable {
    private final Process process;
    private final BufferedReader lines;
    private final StringBuilder output = new StringBuilder();

    private RankProcess(Process process) {
        this.process = process;
        this.lines = process.inputReader();
    }

    /** A port that was free a moment ago. */
    static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    static RankProcess start(Class<?> main, int rank, int size, int port, String... arguments) throws IOException {
        return startIn(SharedData.root(), main, rank, size, port, arguments);
    }

    static RankProcess startIn(Path directory, Class<?> main, int rank, int size, int port, String... arguments)
            throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Dlogging.level.root=WARN",
                "-cp",
                System.getProperty("java.class.path"),
                main.getName()));
        command.addAll(List.of(arguments));
        ProcessBuilder builder =
                new ProcessBuilder(command).directory(directory.toFile()).redirectErrorStream(true);
        builder.environment()
                .putAll(Map.of(
                        "RANK", Integer.toString(rank),
                        "WORLD_SIZE", Integer.toString(size),
                        "LOCAL_RANK", Integer.toString(rank),
                        "MASTER_ADDR", "127.0.0.1",
                        "MASTER_PORT", Integer.toString(port),
                        "OMP_NUM_THREADS", "1"));
        return new RankProcess(builder.start());
    }

    /** What follows a mark at the begin of a line; reads up to that line. */
    String await(String mark) throws IOException {
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            output.append(line).append('\n');
            if (line.startsWith(mark)) {
                return line.substring(mark.length()).strip();
            }
        }
        throw new AssertionError("the rank ended without '" + mark + "':\n" + output);
    }

    void send(String line) throws IOException {
        var input = process.outputWriter();
        input.write(line + "\n");
        input.flush();
    }

    void kill() {
        process.destroyForcibly().onExit().join();
    }

    int waitFor() throws InterruptedException {
        return process.waitFor();
    }

    @Override
    public void close() {
        kill();
    }
}
