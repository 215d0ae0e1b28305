package org.harnesslearning.compose;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.harnesslearning.testing.SharedData;
import org.jspecify.annotations.Nullable;

/**
 * The platform under a project name that nobody else has: images, secrets and settings as {@code ./harness up} makes
 * them. Everything that carries the name is gone after {@link #close()}.
 */
final class ComposeProject implements AutoCloseable {
    private static final Duration MINUTE = Duration.ofMinutes(1);
    private static final int SERVICE_USER = 10_001;

    private final String name;
    private final Path folder;
    private final URI gateway;
    private final Map<String, String> secrets = new TreeMap<>();
    private final List<String> compose;
    private @Nullable Connection database;

    private ComposeProject(Path folder) throws IOException {
        byte[] random = new byte[4];
        new SecureRandom().nextBytes(random);
        this.name = "harness-test-" + HexFormat.of().formatHex(random);
        this.folder = folder;
        int port;
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = socket.getLocalPort();
        }
        this.gateway = URI.create("http://127.0.0.1:" + port);
        Path environment = folder.resolve("compose.env");
        Files.write(environment, variables(port));
        List<String> command = new ArrayList<>(
                Shell.run(MINUTE, Map.of(), List.of("docker", "compose", "version"))
                                        .code()
                                == 0
                        ? List.of("docker", "compose")
                        : List.of("docker-compose"));
        command.addAll(List.of(
                "--project-name",
                name,
                "--file",
                SharedData.root().resolve("docker-compose.yml").toString(),
                "--env-file",
                environment.toString()));
        this.compose = List.copyOf(command);
    }

    /** Builds what is not built, and starts all services; returns when the gateway is ready. */
    static ComposeProject up(Path folder, Map<String, String> configuration, String... scale) throws IOException {
        Files.createDirectories(folder.resolve("config"));
        Files.createDirectories(folder.resolve("secrets"));
        for (Map.Entry<String, String> file : configuration.entrySet()) {
            Files.writeString(folder.resolve("config").resolve(file.getKey()), file.getValue());
        }
        // Temporary folders of tests are their owner's alone; the services read as a user of their own.
        Files.setPosixFilePermissions(folder.resolve("config"), PosixFilePermissions.fromString("rwxr-xr-x"));
        ComposeProject project = new ComposeProject(folder);
        try {
            List<String> arguments = new ArrayList<>(List.of("up", "--detach"));
            for (String service : scale) {
                arguments.addAll(List.of("--scale", service));
            }
            project.compose(Duration.ofMinutes(5), arguments.toArray(String[]::new));
            project.awaitHealthy(project.container("gateway"));
            return project;
        } catch (RuntimeException | Error e) {
            e.addSuppressed(new AssertionError(project.logs()));
            project.close();
            throw e;
        }
    }

    private List<String> variables(int port) throws IOException {
        boolean root = Integer.valueOf(0).equals(Files.getAttribute(folder, "unix:uid"));
        Object user = root ? SERVICE_USER : Files.getAttribute(folder, "unix:uid");
        Object group = root ? SERVICE_USER : Files.getAttribute(folder, "unix:gid");
        for (String secret : List.of("internal-secret", "database-password", "admin-key", "grafana-password")) {
            Path file = Files.createFile(
                    folder.resolve("secrets").resolve(secret),
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
            byte[] random = new byte[24];
            new SecureRandom().nextBytes(random);
            String value =
                    (secret.equals("admin-key") ? "hl_" : "") + HexFormat.of().formatHex(random);
            Files.writeString(file, value + "\n");
            Files.setAttribute(file, "unix:uid", user);
            secrets.put(secret, value);
        }
        Path socket = Path.of("/var/run/docker.sock");
        List<String> variables = new ArrayList<>(List.of(
                "HARNESS_OWNER=" + name,
                "HARNESS_UID=" + user,
                "HARNESS_GID=" + group,
                "HARNESS_DOCKER_GID=" + Files.getAttribute(socket, "unix:gid"),
                "HARNESS_SECRETS=" + folder.resolve("secrets"),
                "HARNESS_CONFIG=" + folder.resolve("config"),
                "HARNESS_MODELS=" + models(),
                "HARNESS_PORT=" + port,
                "HARNESS_SOLVER_CPUS=" + Runtime.getRuntime().availableProcessors(),
                "HARNESS_TRAINER_CPUS=" + Runtime.getRuntime().availableProcessors(),
                // Services that live for minutes start faster with the quick compiler alone.
                "HARNESS_JAVA_OPTIONS=-XX:TieredStopAtLevel=1"));
        for (String kind : List.of("sandbox", "gym")) {
            String image = Shell.output(
                    Duration.ofMinutes(15), Map.of(), List.of("bash", "harness-executor/" + kind + "-image/build.sh"));
            variables.add("HARNESS_IMAGE_" + kind.toUpperCase(java.util.Locale.ROOT) + "=" + image.strip());
        }
        variables.addAll(Shell.output(
                        Duration.ofMinutes(10),
                        Map.of("JAVA_HOME", System.getProperty("java.home")),
                        List.of("bash", "docker/images.sh"))
                .lines()
                .toList());
        return variables;
    }

    /** A folder with the one model that the test needs, since the solver reads the weights of all that it lists. */
    private Path models() throws IOException {
        Path file = SharedData.model("smollm2-135m");
        Path models = Files.createDirectories(folder.resolve("models"));
        Path copy = Files.createDirectories(models.resolve("smollm2-135m")).resolve("smollm2-135m.gguf");
        try {
            Files.createLink(copy, file);
        } catch (IOException | UnsupportedOperationException e) {
            Files.copy(file, copy);
        }
        Files.setPosixFilePermissions(models, PosixFilePermissions.fromString("rwxr-xr-x"));
        return models;
    }

    /** Name of the project, which is also the owner's label of its sandboxes. */
    String name() {
        return name;
    }

    /** Where the public API answers. */
    URI gateway() {
        return gateway;
    }

    /** A secret by the name of its file. */
    String secret(String file) {
        return java.util.Objects.requireNonNull(secrets.get(file));
    }

    /** All secrets. */
    List<String> secrets() {
        return List.copyOf(secrets.values());
    }

    /** Calls docker-compose for this project. */
    String compose(Duration most, String... arguments) {
        List<String> command = new ArrayList<>(compose);
        command.addAll(List.of(arguments));
        return Shell.output(most, Map.of(), command);
    }

    /** Calls docker. */
    String docker(String... arguments) {
        List<String> command = new ArrayList<>(List.of("docker"));
        command.addAll(List.of(arguments));
        return Shell.output(Duration.ofMinutes(2), Map.of(), command).strip();
    }

    /** All containers of a service, running or not. */
    List<String> containers(String service) {
        return docker(
                        "ps",
                        "--all",
                        "--quiet",
                        "--no-trunc",
                        "--filter",
                        "label=com.docker.compose.project=" + name,
                        "--filter",
                        "label=com.docker.compose.service=" + service)
                .lines()
                .toList();
    }

    /** The container of a service that has one. */
    String container(String service) {
        List<String> containers = containers(service);
        if (containers.size() != 1) {
            throw new AssertionError(service + " has " + containers.size() + " containers");
        }
        return containers.getFirst();
    }

    /** Kills a container as a crash would, and starts it again. */
    void killAndStart(String container) {
        docker("kill", container);
        docker("start", container);
    }

    /** Waits until the sandboxes that there are belong to so many executors at most: what a killed one left is gone. */
    void awaitSandboxesOf(int executors) {
        long end = System.nanoTime() + Duration.ofMinutes(3).toNanos();
        while (true) {
            String instances = docker(
                    "ps",
                    "--all",
                    "--filter",
                    "label=org.harnesslearning.owner=" + name,
                    "--format",
                    "{{.Label \"org.harnesslearning.instance\"}}");
            if (instances.lines().distinct().count() <= executors) {
                return;
            }
            if (System.nanoTime() > end) {
                throw new AssertionError("sandboxes of lost executors stay: " + instances);
            }
            pause();
        }
    }

    /** Waits until a container's own health check passes. */
    void awaitHealthy(String container) {
        long end = System.nanoTime() + Duration.ofMinutes(4).toNanos();
        while (!docker("inspect", "--format", "{{.State.Health.Status}}", container)
                .equals("healthy")) {
            if (System.nanoTime() > end) {
                throw new AssertionError(
                        "a container is not healthy in time:\n" + docker("logs", "--tail=50", container));
            }
            pause();
        }
    }

    /**
     * One value of one row. Read over the address that the database's container has on the internal network's bridge, which
     * this machine is part of and no other is.
     *
     * @throws SQLException while the database is away
     */
    synchronized String single(String sql) throws SQLException {
        if (database == null) {
            String address = docker(
                    "inspect",
                    "--format",
                    "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}",
                    container("postgres"));
            database = DriverManager.getConnection(
                    "jdbc:postgresql://" + address + ":5432/harness?connectTimeout=5&socketTimeout=20",
                    "harness",
                    secret("database-password"));
        }
        try (Statement statement = database.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            if (!rows.next()) {
                throw new AssertionError("no row: " + sql);
            }
            return rows.getString(1);
        } catch (SQLException e) {
            database.close();
            database = null;
            throw e;
        }
    }

    /** The answer to a GET that is made inside a container, head and body; the secret goes with it unless it is blank. */
    String fetch(String container, String host, int port, String path, String secret) {
        String header = secret.isBlank() ? "" : "X-Internal-Secret: " + secret + "\\r\\n";
        return docker(
                "exec",
                container,
                "bash",
                "-c",
                "exec 3<>/dev/tcp/" + host + "/" + port + " && printf 'GET " + path + " HTTP/1.0\\r\\nHost: " + host
                        + "\\r\\n" + header + "Connection: close\\r\\n\\r\\n' >&3 && timeout 30 cat <&3");
    }

    /** The latest lines of all services. */
    String logs() {
        List<String> command = new ArrayList<>(compose);
        command.addAll(List.of("logs", "--no-color", "--tail=60"));
        Shell.Ended ended = Shell.run(MINUTE, Map.of(), command);
        return ended.output() + ended.errors();
    }

    private static void pause() {
        try {
            Thread.sleep(100);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    /** Removes containers, sandboxes, networks and volumes of this project, whatever state they are in. */
    @Override
    public void close() {
        List<String> command = new ArrayList<>(compose);
        command.addAll(List.of("down", "--volumes", "--remove-orphans", "--timeout", "20"));
        Shell.Ended down = Shell.run(Duration.ofMinutes(3), Map.of(), command);
        List<String> left = docker("ps", "--all", "--quiet", "--filter", "label=org.harnesslearning.owner=" + name)
                .lines()
                .toList();
        for (String sandbox : left) {
            Shell.run(MINUTE, Map.of(), List.of("docker", "rm", "--force", "--volumes", sandbox));
        }
        if (down.code() != 0) {
            throw new AssertionError("docker-compose down failed:\n" + down.output() + down.errors());
        }
    }

    /** Reads a file of this test's sources. */
    static String recorded() {
        try {
            return Files.readString(
                    SharedData.root().resolve("standalone/src/test/resources/recorded/chain_sum-1.5b.jsonl"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
