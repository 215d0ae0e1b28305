package org.harnesslearning.executor.sandbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.github.dockerjava.api.command.InspectContainerResponse;
import com.github.dockerjava.api.model.HostConfig;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Clock;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.harnesslearning.contracts.execution.HarnessError;
import org.harnesslearning.contracts.execution.Limits;
import org.harnesslearning.executor.TestSandboxes;
import org.harnesslearning.testing.RequiresDocker;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * The attack and fault table of docs/sandbox.md, a test a row, against the real engine. Rows that no host can be made to
 * show on demand say "fake_engine" in their names. After every test a job that has nothing to do with it must run as if
 * nothing had been, and no container, process, network, volume or image may be left.
 */
@RequiresDocker
@ExtendWith(TestSandboxes.ChosenRuntime.class)
class AttackTableTests {
    private static final Limits LIMITS = new Limits(3, 5, TestSandboxes.MEMORY_MIB);
    private static final Limits SHORT = new Limits(3, 1, TestSandboxes.MEMORY_MIB);
    private static final String FINE = "def run(question, env):\n    return 'fine'\n";
    private static final Broker ECHO = request ->
            new Broker.Answer.Reply("reply to " + request.messages().getLast().content());
    private static TestSandboxes docker;
    private static Census before;
    private static Footprint footprint;

    /** What a test may allocate; one that floods this process itself says more. */
    private long mayAllocate = 128 << 20;

    private long allocatedBefore;

    /** What the engine keeps beside containers. */
    private record Census(Set<String> networks, Set<String> volumes) {
        static Census take() {
            return new Census(
                    TestSandboxes.client().listNetworksCmd().exec().stream()
                            .map(network -> network.getId())
                            .collect(Collectors.toSet()),
                    TestSandboxes.client().listVolumesCmd().exec().getVolumes().stream()
                            .map(volume -> volume.getName())
                            .collect(Collectors.toSet()));
        }
    }

    @BeforeAll
    static void start() throws InterruptedException {
        docker = new TestSandboxes(Map.of());
        before = Census.take();
        theNextJobIsUnaffected(); // and what it loads is there
        footprint = new Footprint(docker.settings().owner());
    }

    @AfterAll
    static void stop() throws IOException {
        docker.close();
        footprint.close();
    }

    @BeforeEach
    void measure() {
        allocatedBefore = Footprint.allocated();
    }

    @AfterEach
    void the_next_job_is_unaffected_and_nothing_is_left() throws InterruptedException {
        assertThat(Footprint.allocated() - allocatedBefore).as("allocated").isLessThan(mayAllocate);
        theNextJobIsUnaffected();
        assertThat(docker.containers()).as("containers").isEmpty();
        assertThat(docker.engine().containers()).as("registered containers").isZero();
        assertThat(docker.engine().quarantined()).as("containers set aside").isZero();
        footprint.assertNothingLeft();
    }

    private static void theNextJobIsUnaffected() throws InterruptedException {
        String source = ALONE + """
                def run(question, env):
                    left = [name for folder in ("/tmp", "/dev/shm", "/dev/mqueue") if os.path.isdir(folder)
                            for name in os.listdir(folder)]
                    return f"{question} {env.llm('x')} {others()} {left}"
                """;
        try (HarnessSandbox next = docker.sandboxes().open("next", source, LIMITS)) {
            for (String question : List.of("first", "second")) {
                assertThat(answer(next.ask(question, ECHO))).isEqualTo(question + " reply to x [] []");
                assertThat(next.usable()).isTrue();
            }
        }
    }

    private HarnessSandbox open(String source, Limits limits) throws InterruptedException {
        return docker.sandboxes().open("attack", source, limits);
    }

    private SandboxResult ask(String source, Limits limits) throws InterruptedException {
        try (HarnessSandbox sandbox = open(source, limits)) {
            return sandbox.ask("q", ECHO);
        }
    }

    private static String answer(SandboxResult result) {
        assertThat(result).isInstanceOf(SandboxResult.Completed.class);
        return ((SandboxResult.Completed) result).answer();
    }

    private static HarnessError error(SandboxResult result) {
        assertThat(result).isInstanceOf(SandboxResult.Crashed.class);
        HarnessError error = ((SandboxResult.Crashed) result).error();
        assertThat(error).isNotNull();
        return error;
    }

    /** The fault that an open or a question gave; a score in its place fails. */
    private static String fault(Callable<SandboxResult> job) throws Exception {
        try {
            SandboxResult result = job.call();
            assertThat(result).isInstanceOf(SandboxResult.SandboxFault.class);
            return ((SandboxResult.SandboxFault) result).message();
        } catch (SandboxFaultException e) {
            return String.valueOf(e.getMessage());
        }
    }

    /** Processes that a question sees, to be put before a harness. */
    private static final String ALONE = """
            import os

            def others():
                own = (1, os.getppid(), os.getpid())  # the runner, the template that forks children, this child
                return [pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) not in own]

            """;

    @Test
    void case_01_fork_bomb() throws InterruptedException {
        TestSandboxes.assumeHeld(Protection.PIDS_LIMIT);
        String source = ALONE + """
                def run(question, env):
                    while question == "bomb":
                        try:
                            os.fork()
                        except OSError:
                            pass
                    return str(others())
                """;
        try (HarnessSandbox sandbox = open(source, SHORT)) {
            assertThat(sandbox.ask("bomb", ECHO)).isInstanceOf(SandboxResult.TimedOut.class);
            assertThat(sandbox.usable()).isTrue();
            assertThat(answer(sandbox.ask("look", ECHO))).isEqualTo("[]");
        }
    }

