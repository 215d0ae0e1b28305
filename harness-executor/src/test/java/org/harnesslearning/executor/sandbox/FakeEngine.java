package org.harnesslearning.executor.sandbox;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.URLDecoder;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.harnesslearning.contracts.json.Json;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * A Docker engine on loopback that is none: the few calls that the platform makes of one, containers that exist in memory
 * only, and faults that a real engine has at times and can't be made to have. What a container's runner says is scripted.
 */
final class FakeEngine implements AutoCloseable {
    /** The engine's calls. */
    enum Call {
        PING,
        INFO,
        IMAGE,
        CREATE,
        ATTACH,
        START,
        KILL,
        INSPECT,
        REMOVE,
        LIST
    }

    /** Release of the kernel that this engine says it runs on. */
    static final String KERNEL = "6.12.1-host";

    /** What goes wrong with a call. */
    enum Fault {
        /** Nothing is done, and no answer comes. */
        STALL,
        /** Nothing is done, and the connection is reset. */
        RESET,
        /** It is done, and the connection is reset before the answer. */
        LOSE_ANSWER,
        /** It is done, and the answer breaks off in its middle. */
        TRUNCATE,
        /** Nothing is done; status 500. */
        ERROR,
        /** Nothing is done; the engine's words when a removal hangs. */
        REMOVAL_IN_PROGRESS
    }

    /** What is process 1 of a container. */
    interface Runner {
        /** Reads and writes until its input ends; what it returns is the container's exit code. */
        int run(DataInputStream in, Output out) throws IOException;
    }

    /** A container's output streams. */
    static final class Output {
        private final OutputStream socket;

        private Output(OutputStream socket) {
            this.socket = socket;
        }

        /** Bytes on standard output (1) or standard error (2). */
        synchronized void write(int stream, byte[] bytes) throws IOException {
            socket.write(ByteBuffer.allocate(8 + bytes.length)
                    .put((byte) stream)
                    .put(new byte[3])
                    .putInt(bytes.length)
                    .put(bytes)
                    .array());
            socket.flush();
        }

        void frame(Map<String, ?> body) throws IOException {
            write(1, Frames.encode(body));
        }
    }

    private static final class Container {
        final String id;
        final String name;
        final JsonNode labels;
        final CountDownLatch started = new CountDownLatch(1);
        volatile @Nullable Socket stream;
        volatile boolean running;
        volatile int exitCode;

        Container(String id, String name, JsonNode labels) {
            this.id = id;
            this.name = name;
            this.labels = labels;
        }
    }

    /** Answers as the real runner does to a harness that always returns "fine". */
    static final Runner FINE = (in, out) -> {
        out.frame(Map.of("type", "ready"));
        while (true) {
            answer(read(in), out);
        }
    };

    /** Answers one frame as the real runner does to a harness that always returns "fine". */
    static void answer(JsonNode frame, Output out) throws IOException {
        switch (frame.path("type").asString()) {
            case "ping" ->
                out.frame(Map.of("type", "pong", "nonce", frame.path("nonce").asString()));
            case "program" -> out.frame(Map.of("type", "compiled"));
            case "check" -> out.frame(Map.of("type", "checked"));
            case "question" ->
                out.frame(Map.of(
                        "type", "final",
                        "nonce", frame.path("nonce").asString(),
                        "outcome", "completed",
                        "answer", "fine",
                        "clean", true,
                        "stdout", "",
                        "stderr", "",
                        "log", List.of(),
                        "python_runs", List.of()));
            default -> throw new IOException("unknown frame " + frame);
        }
    }

    private final Map<String, Container> containers = new ConcurrentHashMap<>();
    private final Map<Call, Fault> faults = new ConcurrentHashMap<>();
    private final Set<Call> calls = ConcurrentHashMap.newKeySet();
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private final AtomicInteger ids = new AtomicInteger();
    private final int port;
    private volatile ServerSocket server;
    private volatile Runner runner = FINE;

    FakeEngine() throws IOException {
        server = listen(0);
        port = server.getLocalPort();
        accept(server);
    }

    private static ServerSocket listen(int port) throws IOException {
        ServerSocket server = new ServerSocket();
        server.setReuseAddress(true);
        server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        return server;
    }

    private void accept(ServerSocket from) {
        Thread.ofVirtual().start(() -> {
            while (true) {
                try {
                    Socket socket = from.accept();
                    sockets.add(socket);
                    Thread.ofVirtual().start(() -> serve(socket));
                } catch (IOException e) {
                    return; // it vanished or was closed
                }
            }
        });
    }

    /** Address for the setting {@code executor.sandbox.docker-host}. */
    String host() {
        return "tcp://127.0.0.1:" + port;
    }

