package org.harnesslearning.executor.sandbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.github.dockerjava.api.exception.NotFoundException;
import com.github.dockerjava.api.model.Container;
import io.micrometer.observation.ObservationRegistry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.execution.CheckRequest;
import org.harnesslearning.contracts.execution.Limits;
import org.harnesslearning.contracts.execution.SandboxImage;
import org.harnesslearning.contracts.execution.SandboxKit;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.executor.TestSandboxes;
import org.harnesslearning.executor.check.HarnessChecker;
import org.harnesslearning.testing.RequiresDocker;
import org.harnesslearning.testing.SharedData;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Images of the operator's, built as teams build theirs. */
@RequiresDocker
class OwnImagesTests {
    private static final Limits LIMITS = new Limits(3, 10, 128);
    private static final String USES_PACKAGE = """
            from money import euros

            def run(question, env):
                inside = env.python("import money; print(money.euros(5))").stdout.strip()
                return euros(int(question)) + " " + inside
            """;

    @TempDir
    static Path folder;

    private static TestSandboxes docker;
    private static SandboxKit money;

    @BeforeAll
    static void build() throws Exception {
        docker = new TestSandboxes(Map.of("executor.pool.memory-mib", 128, "executor.pool.inspection", "100ms"));
        money = kit(derive(SharedData.root().resolve("examples/tool-agent/image"), "money"));
    }

    @AfterAll
    static void stop() {
        docker.close();
        assertThat(docker.containers()).isEmpty();
        for (String made : List.of("mute", "old")) {
            try {
                TestSandboxes.client()
                        .removeImageCmd("harness-own-image-test:" + made)
                        .exec();
            } catch (NotFoundException e) {
                // Its test did not get so far.
            }
        }
    }

    private static SandboxKit kit(String reference) {
        return new SandboxKit(new SandboxImage("own", reference, ""), List.of());
    }

    private record Built(int code, String output, String errors) {}

    private static Built script(Path source, String name) throws Exception {
        Path errors = Files.createTempFile(folder, "derive", ".err");
        ProcessBuilder builder = new ProcessBuilder(
                        "bash",
                        TestSandboxes.IMAGE_BUILD.resolveSibling("derive.sh").toString(),
                        source.toString(),
                        name)
                .redirectError(errors.toFile());
        builder.environment().put("HARNESS_BUILD_NETWORK", "none");
        builder.environment().put("HARNESS_IMAGE_SANDBOX", docker.image());
        Process process = builder.start();
        String output = new String(process.getInputStream().readAllBytes()).strip();
        return new Built(process.waitFor(), output, Files.readString(errors));
    }

    private static String derive(Path source, String name) throws Exception {
        Built built = script(source, name);
        assertThat(built.code()).as(built.errors()).isZero();
        return built.output();
    }

    private static Path dockerfile(String name, String text) throws Exception {
        Path made = Files.createDirectory(folder.resolve(name));
        Files.writeString(made.resolve("Dockerfile"), text);
        return made;
    }

    /** An image that no script looked at. */
    private static String image(String name, String dockerfile) throws Exception {
        String tag = "harness-own-image-test:" + name;
        Process process = new ProcessBuilder(
                        "docker",
                        "build",
                        "--network",
                        "none",
                        "--build-arg",
                        "SANDBOX=" + docker.image(),
                        "--tag",
                        tag,
                        dockerfile(name, dockerfile).toString())
                .redirectErrorStream(true)
                .start();
        String output = new String(process.getInputStream().readAllBytes());
        assertThat(process.waitFor()).as(output).isZero();
        return tag;
    }

    private static SandboxResult ask(SandboxKit kit, String source, String question) throws InterruptedException {
        try (HarnessSandbox sandbox = docker.sandboxes().open("job", source, LIMITS, kit)) {
            return sandbox.ask(question, request -> new Broker.Answer.Reply("reply"));
        }
    }

    private static String answer(SandboxKit kit, String source, String question) throws InterruptedException {
        SandboxResult result = ask(kit, source, question);
        assertThat(result).isInstanceOf(SandboxResult.Completed.class);
        return ((SandboxResult.Completed) result).answer();
    }

    @Test
    void a_harness_imports_what_its_image_adds_and_only_there() throws Exception {
        assertThat(answer(money, USES_PACKAGE, "1990")).isEqualTo("19.90 0.05");
        HarnessChecker checker = new HarnessChecker(docker.sandboxes(), ObservationRegistry.NOOP);
        assertThat(checker.check(new CheckRequest(USES_PACKAGE.replace("int(question)", "7"), LIMITS, money))
                        .code())
                .isNull();
        assertThat(checker.check(new CheckRequest(USES_PACKAGE, LIMITS)).code()).isEqualTo(OutcomeCode.IMPORT_ERROR);
        assertThat(ask(SandboxKit.NONE, USES_PACKAGE, "1990"))
                .isInstanceOfSatisfying(
                        SandboxResult.Crashed.class,
                        crashed -> assertThat(crashed.error())
                                .satisfies(error -> assertThat(error.message()).contains("money")));
    }