    @Test
    void case_02_many_sleeping_children() throws InterruptedException {
        TestSandboxes.assumeHeld(Protection.PIDS_LIMIT);
        String source = ALONE + """
                import time

                def run(question, env):
                    if question == "look":
                        return str(others())
                    count = 0
                    while True:
                        try:
                            if os.fork() == 0:
                                os.setsid()
                                time.sleep(600)
                        except BlockingIOError:
                            return str(count)
                        count += 1
                """;
        try (HarnessSandbox sandbox = open(source, LIMITS)) {
            int most = docker.settings().mostProcesses() - 3; // this child, the template and the runner
            assertThat(answer(sandbox.ask("sleepers", ECHO))).isEqualTo(Integer.toString(most));
            assertThat(answer(sandbox.ask("look", ECHO))).isEqualTo("[]");
        }
    }

    @Test
    void case_03_memory_bomb() throws InterruptedException {
        TestSandboxes.assumeHeld(Protection.MEMORY_LIMIT);
        String source = "def run(question, env):\n    return str(len(bytearray(1 << 30)))\n";
        assertThat(ask(source, LIMITS)).isInstanceOf(SandboxResult.OutOfMemory.class);
        String slowly = """
                def run(question, env):
                    kept = []
                    while True:
                        kept.append(b"x" * (1 << 20))
                """;
        try (HarnessSandbox sandbox = open(slowly, LIMITS)) {
            assertThat(sandbox.ask("q", ECHO)).isInstanceOf(SandboxResult.OutOfMemory.class);
            assertThat(sandbox.usable())
                    .as("the engine's note of the kill stays")
                    .isFalse();
        }
    }

    @Test
    void case_04_memory_kill_of_a_child_while_its_parent_lives_on() throws InterruptedException {
        TestSandboxes.assumeHeld(Protection.MEMORY_LIMIT);
        String source = """
                import os

                def run(question, env):
                    child = os.fork()
                    if child == 0:
                        kept = []
                        while True:
                            kept.append(b"x" * (1 << 20))
                    os.waitpid(child, 0)
                    return "lived on"
                """;
        assertThat(ask(source, LIMITS)).isInstanceOf(SandboxResult.OutOfMemory.class);
    }

    @Test
    void case_05_fake_engine_swap_beside_the_memory_limit_stops_the_start() throws Exception {
        try (FakeEngine fake = new FakeEngine()) {
            SandboxSettings strict = settings(fake, Map.of());
            try (DockerEngine engine = DockerEngine.connect(strict, Clock.systemUTC(), "test")) {
                fake.runner(SelfCheckTests.probed("swap", "0", 60, "out_of_memory"));
                assertThat(SelfCheck.run(engine, "image", strict).gaps()).isEmpty();
                fake.runner(SelfCheckTests.probed("swap", "max", 60, "out_of_memory"));
                assertThatThrownBy(() -> SelfCheck.run(engine, "image", strict))
                        .isInstanceOf(UnsafeHostException.class)
                        .hasMessageContaining("SWAP_LIMIT")
                        .hasMessageContaining("max");
                SandboxSettings lenient = settings(fake, Map.of("executor.sandbox.accepted-gaps", "swap-limit"));
                assertThat(SelfCheck.run(engine, "image", lenient).names()).containsExactly("SWAP_LIMIT");
                // The one named setting accepts that one gap, and no other.
                fake.runner(SelfCheckTests.probed("swap", "max", 60, "crashed"));
                assertThatThrownBy(() -> SelfCheck.run(engine, "image", lenient))
                        .isInstanceOf(UnsafeHostException.class)
                        .hasMessageContaining("MEMORY_LIMIT")
                        .hasMessageNotContaining("SWAP_LIMIT");
            }
            assertThat(fake.left()).isEmpty();
        }
        assertThat(SelfCheck.run(docker.engine(), docker.image(), docker.settings())
                        .gaps())
                .as("this host")
                .isEqualTo(docker.settings().acceptedGaps());
    }

    @Test
    void case_06_disk_fill() throws InterruptedException {
        String source = """
                import errno, os

                def run(question, env):
                    ends = []
                    try:
                        with open("/tmp/lines", "w") as file:
                            for _ in range(16_000_000):
                                file.write("line\\n")
                    except OSError as e:
                        ends.append(errno.errorcode[e.errno])
                    size = os.stat("/tmp/lines").st_size
                    os.unlink("/tmp/lines")
                    count = 0
                    try:
                        while count < 100_000:
                            os.close(os.open(f"/tmp/{count}", os.O_CREAT))
                            count += 1
                    except OSError as e:
                        ends.append(errno.errorcode[e.errno])
                    return f"{ends} {size <= 16 << 20} {count <= 1024}"
                """;
        // gVisor does not hand the number of files on to its own file system: there they end with the memory.
        String held = "['ENOSPC', 'ENOSPC'] True True";
        List<String> ends =
                docker.settings().runtime() == null ? List.of(held) : List.of(held, "['ENOSPC'] True False");
        try (HarnessSandbox sandbox = open(source, new Limits(3, 20, TestSandboxes.MEMORY_MIB))) {
            assertThat(answer(sandbox.ask("q", ECHO))).isIn(ends);
            assertThat(answer(sandbox.ask("q", ECHO))).isIn(ends);
        }
    }

    @Test
    void case_07_files_left_behind() throws InterruptedException {
        String source = """
                import os

                FOLDERS = ("/tmp", "/dev/shm", "/var/tmp", "/run/lock", "/dev", "/run", "/opt/harness")

                def run(question, env):
                    found = [folder for folder in FOLDERS if os.path.exists(folder + "/left")]
                    written = []
                    for folder in FOLDERS:
                        try:
                            with open(folder + "/left", "w") as file:
                                file.write("left")
                            written.append(folder)
                        except OSError:
                            pass
                    return f"{found} {written}"
                """;
        for (int job = 0; job < 2; job++) {
            try (HarnessSandbox sandbox = open(source, LIMITS)) {
                for (int question = 0; question < 2; question++) {
                    assertThat(answer(sandbox.ask("q", ECHO))).isEqualTo("[] ['/tmp']");
                }
            }
        }
    }