    void runner(Runner next) {
        runner = next;
    }

    /** From now on the call goes wrong. */
    void fault(Call call, Fault fault) {
        faults.put(call, fault);
    }

    /** From now on all calls go well. */
    void heal() {
        faults.clear();
    }

    /** Calls that came at least once. */
    Set<Call> asked() {
        return Set.copyOf(calls);
    }

    /** Names of the containers that exist. */
    List<String> left() {
        return containers.values().stream().map(container -> container.name).toList();
    }

    /** The engine's process ends: all connections are reset and new ones refused. Its containers end with it. */
    void vanish() throws IOException {
        server.close();
        sockets.forEach(FakeEngine::reset);
        containers.values().forEach(container -> {
            container.running = false;
            container.exitCode = 137;
        });
    }

    /** The engine's process starts again and still knows its containers. */
    void comeBack() throws IOException {
        server = listen(port);
        accept(server);
    }

    private static void reset(Socket socket) {
        try {
            socket.setSoLinger(true, 0);
            socket.close();
        } catch (IOException e) {
            // It is closed.
        }
    }

    /** One frame from the executor. */
    static JsonNode read(DataInputStream in) throws IOException {
        byte[] body = new byte[in.readInt()];
        in.readFully(body);
        return Json.mapper().readTree(body);
    }

    private void serve(Socket socket) {
        try (socket) {
            InputStream in = new BufferedInputStream(socket.getInputStream());
            while (true) {
                String request = line(in);
                if (request.isEmpty()) {
                    return;
                }
                int length = 0;
                boolean chunked = false;
                for (String header = line(in); !header.isEmpty(); header = line(in)) {
                    String lower = header.toLowerCase(Locale.ROOT);
                    if (lower.startsWith("content-length:")) {
                        length = Integer.parseInt(lower.substring(15).strip());
                    }
                    chunked |= lower.startsWith("transfer-encoding:") && lower.contains("chunked");
                }
                byte[] body = chunked ? chunks(in) : in.readNBytes(length);
                if (!answer(socket, in, request.split(" ")[0], request.split(" ")[1], body)) {
                    return;
                }
            }
        } catch (IOException e) {
            // The other side is gone, or this one vanished.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            sockets.remove(socket);
        }
    }