    @Test
    void a_container_of_such_an_image_is_as_hard_as_every_other() throws Exception {
        String source = """
                import os, socket

                def run(question, env):
                    found = []
                    for path in ("/opt/packages/x", "/opt/harness/x", "/x"):
                        try:
                            open(path, "w")
                            found.append(path)
                        except OSError:
                            pass
                    try:
                        socket.create_connection(("192.0.2.1", 80), 1)
                        found.append("network")
                    except OSError:
                        pass
                    status = open("/proc/self/status").read()
                    return f"{found} {os.listdir('/sys/class/net')} {os.getuid()} {status.split('CapEff:')[1][:17].strip()}"
                """;
        assertThat(answer(money, source, "q")).isEqualTo("[] ['lo'] 65534 0000000000000000");
    }

    @Test
    void an_image_that_is_not_there_is_named_with_what_to_do() {
        assertThatThrownBy(() -> docker.sandboxes().open("job", USES_PACKAGE, LIMITS, kit("harness-none:1")))
                .isInstanceOf(SandboxFaultException.class)
                .hasMessageContaining("harness-none:1")
                .hasMessageContaining("derive.sh");
    }

    @Test
    void an_image_without_the_runner_is_refused_and_says_so() throws Exception {
        String mute = image("mute", "ARG SANDBOX\nFROM ${SANDBOX}\nENTRYPOINT [\"python3\", \"-c\", \"print(1)\"]\n");
        HarnessChecker checker = new HarnessChecker(docker.sandboxes(), ObservationRegistry.NOOP);
        assertThatThrownBy(() -> checker.check(new CheckRequest(USES_PACKAGE, LIMITS, kit(mute))))
                .isInstanceOfSatisfying(PlatformException.class, e -> {
                    assertThat(e.code()).isEqualTo(ErrorCode.SANDBOX_UNAVAILABLE);
                    assertThat(e)
                            .hasMessageContaining("harness-own-image-test:mute")
                            .hasMessageContaining("can't be used");
                });
    }

    @Test
    void an_image_with_a_runner_of_another_version_is_refused() throws Exception {
        String old = image(
                "old",
                "ARG SANDBOX\nFROM ${SANDBOX}\nUSER 0\n"
                        + "RUN sed -i 's/^PROTOCOL = .*/PROTOCOL = 1/' /opt/harness/runner.py"
                        + " && rm -r /opt/harness/__pycache__\nUSER 65534:65534\n");
        assertThatThrownBy(() -> docker.sandboxes().open("job", USES_PACKAGE, LIMITS, kit(old)))
                .isInstanceOf(SandboxFaultException.class)
                .hasMessageContaining("version 1 of the protocol, and this executor version 3");
    }

    @Test
    void the_recipe_refuses_a_changed_entry_point_and_gives_equal_content_one_name() throws Exception {
        Built refused =
                script(dockerfile("other-start", "ARG SANDBOX\nFROM ${SANDBOX}\nENTRYPOINT [\"sh\"]\n"), "other-start");
        assertThat(refused.code()).isEqualTo(1);
        assertThat(refused.errors()).contains("has to start with the runner");
        Path image = SharedData.root().resolve("examples/tool-agent/image");
        assertThat(derive(image, "money"))
                .isEqualTo(Objects.requireNonNull(money.image()).reference());
    }

    @Test
    void an_image_has_a_bounded_pool_of_its_own_that_ends_when_nobody_uses_it() throws Exception {
        try (TestSandboxes own = new TestSandboxes(Map.of(
                "executor.pool.memory-mib",
                128,
                "executor.pool.inspection",
                "50ms",
                "executor.pool.image-idle",
                "3s",
                "executor.pool.image-size",
                2))) {
            try (HarnessSandbox sandbox = own.sandboxes().open("job", USES_PACKAGE, LIMITS, money)) {
                assertThat(sandbox.usable()).isTrue();
                await().atMost(60, TimeUnit.SECONDS).until(() -> own.sandboxes().idle() == 2);
            }
            String reference = Objects.requireNonNull(money.image()).reference();
            List<Container> containers = TestSandboxes.client()
                    .listContainersCmd()
                    .withLabelFilter(
                            Map.of("org.harnesslearning.owner", own.settings().owner()))
                    .exec();
            assertThat(containers)
                    .extracting(Container::getImage)
                    .containsOnly(reference)
                    .hasSize(2);
            await().atMost(60, TimeUnit.SECONDS).until(() -> own.sandboxes().idle() == 0);
            assertThat(own.metrics()
                            .get("executor.image.pool.size")
                            .tag("image", "own")
                            .gauge()
                            .value())
                    .isZero();
        }
    }
}