    @Test
    void case_08_endless_output() throws Exception {
        String source = """
                import os

                def run(question, env):
                    while True:
                        for stream in map(int, question):
                            os.write(stream, b"x" * 65536)
                """;
        try (HarnessSandbox sandbox = open(source, LIMITS)) {
            for (String streams : List.of("1", "2", "12")) {
                SandboxResult result = sandbox.ask(streams, ECHO);
                assertThat(result).isInstanceOf(SandboxResult.OutputLimit.class);
                SandboxResult.Output output = ((SandboxResult.OutputLimit) result).output();
                assertThat(output.stdout().length() + output.stderr().length()).isLessThan(20_000);
                assertThat(sandbox.usable()).isTrue();
            }
        }
    }

    @Test
    void case_08_fake_engine_endless_output_of_the_runner_itself() throws Exception {
        mayAllocate = Long.MAX_VALUE; // the flood itself is made here
        byte[] junk = new byte[1 << 16];
        byte[] frame = Frames.encode(Map.of("type", "llm", "text", "x".repeat(60_000)));
        for (int stream : List.of(1, 2)) {
            for (byte[] flood : List.of(junk, frame)) {
                try (FakeEngine fake = new FakeEngine()) {
                    SandboxSettings settings = settings(fake, Map.of("executor.sandbox.clock-grace", "2s"));
                    fake.runner((in, out) -> {
                        out.frame(Map.of("type", "ready"));
                        FakeEngine.read(in);
                        out.frame(Map.of("type", "compiled"));
                        FakeEngine.read(in);
                        for (int i = 0; i < 4_000; i++) { // 256 MiB, unless it is killed first
                            out.write(stream, flood);
                        }
                        return 0;
                    });
                    try (Engine engine = new Engine(settings)) {
                        System.gc();
                        long used = ManagementFactory.getMemoryMXBean()
                                .getHeapMemoryUsage()
                                .getUsed();
                        try (HarnessSandbox sandbox = engine.sandboxes.open("flood", FINE, SHORT)) {
                            SandboxResult result = sandbox.ask("q", ECHO);
                            assertThat(result).isNotInstanceOf(SandboxResult.Completed.class);
                            System.gc();
                            assertThat(ManagementFactory.getMemoryMXBean()
                                                    .getHeapMemoryUsage()
                                                    .getUsed()
                                            - used)
                                    .isLessThan(100 << 20);
                        }
                    }
                    assertThat(fake.left()).isEmpty();
                }
            }
        }
    }

    @Test
    void case_09_output_does_not_fill_the_engines_logs() throws InterruptedException {
        String source = """
                import os

                def run(question, env):
                    env.llm("begin")
                    while True:
                        os.write(1, b"x" * 65536)
                """;
        try (HarnessSandbox sandbox = open(source, LIMITS)) {
            String container = docker.containers().getFirst();
            for (int question = 0; question < 3; question++) {
                assertThat(sandbox.ask("q", ECHO)).isInstanceOf(SandboxResult.OutputLimit.class);
                InspectContainerResponse made =
                        TestSandboxes.client().inspectContainerCmd(container).exec();
                assertThat(made.getHostConfig().getLogConfig().getType().getType())
                        .isEqualTo("none");
                assertThat(made.getLogPath()).isNullOrEmpty();
            }
        }
    }

    @Test
    void case_10_much_output_and_then_a_normal_end() throws InterruptedException {
        String source = """
                import sys

                def run(question, env):
                    sys.stdout.write("begin" + "x" * 200_000 + "end")
                    sys.stderr.write("e" * 200_000)
                    return "fine"
                """;
        SandboxResult result = ask(source, LIMITS);
        assertThat(answer(result)).isEqualTo("fine");
        SandboxResult.Output output = ((SandboxResult.Completed) result).output();
        assertThat(output.stdout()).startsWith("begin").endsWith("end").contains("bytes left out");
        assertThat(output.stderr()).startsWith("eee").contains("191808 bytes left out");
    }

    @Test
    void case_11_invalid_utf_8() throws InterruptedException {
        String source = """
                import os

                def run(question, env):
                    os.write(1, b"caf\\xe9 \\xff\\xfe\\xf0\\x9f")
                    os.write(2, b"\\x80")
                    env.log("a\\ud800b")
                    return "x\\udcffy\\0z"
                """;
        SandboxResult result = ask(source, LIMITS);
        assertThat(answer(result)).isEqualTo("x?y\ufffdz");
        SandboxResult.Output output = ((SandboxResult.Completed) result).output();
        assertThat(output.stdout()).startsWith("caf\ufffd \ufffd\ufffd");
        assertThat(output.stderr()).isEqualTo("\ufffd");
        assertThat(output.log()).containsExactly("a?b");
    }

    @Test
    void case_12_endless_loop_with_children() throws InterruptedException {
        String source = ALONE + """
                def run(question, env):
                    if question == "look":
                        return str(others())
                    os.fork()
                    while True:
                        pass
                """;
        try (HarnessSandbox sandbox = open(source, SHORT)) {
            assertThat(sandbox.ask("loop", ECHO)).isInstanceOf(SandboxResult.TimedOut.class);
            assertThat(answer(sandbox.ask("look", ECHO))).isEqualTo("[]");
        }
    }

    @Test
    void case_13_sleeping_over_the_wall_clock() throws InterruptedException {
        String source = "import time\ndef run(question, env):\n    time.sleep(600)\n";
        assertThat(ask(source, SHORT)).isInstanceOf(SandboxResult.TimedOut.class);
    }