    private static String line(InputStream in) throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int b = in.read(); b != '\n' && b >= 0; b = in.read()) {
            if (b != '\r') {
                line.write(b);
            }
        }
        return line.toString(StandardCharsets.UTF_8);
    }

    private static byte[] chunks(InputStream in) throws IOException {
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        while (true) {
            int length = Integer.parseInt(line(in).strip(), 16);
            body.write(in.readNBytes(length));
            line(in);
            if (length == 0) {
                return body.toByteArray();
            }
        }
    }

    /** Answers one request; false when the connection ends with it. */
    private boolean answer(Socket socket, InputStream in, String method, String target, byte[] body)
            throws IOException, InterruptedException {
        URI uri = URI.create(target);
        String path = uri.getPath().replaceFirst("^/v[0-9.]+", "");
        String[] parts = path.split("/");
        Call call = call(method, path);
        calls.add(call);
        Fault fault = faults.get(call);
        if (fault != null) {
            switch (fault) {
                case STALL -> {
                    while (in.read() >= 0) {
                        // Until the other side gives up.
                    }
                    return false;
                }
                case RESET -> {
                    reset(socket);
                    return false;
                }
                case ERROR -> {
                    send(socket, 500, Map.of("message", "the engine is unwell"), null);
                    return true;
                }
                case REMOVAL_IN_PROGRESS -> {
                    String message = "removal of container " + parts[2] + " is already in progress";
                    send(socket, 409, Map.of("message", message), null);
                    return true;
                }
                case LOSE_ANSWER, TRUNCATE -> {}
            }
        }
        if (call == Call.ATTACH) {
            attach(socket, in, find(parts[2]), fault);
            return false;
        }
        Container found = parts.length > 2 && !call.equals(Call.CREATE) ? find(parts[2]) : null;
        if (found == null
                && Set.of(Call.START, Call.KILL, Call.INSPECT, Call.REMOVE).contains(call)) {
            send(socket, 404, Map.of("message", "No such container: " + parts[2]), fault);
            return true;
        }
        switch (call) {
            case PING -> send(socket, 200, Map.of(), fault);
            case INFO -> send(socket, 200, Map.of("NCPU", 2, "MemTotal", 8L << 30, "KernelVersion", KERNEL), fault);
            case IMAGE -> send(socket, 200, Map.of("Id", "sha256:0"), fault);
            case CREATE -> {
                String id = "%064x".formatted(ids.incrementAndGet());
                String name = URLDecoder.decode(uri.getRawQuery().replaceAll(".*name=", ""), StandardCharsets.UTF_8);
                containers.put(
                        id, new Container(id, name, Json.mapper().readTree(body).path("Labels")));
                send(socket, 201, Map.of("Id", id, "Warnings", List.of()), fault);
            }
            case START -> {
                found.running = true;
                found.started.countDown();
                send(socket, 204, null, fault);
            }
            case KILL -> {
                boolean ran = found.running;
                end(found, 137);
                if (ran) {
                    send(socket, 204, null, fault);
                } else {
                    send(socket, 409, Map.of("message", "Container " + found.id + " is not running"), fault);
                }
            }
            case INSPECT ->
                send(
                        socket,
                        200,
                        Map.of(
                                "Id",
                                found.id,
                                "State",
                                Map.of(
                                        "Running", found.running,
                                        "ExitCode", found.exitCode,
                                        "OOMKilled", false)),
                        fault);
            case REMOVE -> {
                end(found, 137);
                containers.remove(found.id);
                send(socket, 204, null, fault);
            }
            case LIST ->
                send(
                        socket,
                        200,
                        containers.values().stream()
                                .map(one -> Map.of(
                                        "Id",
                                        one.id,
                                        "Names",
                                        List.of("/" + one.name),
                                        "State",
                                        one.running ? "running" : "exited",
                                        "Created",
                                        0,
                                        "Labels",
                                        one.labels))
                                .toList(),
                        fault);
            case ATTACH -> throw new IllegalStateException("attached above");
        }
        return fault == null;
    }

    private static Call call(String method, String path) {
        if (path.equals("/_ping")) {
            return Call.PING;
        }
        if (path.equals("/info")) {
            return Call.INFO;
        }
        if (path.startsWith("/images/")) {
            return Call.IMAGE;
        }
        if (path.equals("/containers/create")) {
            return Call.CREATE;
        }
        if (path.equals("/containers/json")) {
            return Call.LIST;
        }
        if (method.equals("DELETE")) {
            return Call.REMOVE;
        }
        String last = path.substring(path.lastIndexOf('/') + 1);
        return last.equals("json") ? Call.INSPECT : Call.valueOf(last.toUpperCase(Locale.ROOT));
    }

    private @Nullable Container find(String idOrName) {
        return containers.values().stream()
                .filter(container -> container.id.equals(idOrName) || container.name.equals(idOrName))
                .findFirst()
                .orElse(null);
    }

    private static void end(Container container, int exitCode) {
        if (container.running) {
            container.running = false;
            container.exitCode = exitCode;
        }
        Socket stream = container.stream;
        if (stream != null) {
            try {
                stream.close();
            } catch (IOException e) {
                // It is closed.
            }
        }
    }

    private void attach(Socket socket, InputStream in, @Nullable Container container, @Nullable Fault fault)
            throws IOException, InterruptedException {
        if (container == null) {
            return;
        }
        container.stream = socket;
        OutputStream out = socket.getOutputStream();
        byte[] head = ("HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\n"
                        + "Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
                .getBytes(StandardCharsets.US_ASCII);
        if (fault != null) {
            if (fault == Fault.TRUNCATE) {
                out.write(head, 0, 20);
                out.flush();
            }
            reset(socket);
            return;
        }
        out.write(head);
        out.flush();
        container.started.await();
        int exitCode = 0;
        try {
            exitCode = runner.run(new DataInputStream(in), new Output(out));
        } catch (EOFException e) {
            // The end of its standard input: it ends well.
        } finally {
            end(container, exitCode);
        }
    }

    private static void send(Socket socket, int status, @Nullable Object body, @Nullable Fault fault)
            throws IOException {
        byte[] json = body == null ? new byte[0] : Json.mapper().writeValueAsBytes(body);
        String head = "HTTP/1.1 " + status + " X\r\nContent-Type: application/json\r\n"
                + (status == 204 ? "" : "Content-Length: " + json.length + "\r\n") + "\r\n";
        byte[] all = Arrays.copyOf(head.getBytes(StandardCharsets.US_ASCII), head.length() + json.length);
        System.arraycopy(json, 0, all, head.length(), json.length);
        OutputStream out = socket.getOutputStream();
        if (fault == null) {
            out.write(all);
            out.flush();
            return;
        }
        if (fault == Fault.TRUNCATE) {
            out.write(all, 0, json.length > 0 ? all.length - json.length / 2 : 6);
            out.flush();
            socket.close();
        } else {
            reset(socket);
        }
    }

    @Override
    public void close() {
        try {
            server.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        sockets.forEach(FakeEngine::reset);
    }
}
