package org.harnesslearning.compose;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.testing.RequiresDocker;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * What an executor that was taken over could try at the socket which it has. The proxy runs as in docker-compose.yml, in
 * front of the real engine.
 */
@RequiresDocker
class EngineProxyTest {
    private static final String OWNER =
            "proxy-test-" + UUID.randomUUID().toString().substring(0, 8);

    @TempDir
    static Path folder;

    private static String image;

    /** An image that the operator named, by its id. */
    private static String own;

    private static String proxy;
    private static String foreign;

    @BeforeAll
    static void start() throws Exception {
        image = script("harness-executor/sandbox-image/build.sh");
        own = docker("image", "inspect", "--format={{.Id}}", image);
        String proxyImage = script("docker/images.sh", "engine-proxy");
        proxyImage = proxyImage.substring(proxyImage.indexOf('=') + 1);
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        Path sockets = Files.createDirectory(folder.resolve("sockets"));
        Object user = Files.getAttribute(folder, "unix:uid");
        Object group = Files.getAttribute(Path.of("/var/run/docker.sock"), "unix:gid");
        proxy = docker(
                "run",
                "--detach",
                "--network=none",
                "--read-only",
                "--cap-drop=ALL",
                "--security-opt=no-new-privileges:true",
                "--user=" + user + ":" + group,
                // As docker-compose.yml writes it: the platform's, none, and the operator's own.
                "--env=ENGINE_IMAGES=" + image + ",," + own,
                "--env=ENGINE_OWNER=" + OWNER,
                "--env=ENGINE_MAX_CONTAINERS=3",
                "--volume=/var/run/docker.sock:/var/run/docker.sock",
                "--volume=" + sockets + ":/run/engine",
                proxyImage);
        // Somebody else's container on the same engine.
        foreign = docker("create", "--network=none", "--label=org.harnesslearning.owner=somebody-else", image);
        long end = System.nanoTime() + Duration.ofSeconds(60).toNanos();
        while (!Files.exists(sockets.resolve("engine.sock"))) {
            assertThat(System.nanoTime()).as("the proxy listens in time").isLessThan(end);
            Thread.sleep(50);
        }
    }

    @AfterAll
    static void stop() {
        for (String container : new String[] {proxy, foreign}) {
            if (container != null) {
                docker("rm", "--force", "--volumes", container);
            }
        }
        docker("ps", "--all", "--quiet", "--filter", "label=org.harnesslearning.owner=" + OWNER)
                .lines()
                .forEach(left -> docker("rm", "--force", "--volumes", left));
    }

    @Test
    void a_sandbox_is_created_as_asked_and_removed_again() throws Exception {
        Answer created = create(sandbox());
        assertThat(created.status()).as(created.body()).isEqualTo(201);
        String id = Json.mapper().readTree(created.body()).get("Id").asString();

        Answer inspected = send("GET", "/v1.41/containers/" + id + "/json", "");
        JsonNode host = Json.mapper().readTree(inspected.body()).get("HostConfig");
        assertThat(host.get("NetworkMode").asString()).isEqualTo("none");
        assertThat(host.get("ReadonlyRootfs").asBoolean()).isTrue();
        assertThat(host.get("Memory").asLong()).isEqualTo(64L << 20);
        assertThat(host.get("MemorySwap").asLong()).isEqualTo(64L << 20);
        assertThat(host.get("PidsLimit").asLong()).isEqualTo(32);
        assertThat(send("POST", "/containers/" + id + "/start", "").status()).isEqualTo(204);
        assertThat(send("POST", "/containers/" + id + "/kill", "").status()).isEqualTo(204);
        assertThat(send("DELETE", "/containers/" + id + "?force=true&v=true", "")
                        .status())
                .isEqualTo(204);
        assertThat(send("GET", "/containers/" + id + "/json", "").status()).isEqualTo(404);
    }

    @Test
    void an_image_that_the_operator_named_passes_and_no_other() throws Exception {
        assertThat(send("GET", "/images/" + own + "/json", "").status()).isEqualTo(200);
        ObjectNode body = sandbox();
        Answer created = create(body.put("Image", own));
        assertThat(created.status()).as(created.body()).isEqualTo(201);
        docker("rm", "--force", Json.mapper().readTree(created.body()).get("Id").asString());
        assertThat(create(body.put("Image", own.substring(0, own.length() - 1))).status())
                .isEqualTo(403);
        assertThat(create(body.put("Image", "")).status()).isEqualTo(403);
    }