    @Test
    void case_14_deaf_to_signals_and_daemonised() throws InterruptedException {
        String source = ALONE + """
                import signal, time

                def run(question, env):
                    if question == "look":
                        return str(others())
                    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
                        signal.signal(number, signal.SIG_IGN)
                    if os.fork() == 0:
                        os.setsid()
                        if os.fork() == 0:
                            time.sleep(600)
                        os._exit(0)
                    if question == "loop":
                        while True:
                            pass
                    return "left a daemon"
                """;
        try (HarnessSandbox sandbox = open(source, SHORT)) {
            assertThat(answer(sandbox.ask("daemon", ECHO))).isEqualTo("left a daemon");
            assertThat(answer(sandbox.ask("look", ECHO))).isEqualTo("[]");
            assertThat(sandbox.ask("loop", ECHO)).isInstanceOf(SandboxResult.TimedOut.class);
            assertThat(answer(sandbox.ask("look", ECHO))).isEqualTo("[]");
            assertThat(answer(sandbox.ask("daemon", ECHO))).isEqualTo("left a daemon");
        }
    }

    private static SandboxSettings settings(FakeEngine fake, Map<String, Object> changes) {
        Map<String, Object> all = new HashMap<>(Map.of(
                "executor.sandbox.docker-host", fake.host(),
                "executor.sandbox.image", "image",
                "executor.sandbox.control-timeout", "1500ms",
                "executor.sandbox.start-timeout", "2s",
                "executor.sandbox.max-containers", "1"));
        all.putAll(changes);
        return TestSandboxes.settings(all);
    }

    /** Sandboxes of an engine, without a self-check. */
    private static final class Engine implements AutoCloseable {
        final DockerEngine engine;
        final DockerSandboxes sandboxes;

        Engine(SandboxSettings settings) {
            engine = DockerEngine.connect(settings, Clock.systemUTC(), "test");
            sandboxes = TestSandboxes.sandboxes(engine, "image", settings);
        }

        SandboxResult job() throws InterruptedException {
            try (HarnessSandbox sandbox = sandboxes.open("job", FINE, SHORT)) {
                return sandbox.ask("q", ECHO);
            }
        }

        @Override
        public void close() {
            sandboxes.close();
            engine.close();
        }
    }

    @Test
    void case_15_fake_engine_a_container_that_can_not_be_removed() throws Exception {
        for (FakeEngine.Fault hanging : List.of(FakeEngine.Fault.REMOVAL_IN_PROGRESS, FakeEngine.Fault.STALL)) {
            try (FakeEngine fake = new FakeEngine();
                    Engine engine = new Engine(settings(fake, Map.of()))) {
                fake.fault(FakeEngine.Call.REMOVE, hanging);
                // One slot, and each job's container hangs: it is set aside and the slot goes to the next.
                for (int job = 1; job <= 3; job++) {
                    assertThat(answer(engine.job())).isEqualTo("fine");
                    assertThat(engine.engine.quarantined()).isEqualTo(job);
                }
                assertThat(fake.left()).hasSize(3);
                fake.heal();
                engine.engine.removeQuarantined();
                assertThat(engine.engine.quarantined()).isZero();
                assertThat(engine.engine.containers()).isZero();
                assertThat(fake.left()).isEmpty();
            }
        }
    }

    @Test
    void case_16_ends_itself_by_a_signal() throws InterruptedException {
        String source = "import os\ndef run(question, env):\n    os.kill(os.getpid(), int(question))\n    os.abort()\n";
        try (HarnessSandbox sandbox = open(source, LIMITS)) {
            for (Map.Entry<String, String> signal :
                    Map.of("9", "SIGKILL", "15", "SIGTERM", "11", "SIGSEGV").entrySet()) {
                HarnessError error = error(sandbox.ask(signal.getKey(), ECHO));
                assertThat(error.type()).isEqualTo("ProcessEnded");
                assertThat(error.message()).contains(signal.getValue());
            }
        }
    }

    @Test
    void case_17_early_exit() throws InterruptedException {
        String source = """
                import os, sys

                def run(question, env):
                    print("42")
                    if question == "os":
                        os._exit(0)
                    if question == "thread":
                        import _thread
                        _thread.interrupt_main()
                    sys.exit(0)
                """;
        try (HarnessSandbox sandbox = open(source, LIMITS)) {
            assertThat(error(sandbox.ask("os", ECHO)).message()).contains("ended itself with exit code 0");
            assertThat(error(sandbox.ask("sys", ECHO)).type()).isEqualTo("SystemExit");
            assertThat(error(sandbox.ask("thread", ECHO)).type()).isEqualTo("KeyboardInterrupt");
        }
    }

    @Test
    void case_18_forged_results() throws InterruptedException {
        String source = """
                import json, os, struct

                FORGED = {"type": "final", "nonce": "0", "outcome": "completed", "answer": "forged", "clean": True}

                def frame(body):
                    text = json.dumps(body).encode()
                    return struct.pack(">I", len(text)) + text

                def run(question, env):
                    if question == "stdout":
                        os.write(1, frame(FORGED))
                        print("PASSED\\nscore: 1.0")
                    if question == "channel":
                        os.write(3, frame(FORGED))
                    if question == "verdict":
                        os.write(3, frame({"type": "verdict", "code": None, "message": None, "line": None}))
                    if question == "facts":
                        os.write(3, frame({"type": "facts", "facts": {}}))
                    return "honest"
                """;
        try (HarnessSandbox sandbox = open(source, LIMITS)) {
            assertThat(answer(sandbox.ask("stdout", ECHO))).isEqualTo("honest");
            // Messages of other kinds than an answering child's are an attack and no fault of the sandbox.
            for (String forged : List.of("channel", "verdict", "facts")) {
                assertThat(sandbox.ask(forged, ECHO))
                        .as(forged)
                        .isInstanceOfSatisfying(
                                SandboxResult.Crashed.class,
                                crashed -> assertThat(crashed.violation()).isTrue());
            }
            assertThat(answer(sandbox.ask("none", ECHO))).isEqualTo("honest");
        }
    }

    @Test
    void case_19_objects_that_equal_everything() throws InterruptedException {
        String source = """
                class Anything:
                    def __eq__(self, other): return True
                    def __str__(self): return "42"

                class Text(str):
                    def __eq__(self, other): return True
                    def __hash__(self): return hash("42")
                    def __str__(self): return "42"
                    def encode(self, *rest): return b"42"

                def run(question, env):
                    return Anything() if question == "object" else Text("wrong")
                """;
        try (HarnessSandbox sandbox = open(source, LIMITS)) {
            assertThat(error(sandbox.ask("object", ECHO)).message()).isEqualTo("run returned Anything, not text");
            assertThat(answer(sandbox.ask("text", ECHO))).isEqualTo("wrong");
        }
    }

    @Test
    void case_20_patched_libraries() throws InterruptedException {
        String source = """
                import builtins, json, os, sys, time, unittest

                def run(question, env):
                    if question == "honest":
                        return f"honest {json.dumps([1])} {len('abc')} {time.time() > 0}"
                    json.dumps = json.JSONEncoder.encode = lambda *rest, **more: '{"type": "answer", "text": "42"}'
                    json.loads = lambda *rest, **more: {"type": "answer", "text": "42"}
                    time.monotonic = time.time = lambda: 0
                    unittest.TestCase.assertEqual = lambda *rest: None
                    sys.stdout = sys.stderr = sys.__stdout__ = None
                    builtins.len = lambda value: 2
                    builtins.isinstance = lambda *rest: True
                    os.write = lambda fd, data: len(data)
                    sys.modules["child"].plain = lambda text: "42"
                    return "wrong"
                """;
        try (HarnessSandbox sandbox = open(source, LIMITS)) {
            // Whatever it does to its own process, all it can say is an answer of its own, or nothing.
            assertThat(sandbox.ask("patch", ECHO)).isInstanceOf(SandboxResult.Crashed.class);
            assertThat(answer(sandbox.ask("honest", ECHO))).isEqualTo("honest [1] 3 True");
        }
    }

    @Test
    void case_21_answers_never_enter() throws InterruptedException {
        String source = ALONE + """
                def tried(path):
                    try:
                        with open(path, "rb") as file:
                            return file.read(100000)
                    except OSError as e:
                        return type(e).__name__.encode()

                def run(question, env):
                    env.log(repr(tried("/proc/1/environ")))
                    env.log(repr(b"question to hide" in tried("/proc/1/cmdline") + tried("/proc/self/cmdline")))
                    env.log(repr(others()))
                    env.log(repr(sorted(os.listdir("/opt/harness"))))
                    env.log(repr(os.listdir("/tmp")))
                    return question
                """;
        try (HarnessSandbox sandbox = open(source, LIMITS)) {
            SandboxResult result = sandbox.ask("question to hide", ECHO);
            assertThat(answer(result)).isEqualTo("question to hide");
            List<String> log = ((SandboxResult.Completed) result).output().log();
            assertThat(log).startsWith("b'PermissionError'", "False", "[]").endsWith("[]");
            assertThat(log.get(3)).contains("runner.py").doesNotContain("answer");
            InspectContainerResponse made = TestSandboxes.client()
                    .inspectContainerCmd(docker.containers().getFirst())
                    .exec();
            assertThat(String.join(" ", made.getArgs())).doesNotContain("question to hide");
            assertThat(made.getMounts()).isEmpty();
        }
    }

    /** The image's own variables, and the two that the engine adds; nothing of this process. */
    private static SortedSet<String> environment() {
        SortedSet<String> names = new TreeSet<>(Set.of("HOME", "HOSTNAME"));
        for (String variable : TestSandboxes.client()
                .inspectImageCmd(docker.image())
                .exec()
                .getConfig()
                .getEnv()) {
            names.add(variable.substring(0, variable.indexOf('=')));
        }
        return names;
    }

    @Test
    void case_22_no_secret_in_the_environment() throws InterruptedException {
        String source = "import os\ndef run(question, env):\n    return ' '.join(sorted(os.environ))\n";
        assertThat(System.getenv())
                .as("the executor's own has more")
                .hasSizeGreaterThan(environment().size());
        assertThat(answer(ask(source, LIMITS))).isEqualTo(String.join(" ", environment()));
    }

    @Test
    void case_23_symbolic_links() throws InterruptedException {
        String source = """
                import os

                def run(question, env):
                    left = os.listdir("/tmp")
                    for target, name in (("/etc/passwd", "result"), ("/etc", "folder"), ("/proc/1/fd/1", "output")):
                        os.symlink(target, "/tmp/" + name)
                    os.mkfifo("/tmp/pipe")
                    os.makedirs("/tmp/a/b")
                    os.symlink("/tmp/a", "/tmp/a/b/loop")
                    return f"{left} {os.path.getsize('/etc/passwd') > 0}"
                """;
        try (HarnessSandbox sandbox = open(source, LIMITS)) {
            // Nothing is ever read from a file of the sandbox, and clearing away follows no link.
            for (int question = 0; question < 2; question++) {
                assertThat(answer(sandbox.ask("q", ECHO))).isEqualTo("[] True");
                assertThat(sandbox.usable()).isTrue();
            }
        }
    }