    @Test
    void a_limit_on_the_users_processes_passes_within_the_bounds() throws Exception {
        for (List<Long> limits : List.of(List.of(64L, 64L), List.of(1L, 1L))) {
            Answer created = create(limited(limits));
            assertThat(created.status()).as(created.body()).isEqualTo(201);
            String id = Json.mapper().readTree(created.body()).get("Id").asString();
            assertThat(docker("inspect", "--format", "{{json .HostConfig.Ulimits}}", id))
                    .contains("\"nproc\"");
            docker("rm", "--force", id);
        }
        for (List<Long> limits : List.of(List.of(64L, 65L), List.of(0L, 0L), List.of(-1L, -1L), List.of(513L, 513L))) {
            assertThat(create(limited(limits)).status()).as("%s", limits).isEqualTo(403);
        }
    }

    private static ObjectNode limited(List<Long> softAndHard) {
        ObjectNode body = sandbox();
        ((ArrayNode) body.at("/HostConfig/Ulimits"))
                .addObject()
                .put("Name", "nproc")
                .put("Soft", softAndHard.getFirst())
                .put("Hard", softAndHard.getLast());
        return body;
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "/HostConfig/Privileged | true",
                "/HostConfig/Binds | [\"/:/host\"]",
                "/HostConfig/Mounts | [{\"Type\":\"bind\",\"Source\":\"/\",\"Target\":\"/host\"}]",
                "/HostConfig/VolumesFrom | [\"other\"]",
                "/HostConfig/Devices | [{\"PathOnHost\":\"/dev/sda\",\"PathInContainer\":\"/dev/sda\"}]",
                "/HostConfig/DeviceCgroupRules | [\"a *:* rwm\"]",
                "/HostConfig/CapAdd | [\"SYS_ADMIN\"]",
                "/HostConfig/CapDrop | []",
                "/HostConfig/CapDrop | [\"NET_RAW\"]",
                "/HostConfig/SecurityOpt | [\"seccomp=unconfined\"]",
                "/HostConfig/SecurityOpt | [\"no-new-privileges:true\",\"apparmor=unconfined\"]",
                "/HostConfig/SecurityOpt | []",
                "/HostConfig/NetworkMode | \"host\"",
                "/HostConfig/NetworkMode | \"bridge\"",
                "/HostConfig/PidMode | \"host\"",
                "/HostConfig/IpcMode | \"host\"",
                "/HostConfig/UsernsMode | \"host\"",
                "/HostConfig/UTSMode | \"host\"",
                "/HostConfig/CgroupnsMode | \"host\"",
                "/HostConfig/CgroupParent | \"/\"",
                "/HostConfig/ReadonlyRootfs | false",
                "/HostConfig/ReadonlyRootfs | 1",
                "/HostConfig/MaskedPaths | [\"/nothing\"]",
                "/HostConfig/Runtime | \"other\"",
                "/HostConfig/Sysctls | {\"kernel.shmmax\":\"1\"}",
                "/HostConfig/RestartPolicy | {\"Name\":\"always\"}",
                "/HostConfig/LogConfig | {\"Type\":\"syslog\",\"Config\":{\"syslog-address\":\"tcp://10.0.0.1\"}}",
                "/HostConfig/Memory | 0",
                "/HostConfig/Memory | 1099511627776",
                "/HostConfig/MemorySwap | -1",
                "/HostConfig/PidsLimit | -1",
                "/HostConfig/NanoCpus | 0",
                "/HostConfig/Ulimits | []",
                "/HostConfig/Tmpfs | {\"/tmp\":\"rw,exec,size=16m\"}",
                "/HostConfig/Tmpfs | {\"/tmp\":\"rw,noexec,nosuid,nodev,size=16m,nr_inodes=1024,uid=65534,gid=65534,mode=0700\",\"/opt\":\"rw\"}",
                "/HostConfig/privileged | true",
                "/HostConfig/PRIVILEGED | true",
                "/hostconfig | {\"Privileged\":true}",
                "/User | \"0:0\"",
                "/Image | \"debian:bookworm-slim\"",
                "/Entrypoint | [\"/bin/sh\"]",
                "/Cmd | [\"sh\"]",
                "/Volumes | {\"/data\":{}}",
                "/NetworkDisabled | false",
                "/NetworkingConfig | {\"EndpointsConfig\":{\"bridge\":{}}}",
                "/Labels | {\"org.harnesslearning.owner\":\"somebody-else\"}",
                "/Labels | {}",
                "/Healthcheck | {\"Test\":[\"CMD\",\"sh\"]}",
                "/Env | [\"a b=c\"]",
            })
    void a_container_that_is_no_sandbox_is_refused(String pointer, String value) throws Exception {
        ObjectNode body = sandbox();
        String parent = pointer.substring(0, pointer.lastIndexOf('/'));
        ObjectNode target = parent.isEmpty() ? body : (ObjectNode) body.at(parent);
        target.set(
                pointer.substring(pointer.lastIndexOf('/') + 1), Json.mapper().readTree(value));

        Answer answer = create(body);

        assertThat(answer.status()).as(answer.body()).isEqualTo(403);
        assertThat(mine()).isEmpty();
    }

    @Test
    void a_key_that_stands_twice_is_refused() throws Exception {
        String body = sandbox().toString();
        String twice = body.substring(0, body.length() - 1) + ",\"HostConfig\":{\"Privileged\":true}}";

        assertThat(send("POST", "/containers/create?name=harness-" + UUID.randomUUID(), twice)
                        .status())
                .isEqualTo(403);
        assertThat(mine()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "POST /containers/ID/exec",
                "GET /containers/ID/archive?path=/",
                "PUT /containers/ID/archive?path=/",
                "GET /containers/ID/export",
                "GET /containers/ID/logs?stdout=1",
                "POST /containers/ID/update",
                "POST /containers/ID/rename?name=x",
                "POST /containers/ID/kill?signal=STOP",
                "POST /containers/prune",
                "POST /images/create?fromImage=debian",
                "POST /images/load",
                "DELETE /images/debian",
                "POST /build",
                "POST /commit?container=ID",
                "POST /volumes/create",
                "GET /volumes",
                "POST /networks/create",
                "GET /networks",
                "GET /events",
                "GET /system/df",
                "POST /swarm/init",
                "GET /secrets",
                "POST /plugins/pull?remote=x",
                "POST /session",
                "GET /containers/ID/json/../../../images/json",
                "GET /v1.41/../info",
                "PATCH /containers/ID/start",
                "GET /containers/create",
            })
    void every_other_call_is_refused(String call) throws Exception {
        String[] parts = call.split(" ");
        Answer answer = send(parts[0], parts[1].replace("ID", foreign), "");

        assertThat(answer.status()).as(answer.body()).isBetween(400, 404);
        assertThat(answer.body()).doesNotContain("RepoTags", "Mountpoint");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "POST /containers/ID/start",
                "POST /containers/ID/kill",
                "POST /containers/ID/attach?stdin=1",
                "GET /containers/ID/json",
                "DELETE /containers/ID?force=1"
            })
    void somebody_elses_container_does_not_exist(String call) throws Exception {
        String[] parts = call.split(" ");
        Answer answer = send(parts[0], parts[1].replace("ID", foreign), "");

        assertThat(answer.status()).as(answer.body()).isEqualTo(404);
        assertThat(docker("inspect", "--format", "{{.State.Status}}", foreign)).isEqualTo("created");
    }

    @Test
    void lists_hold_only_the_installations_own_containers_and_the_host_tells_its_size_only() throws Exception {
        Answer created = create(sandbox());
        assertThat(created.status()).as(created.body()).isEqualTo(201);
        try {
            assertThat(mine()).hasSize(1);
            Answer info = send("GET", "/info", "");
            assertThat(Json.mapper().readTree(info.body()).propertyNames())
                    .containsExactlyInAnyOrder("NCPU", "MemTotal", "KernelVersion");
            assertThat(send("GET", "/images/" + image + "/json", "").status()).isEqualTo(200);
            assertThat(send("GET", "/images/debian:bookworm-slim/json", "").status())
                    .isEqualTo(404);
        } finally {
            docker(
                    "rm",
                    "--force",
                    Json.mapper().readTree(created.body()).get("Id").asString());
        }
    }

    @Test
    void containers_beyond_the_number_are_refused_until_others_are_gone() throws Exception {
        for (int i = 0; i < 3; i++) {
            assertThat(create(sandbox()).status()).isEqualTo(201);
        }
        assertThat(create(sandbox()).status()).isEqualTo(503);
        for (JsonNode container : mine()) {
            assertThat(send("DELETE", "/containers/" + container.get("Id").asString(), "")
                            .status())
                    .isEqualTo(204);
        }
        assertThat(mine()).isEmpty();
    }

    @Test
    void a_second_request_behind_the_first_is_never_read() throws Exception {
        String smuggled = "POST /build HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
        String both = "GET /_ping HTTP/1.1\r\nHost: x\r\n\r\n" + smuggled;
        Answer answer = raw(both);
        assertThat(answer.status()).isEqualTo(200);
        assertThat(answer.body()).doesNotContain("HTTP/1.1");

        Answer ambiguous = raw("POST /containers/create HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled);
        assertThat(ambiguous.status()).isEqualTo(400);
    }

    /** What the executor sends for a sandbox. */
    private static ObjectNode sandbox() {
        ObjectNode body = Json.mapper().createObjectNode();
        body.put("Image", image);
        body.put("User", "65534:65534");
        body.put("Hostname", "sandbox");
        body.put("NetworkDisabled", true);
        body.put("StopTimeout", 1);
        for (String flag : List.of("AttachStdin", "AttachStdout", "AttachStderr", "OpenStdin", "StdinOnce")) {
            body.put(flag, true);
        }
        body.putArray("Env");
        body.putObject("Labels").put("org.harnesslearning.owner", OWNER).put("org.harnesslearning.job", "test");
        ObjectNode host = body.putObject("HostConfig");
        host.put("NetworkMode", "none");
        host.put("IpcMode", "none");
        host.put("ReadonlyRootfs", true);
        host.putArray("CapDrop").add("ALL");
        host.putArray("SecurityOpt").add("no-new-privileges:true");
        host.put("PidsLimit", 32);
        host.put("Memory", 64L << 20);
        host.put("MemorySwap", 64L << 20);
        host.put("NanoCpus", 1_000_000_000L);
        ArrayNode limits = host.putArray("Ulimits");
        Map.of("nofile", 256L, "core", 0L, "fsize", 64L << 20).entrySet().stream()
                .sorted(java.util.Comparator.comparing(
                        limit -> List.of("nofile", "core", "fsize").indexOf(limit.getKey())))
                .forEach(limit -> limits.addObject()
                        .put("Name", limit.getKey())
                        .put("Soft", limit.getValue())
                        .put("Hard", limit.getValue()));
        host.putObject("Tmpfs")
                .put("/tmp", "rw,noexec,nosuid,nodev,size=16m,nr_inodes=1024,uid=65534,gid=65534,mode=0700");
        host.putObject("LogConfig").put("Type", "none");
        return body;
    }

    private record Answer(int status, String body) {}

    private static Answer create(ObjectNode body) throws IOException {
        return send("POST", "/containers/create?name=harness-" + UUID.randomUUID(), body.toString());
    }

    private static List<JsonNode> mine() throws IOException {
        Answer answer = send("GET", "/containers/json?filters=%7B%7D", "");
        assertThat(answer.status()).isEqualTo(200);
        return Json.mapper().readTree(answer.body()).valueStream().toList();
    }

    private static Answer send(String method, String target, String body) throws IOException {
        int length = body.getBytes(StandardCharsets.UTF_8).length;
        return raw(method + " " + target + " HTTP/1.1\r\nHost: docker\r\nContent-Type: application/json\r\n"
                + "Content-Length: " + length + "\r\n\r\n" + body);
    }

    /** Sends bytes and reads until the proxy closes the connection. */
    private static Answer raw(String request) throws IOException {
        try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
            channel.connect(UnixDomainSocketAddress.of(folder.resolve("sockets/engine.sock")));
            channel.write(ByteBuffer.wrap(request.getBytes(StandardCharsets.UTF_8)));
            String answer = new String(Channels.newInputStream(channel).readAllBytes(), StandardCharsets.UTF_8);
            assertThat(answer).startsWith("HTTP/1.1 ");
            int head = answer.indexOf("\r\n\r\n");
            String body = answer.substring(head + 4);
            boolean chunked = answer.substring(0, head).contains("Transfer-Encoding: chunked");
            return new Answer(Integer.parseInt(answer.substring(9, 12)), chunked ? joined(body) : body);
        }
    }

    /** The text of an ASCII body in chunks. */
    private static String joined(String chunks) {
        StringBuilder text = new StringBuilder();
        for (int at = 0; ; ) {
            int end = chunks.indexOf("\r\n", at);
            int size = Integer.parseInt(chunks.substring(at, end), 16);
            if (size == 0) {
                return text.toString();
            }
            text.append(chunks, end + 2, end + 2 + size);
            at = end + 2 + size + 2;
        }
    }

    private static String docker(String... arguments) {
        return Shell.output(
                        Duration.ofMinutes(2),
                        Map.of(),
                        java.util.stream.Stream.concat(
                                        java.util.stream.Stream.of("docker"), List.of(arguments).stream())
                                .toList())
                .strip();
    }

    private static String script(String... command) {
        return Shell.output(
                        Duration.ofMinutes(15),
                        Map.of("JAVA_HOME", System.getProperty("java.home")),
                        java.util.stream.Stream.concat(java.util.stream.Stream.of("bash"), List.of(command).stream())
                                .toList())
                .strip();
    }
}