    @Test
    void case_24_symbolic_link_race() throws Exception {
        String source = """
                import os

                def run(question, env):
                    left = os.listdir("/tmp")
                    os.makedirs("/tmp/x/deep")
                    os.symlink("/etc", "/tmp/link")
                    if os.fork() == 0:
                        os.setsid()
                        while True:
                            try:
                                os.rename("/tmp/x", "/tmp/y")
                                os.rename("/tmp/link", "/tmp/x")
                                os.rename("/tmp/x", "/tmp/link")
                                os.rename("/tmp/y", "/tmp/x")
                            except OSError:
                                pass
                    return f"{left} {os.path.exists('/etc/passwd')}"
                """;
        try (HarnessSandbox sandbox = open(source, LIMITS)) {
            for (int question = 0; question < 5; question++) {
                assertThat(answer(sandbox.ask("q", ECHO))).isEqualTo("[] True");
            }
        }
        // No archive is copied from or into any container: the engine is asked for nothing but these.
        try (FakeEngine fake = new FakeEngine();
                Engine engine = new Engine(settings(fake, Map.of()))) {
            assertThat(answer(engine.job())).isEqualTo("fine");
            assertThat(fake.asked())
                    .containsExactlyInAnyOrder(
                            FakeEngine.Call.PING,
                            FakeEngine.Call.INFO,
                            FakeEngine.Call.CREATE,
                            FakeEngine.Call.ATTACH,
                            FakeEngine.Call.START,
                            FakeEngine.Call.REMOVE);
        }
    }

    @Test
    void case_25_names_that_climb_out_of_folders() throws InterruptedException {
        String name = "../../x";
        try (HarnessSandbox sandbox = docker.sandboxes().open(name, FINE, LIMITS)) {
            assertThat(answer(sandbox.ask(name, ECHO))).isEqualTo("fine");
            InspectContainerResponse made = TestSandboxes.client()
                    .inspectContainerCmd(docker.containers().getFirst())
                    .exec();
            // A name is a label and never a path.
            assertThat(made.getConfig().getLabels()).containsEntry(DockerEngine.JOB, name);
            assertThat(made.getName()).matches("/harness-[0-9a-f-]{36}");
        }
        String source = "def run(question, env):\n    return env.python(open('/tmp/../' + question).read()).stdout\n";
        try (HarnessSandbox sandbox = open(source, LIMITS)) {
            assertThat(error(sandbox.ask(name, ECHO)).type()).isEqualTo("FileNotFoundError");
        }
    }

    @Test
    void case_26_no_network() throws Exception {
        String source = """
                import os, socket

                def tried(family, kind, address):
                    try:
                        with socket.socket(family, kind) as one:
                            one.settimeout(2)
                            one.connect(address)
                            one.send(b"x")
                        return "ok"
                    except OSError as e:
                        return "no"

                def run(question, env):
                    with open("/proc/net/dev") as file:
                        facts = [[line.split(":")[0].strip() for line in file if ":" in line]]
                    for host in ("192.0.2.1", "8.8.8.8", "169.254.169.254", "172.17.0.1", "172.17.0.2", "10.0.0.1"):
                        facts.append(tried(socket.AF_INET, socket.SOCK_STREAM, (host, 80)))
                        facts.append(tried(socket.AF_INET, socket.SOCK_DGRAM, (host, 53)))
                    for listener in question.split():
                        host, port = listener.split(":")
                        facts.append(tried(socket.AF_INET, socket.SOCK_STREAM, (host, int(port))))
                    facts.append(tried(socket.AF_INET6, socket.SOCK_STREAM, ("2001:db8::1", 80)))
                    for name in ("example.org", "host.docker.internal", "metadata.google.internal"):
                        try:
                            socket.getaddrinfo(name, 80)
                            facts.append("ok")
                        except OSError:
                            facts.append("no")
                    return str(facts)
                """;
        // Two that listen for certain, each at every address of this machine: this process, and another container.
        int free = freePort();
        try (ServerSocket machine = new ServerSocket(0)) {
            String neighbour = neighbour(free);
            try {
                List<String> listeners = new ArrayList<>();
                for (InetAddress address : NetworkInterface.networkInterfaces()
                        .flatMap(NetworkInterface::inetAddresses)
                        .filter(Inet4Address.class::isInstance)
                        .toList()) {
                    listeners.add(address.getHostAddress() + ":" + machine.getLocalPort());
                    listeners.add(address.getHostAddress() + ":" + free);
                }
                await().atMost(30, TimeUnit.SECONDS)
                        .until(() -> listeners.stream().allMatch(AttackTableTests::listens));
                try (HarnessSandbox sandbox = open(source, new Limits(3, 60, TestSandboxes.MEMORY_MIB))) {
                    assertThat(answer(sandbox.ask(String.join(" ", listeners), ECHO)))
                            .startsWith("[['lo']")
                            .doesNotContain("ok")
                            .contains("'no'");
                }
            } finally {
                TestSandboxes.client()
                        .removeContainerCmd(neighbour)
                        .withForce(true)
                        .exec();
            }
        }
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }

    /** A container of nobody's that listens on a port of this machine. */
    private static String neighbour(int port) {
        String id = TestSandboxes.client()
                .createContainerCmd(docker.image())
                .withEntrypoint("python3", "-m", "http.server", Integer.toString(port))
                .withHostConfig(HostConfig.newHostConfig().withNetworkMode("host"))
                .exec()
                .getId();
        TestSandboxes.client().startContainerCmd(id).exec();
        return id;
    }

    private static boolean listens(String address) {
        String[] parts = address.split(":");
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(parts[0], Integer.parseInt(parts[1])), 1000);
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    @Test
    void case_27_the_kernels_and_the_hosts_doors() throws InterruptedException {
        String source = """
                import ctypes, os

                libc = ctypes.CDLL(None, use_errno=True)

                def call(*arguments):
                    ctypes.set_errno(0)
                    return "ok" if libc.syscall(*arguments) != -1 else os.strerror(ctypes.get_errno())

                def tried(path, flags):
                    try:
                        fd = os.open(path, flags)
                        # An engine covers files with /dev/null where it can't take them away.
                        return "covered" if os.fstat(fd).st_rdev == os.makedev(1, 3) else "ok"
                    except OSError as e:
                        return e.strerror

                def run(question, env):
                    arm = os.uname().machine == "aarch64"
                    status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
                    calls = {
                        "ptrace": (117 if arm else 101, 16, 1, 0, 0),
                        "mount": (40 if arm else 165, b"none", b"/tmp", b"tmpfs", 0, 0),
                        "unshare": (97 if arm else 272, 0x10000000),
                        "setns": (268 if arm else 308, 3, 0),
                        "keyctl": (219 if arm else 250, 0, -3, 1),
                        "add_key": (217 if arm else 248, b"user", b"name", b"value", 5, -3),
                        "bpf": (280 if arm else 321, 0, 0, 0),
                        "io_uring_setup": (425, 1, 0),
                        "userfaultfd": (282 if arm else 323, 0),
                        "perf_event_open": (241 if arm else 298, 0, 0, -1, -1, 0),
                        "process_vm_readv": (270 if arm else 310, 1, 0, 0, 0, 0, 0),
                        "AF_VSOCK": (198 if arm else 41, 40, 1, 0),
                        "AF_NETLINK": (198 if arm else 41, 16, 3, 0),
                        "AF_PACKET": (198 if arm else 41, 17, 3, 0),
                        "new user namespace": (220 if arm else 56, 0x10000000 | 17, 0, 0, 0, 0),
                        "shmget": (194 if arm else 29, 1, 4096, 0o1600),
                        "mq_open": (180 if arm else 240, b"left", 0o102, 0o600, 0),
                    }
                    files = {
                        "/var/run/docker.sock": os.O_RDWR, "/proc/kcore": os.O_RDONLY, "/proc/sysrq-trigger": os.O_WRONLY,
                        "/proc/sys/kernel/core_pattern": os.O_WRONLY, "/sys/kernel/uevent_helper": os.O_WRONLY,
                        "/sys/fs/cgroup/x": os.O_WRONLY | os.O_CREAT, "/proc/1/mem": os.O_RDONLY, "/dev/mem": os.O_RDONLY,
                        "/dev/kmsg": os.O_WRONLY, "/proc/self/mem": os.O_RDWR, "/opt/harness/x": os.O_WRONLY | os.O_CREAT,
                    }
                    for name, arguments in calls.items():
                        env.log(f"{name}: {call(*arguments)}")
                    for path, flags in files.items():
                        env.log(f"{path}: {tried(path, flags)}")
                    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Uid", "Gid"):
                        env.log(f"{name} {' '.join(status[name].split())}")
                    return "done"
                """;
        SandboxResult result = ask(source, LIMITS);
        assertThat(answer(result)).isEqualTo("done");
        List<String> log = ((SandboxResult.Completed) result).output().log();
        String none = "0".repeat(16);
        assertThat(log)
                .hasSize(17 + 11 + 9)
                .noneMatch(line -> line.endsWith(": ok"))
                .contains(
                        "ptrace: Operation not permitted",
                        "mount: Operation not permitted",
                        "unshare: Operation not permitted",
                        "keyctl: Operation not permitted",
                        "AF_VSOCK: Operation not permitted",
                        "io_uring_setup: Operation not permitted",
                        "/var/run/docker.sock: No such file or directory",
                        "/proc/1/mem: Permission denied",
                        "CapInh " + none,
                        "CapPrm " + none,
                        "CapEff " + none,
                        "CapBnd " + none,
                        "CapAmb " + none,
                        "NoNewPrivs 1",
                        "Seccomp 2",
                        "Uid 65534 65534 65534 65534",
                        "Gid 65534 65534 65534 65534");
    }

    @Test
    void case_28_exhausted_descriptors_threads_and_arguments() throws InterruptedException {
        TestSandboxes.assumeHeld(Protection.PIDS_LIMIT);
        String source = """
                import errno, os, subprocess, sys, _thread, time

                def run(question, env):
                    if question == "descriptors":
                        kept = []
                        try:
                            while len(kept) < 100000:
                                kept.append(os.open("/dev/null", os.O_RDONLY))
                        except OSError as e:
                            return f"{errno.errorcode[e.errno]} {len(kept) < 256}"
                    if question == "threads":
                        started = 0
                        try:
                            for _ in range(10000):
                                _thread.start_new_thread(time.sleep, (600,))
                                started += 1
                        except RuntimeError:
                            return f"RuntimeError {started < 64}"
                    if question == "arguments":
                        try:
                            subprocess.run([sys.executable, "-c", "pass", *["x" * 100000] * 100])
                        except OSError as e:
                            # Linux says E2BIG, gVisor ENAMETOOLONG.
                            return str(e.errno in (errno.E2BIG, errno.ENAMETOOLONG))
                    if question == "input":
                        return subprocess.run(
                            [sys.executable, "-c", "import sys; print(len(sys.stdin.read()))"],
                            input=b"x" * (8 << 20), stdout=subprocess.PIPE).stdout.decode().strip()
                    return "fine"
                """;
        Map<String, String> ends = Map.of(
                "descriptors", "EMFILE True",
                "threads", "RuntimeError True",
                "arguments", "True",
                "input", Integer.toString(8 << 20));
        try (HarnessSandbox sandbox = open(source, LIMITS)) {
            for (Map.Entry<String, String> end : ends.entrySet()) {
                assertThat(answer(sandbox.ask(end.getKey(), ECHO))).isEqualTo(end.getValue());
                assertThat(answer(sandbox.ask("next", ECHO))).isEqualTo("fine");
            }
        }
    }

    @Test
    void case_29_fifty_jobs_at_once() throws Exception {
        String source = """
                import os

                def run(question, env):
                    left = os.listdir("/tmp")
                    with open("/tmp/mine", "w") as file:
                        file.write(question)
                    reply = env.llm(question)
                    with open("/tmp/mine") as file:
                        return f"{left} {file.read()} {reply}"
                """;
        List<Callable<String>> jobs = new ArrayList<>();
        for (int job = 0; job < 50; job++) {
            String question = "question " + job;
            jobs.add(() -> {
                try (HarnessSandbox sandbox = docker.sandboxes().open("job " + question, source, LIMITS)) {
                    return answer(sandbox.ask(question, ECHO));
                }
            });
        }
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<String>> answers = threads.invokeAll(jobs);
            for (int job = 0; job < answers.size(); job++) {
                assertThat(answers.get(job).get()).isEqualTo("[] question %d reply to question %d", job, job);
            }
        }
    }

    @Test
    void case_30_fake_engine_calls_that_stall_fail_or_lose_their_answers() throws Exception {
        List<FakeEngine.Call> ofAJob = List.of(FakeEngine.Call.CREATE, FakeEngine.Call.ATTACH, FakeEngine.Call.START);
        List<FakeEngine.Fault> kinds = List.of(
                FakeEngine.Fault.STALL,
                FakeEngine.Fault.RESET,
                FakeEngine.Fault.LOSE_ANSWER,
                FakeEngine.Fault.TRUNCATE,
                FakeEngine.Fault.ERROR);
        try (FakeEngine fake = new FakeEngine();
                Engine engine = new Engine(settings(fake, Map.of()))) {
            for (FakeEngine.Call call : ofAJob) {
                for (FakeEngine.Fault kind : kinds) {
                    fake.fault(call, kind);
                    assertThat(fault(engine::job)).as("%s at %s", kind, call).isNotBlank();
                    fake.heal();
                    assertThat(fake.left()).as("%s at %s", kind, call).isEmpty();
                    assertThat(engine.engine.containers()).isZero();
                    assertThat(answer(engine.job()))
                            .as("after %s at %s", kind, call)
                            .isEqualTo("fine");
                }
            }
            assertThat(engine.engine.quarantined()).isZero();
        }
    }

    @Test
    void case_30_fake_engine_vanishes_under_a_running_job_and_comes_back() throws Exception {
        try (FakeEngine fake = new FakeEngine();
                Engine engine = new Engine(settings(fake, Map.of()))) {
            fake.runner((in, out) -> {
                out.frame(Map.of("type", "ready"));
                FakeEngine.read(in);
                out.frame(Map.of("type", "compiled"));
                FakeEngine.read(in);
                fake.vanish();
                return 0;
            });
            assertThat(fault(engine::job)).isNotBlank();
            assertThat(fault(engine::job)).contains("can't create a container");
            fake.runner(FakeEngine.FINE);
            fake.comeBack();
            engine.engine.removeQuarantined();
            engine.engine.removeLeftovers(Set.of(engine.engine.instance()));
            assertThat(fake.left()).isEmpty();
            assertThat(answer(engine.job())).isEqualTo("fine");
            assertThat(engine.engine.containers()).isZero();
        }
    }

    @Test
    void case_30_fake_engine_stalls_or_breaks_off_under_a_running_question() throws Exception {
        List<FakeEngine.Call> others = List.of(FakeEngine.Call.KILL, FakeEngine.Call.INSPECT, FakeEngine.Call.REMOVE);
        for (String how : List.of("all stalls", "all fails", "half a frame", "only the stream stalls")) {
            try (FakeEngine fake = new FakeEngine();
                    Engine engine = new Engine(settings(fake, Map.of("executor.sandbox.clock-grace", "500ms")))) {
                fake.runner((in, out) -> {
                    out.frame(Map.of("type", "ready"));
                    FakeEngine.read(in);
                    out.frame(Map.of("type", "compiled"));
                    FakeEngine.read(in);
                    switch (how) {
                        case "all stalls" -> others.forEach(call -> fake.fault(call, FakeEngine.Fault.STALL));
                        case "all fails" -> others.forEach(call -> fake.fault(call, FakeEngine.Fault.ERROR));
                        case "half a frame" -> {
                            out.write(1, new byte[] {0, 0, 0, 40, '{'});
                            return 0;
                        }
                        default -> {}
                    }
                    while (in.read() >= 0) {
                        // Nothing is said any more.
                    }
                    return 0;
                });
                try (HarnessSandbox sandbox = engine.sandboxes.open("job", FINE, SHORT)) {
                    SandboxResult result = sandbox.ask("q", ECHO);
                    assertThat(result).as(how).isInstanceOf(SandboxResult.SandboxFault.class);
                    // Where the engine can't even tell how the container does, it is certain who is at fault.
                    assertThat(((SandboxResult.SandboxFault) result).ownEnd())
                            .as(how)
                            .isEqualTo(!how.startsWith("all"));
                    assertThat(sandbox.usable()).isFalse();
                }
                fake.heal();
                fake.runner(FakeEngine.FINE);
                assertThat(answer(engine.job())).as("after: %s", how).isEqualTo("fine");
                engine.engine.removeQuarantined();
                assertThat(engine.engine.containers()).as(how).isZero();
                assertThat(fake.left()).as(how).isEmpty();
            }
        }
    }

    @Test
    void case_32_no_network_volume_or_image_is_made_for_a_job() throws Exception {
        List<String> images = images();
        for (int job = 0; job < 3; job++) {
            assertThat(answer(ask(FINE, LIMITS))).isEqualTo("fine");
        }
        Census after = Census.take();
        assertThat(after.networks()).isEqualTo(before.networks());
        assertThat(after.volumes()).isEqualTo(before.volumes());
        assertThat(images()).isEqualTo(images);
    }

    /** Images that the platform's own builds made. */
    private static List<String> images() {
        return TestSandboxes.client()
                .listImagesCmd()
                .withLabelFilter("org.harnesslearning.image=sandbox")
                .exec()
                .stream()
                .map(image -> image.getId())
                .sorted()
                .toList();
    }
}
