package org.harnesslearning.executor.sandbox;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.Set;
import org.harnesslearning.contracts.execution.Limits;
import org.harnesslearning.executor.TestSandboxes;
import org.harnesslearning.testing.RequiresDocker;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A harness that knows the whole platform and attacks its results. It may lose its own question; it must not win it, nor
 * touch the next one: that one is answered by its own child, in the same sandbox or, where the attack cost it, in a new one.
 */
@RequiresDocker
@ExtendWith(TestSandboxes.ChosenRuntime.class)
class ResultIntegrityTests {
    private static final Limits LIMITS = new Limits(3, 4, TestSandboxes.MEMORY_MIB);
    private static final Broker ECHO = request -> new Broker.Answer.Reply("reply");

    private static final String HARNESS = """
            import ctypes, fcntl, json, os, resource, signal, socket, struct, sys, time

            libc = ctypes.CDLL(None, use_errno=True)
            ARM = os.uname().machine == "aarch64"
            PARENT = os.getppid()
            FINAL = {"type": "final", "nonce": "", "outcome": "completed", "answer": "stolen", "clean": True,
                     "stdout": "", "stderr": "", "log": [], "python_runs": []}

            def framed(body):
                return struct.pack(">I", len(body)) + body

            FORGED = [framed(json.dumps(FINAL).encode()), framed(b"Astolen"), b"E\\0\\0\\0\\0"]

            def quietly(action, *arguments):
                try:
                    return action(*arguments)
                except BaseException:
                    return None

            def descriptors():
                for process in ("1", str(PARENT), "self"):
                    for number in range(64):
                        for flags in (os.O_WRONLY, os.O_RDWR):
                            fd = quietly(os.open, f"/proc/{process}/fd/{number}", flags)
                            if fd is not None and process != "self":
                                for forged in FORGED:
                                    quietly(os.write, fd, forged)
                                return "stolen"

            def memory():
                for process in (1, PARENT):
                    if quietly(open, f"/proc/{process}/mem", "r+b") or quietly(open, f"/proc/{process}/maps"):
                        return "stolen"
                    for attach in (16, 0x4206):
                        if libc.syscall(117 if ARM else 101, attach, process, 0, 0) == 0:
                            return "stolen"
                    buffer = ctypes.create_string_buffer(16)
                    local = struct.pack("PN", ctypes.addressof(buffer), 16)
                    for number in (270, 271) if ARM else (310, 311):
                        if libc.syscall(number, process, local, 1, local, 1, 0) > 0:
                            return "stolen"
                    pidfd = libc.syscall(434, process, 0)
                    if pidfd >= 0 and any(libc.syscall(438, pidfd, number, 0) >= 0 for number in range(16)):
                        return "stolen"

            def daemon():
                for _ in range(2):
                    if os.fork() == 0:
                        os.setsid()
                        if os.fork() == 0:
                            while True:
                                for fd in range(64):
                                    for forged in FORGED:
                                        quietly(os.write, fd, forged)
                                if os.getppid() == 1:
                                    quietly(descriptors)
                        os._exit(0)
                # What they write to this question's channel is this question's own answer: wait for that to be told.
                time.sleep(60)

            def signals():
                for number in range(1, 65):
                    if number not in (signal.SIGCHLD,):
                        quietly(os.kill, 1, number)
                for _ in range(1000):
                    quietly(os.kill, 1, signal.SIGCHLD)
                # By thread, and as the owner of a pipe whose owner is to be killed when there is something to read.
                for call in ((130, 1, 9), (131, 1, 1, 9)) if ARM else ((200, 1, 9), (234, 1, 1, 9)):
                    libc.syscall(*call)
                own, other = os.pipe()
                for command, value in ((fcntl.F_SETOWN, 1), (10, 9), (fcntl.F_SETFL, os.O_ASYNC)):  # 10: F_SETSIG
                    quietly(fcntl.fcntl, own, command, value)
                os.write(other, b"x")

            def limits():
                for process in (1, PARENT):
                    for which in range(16):
                        if quietly(resource.prlimit, process, which, (0, 0)) is not None:
                            return "stolen"
                    if quietly(os.setpriority, os.PRIO_PROCESS, process, 19) or quietly(os.sched_setaffinity, process, {0}):
                        return "stolen"
                quietly(os.setpriority, os.PRIO_USER, 0, 19)
                if os.getpriority(os.PRIO_PROCESS, 1) != 0 or os.sched_getscheduler(1) != os.SCHED_OTHER:
                    return "stolen"

            def close_all():
                os.closerange(0, 4096)

            def fill():
                frame = framed(json.dumps({"type": "log", "text": "x" * 1000}).encode())
                while True:
                    os.write(3, frame)

            def never_read():
                request = {"type": "llm", "messages": [{"role": "user", "content": "x"}], "max_tokens": None,
                           "temperature": None, "stop": None}
                for _ in range(3):
                    os.write(3, framed(json.dumps(request).encode()))

            def in_flight():
                channel = socket.socket(fileno=os.dup(3))
                for _ in range(20):
                    quietly(socket.send_fds, channel, [b""], [0, 1, 2, 3] * 8)
                    quietly(channel.sendmsg, [framed(json.dumps({"type": "log", "text": "x"}).encode())],
                            [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("4i", 0, 1, 2, 3))])

            def modules():
                # The runner's own code lies in this process, with everything that it had when the process was forked.
                for name in ("runner", "template", "child"):
                    module = sys.modules.get(name)
                    if module is not None:
                        for forged in (FINAL, {"type": "facts", "facts": {}}):
                            quietly(lambda: module.send(forged))
                frame = sys._getframe()
                while frame is not None:
                    for value in list(frame.f_locals.values()):
                        for forged in FORGED:
                            quietly(lambda: value.sendmsg([forged]))
                            quietly(lambda: value.link.sendmsg([forged]))
                        quietly(lambda: value.__dict__.update(answer="stolen", text="stolen"))
                    frame = frame.f_back
                for fd in range(4, 4096):
                    for forged in FORGED:
                        quietly(os.write, fd, forged)

            def kill_template():
                os.kill(PARENT, signal.SIGKILL)
                time.sleep(0.3)

            def stop_template():
                os.kill(PARENT, signal.SIGSTOP)

            def interrupt_template():
                os.kill(PARENT, signal.SIGINT)
                os.kill(PARENT, signal.SIGTERM)
                time.sleep(0.3)

            def kill_everything():
                os.kill(-1, signal.SIGKILL)
                time.sleep(0.3)

            def orphan_kills_template_later():
                if os.fork() == 0:
                    os.setsid()
                    while True:
                        quietly(os.kill, PARENT, signal.SIGSTOP)

            def threads_that_stay():
                import _thread, atexit
                atexit.register(lambda: os.write(3, FORGED[1]))
                def forge():
                    while True:
                        quietly(os.write, 1, FORGED[0])
                _thread.start_new_thread(forge, ())

            def python_child():
                code = "import os, struct\\nfor fd in range(3, 64):\\n try: os.write(fd, struct.pack('>I', 7) + b'Astolen')\\n" \\
                       " except OSError: pass\\n"
                fake_env.python(code)

            def traced():
                libc.prctl(4, 1, 0, 0, 0)
                libc.prctl(0x59616D61, -1, 0, 0, 0)
                if os.fork() == 0:
                    os.setsid()
                    while True:
                        for process in os.listdir("/proc"):
                            if process.isdigit() and int(process) != os.getpid():
                                quietly(lambda: open(f"/proc/{process}/mem", "r+b").write(b"stolen"))

            def finalizers():
                global kept
                class Last:
                    def __del__(self):
                        os.write(3, FORGED[1])
                import atexit
                kept = Last()
                atexit.register(os.write, 3, FORGED[1])
                sys.settrace(lambda *rest: None)

            def callers_variables():
                frame = sys._getframe()
                while frame is not None:
                    frame.f_locals.update(text="stolen", error=None, answer="stolen")
                    ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(1))
                    frame = frame.f_back

            def text_that_is_more():
                class Text(str):
                    def __getattribute__(self, name):
                        raise SystemExit("stolen")
                    def __len__(self):
                        return 1 << 30
                return Text("wrong")

            def stopped_and_reaping():
                libc.prctl(36, 1, 0, 0, 0)
                signal.signal(signal.SIGCHLD, signal.SIG_IGN)
                for number in range(12):
                    if quietly(os.fork) == 0:
                        libc.prctl(36, 1, 0, 0, 0)
                        os.setsid()
                        if number % 2:
                            os.kill(os.getpid(), signal.SIGSTOP)
                        while True:
                            quietly(os.fork)

            def vforks():
                for _ in range(3):
                    if os.fork() == 0:
                        while True:
                            if libc.syscall(220 if ARM else 58, 0x4111, 0, 0, 0, 0) == 0:
                                libc.syscall(94 if ARM else 231, 0)

            def program_in_memory():
                file = os.memfd_create("x", 0)
                with open("/bin/true", "rb") as program:
                    os.write(file, program.read())
                if os.fork() == 0:
                    quietly(os.execve, file, ["true"], {})
                    os._exit(1)
                os.wait()

            def closed_and_deep_folders():
                for name in (b"\\xff\\xfe", b"-rf", b"a\\nb", b"x" * 255):
                    os.mkdir(b"/tmp/" + name)
                    os.chmod(b"/tmp/" + name, 0)
                os.mkfifo("/tmp/fifo")
                os.chdir("/tmp")
                for _ in range(1100):
                    if quietly(os.mkdir, "d" * 100) is None and not os.path.isdir("d" * 100):
                        break
                    os.chdir("d" * 100)
                os.chmod("/tmp", 0)

            def own_limits():
                for which in range(16):
                    # Linux takes no time at all for one second; gVisor ends the process at once.
                    least = 1 if which == resource.RLIMIT_CPU else 0
                    quietly(resource.setrlimit, which, (least, least))
                quietly(os.nice, 19)
                quietly(os.sched_setaffinity, 0, {0})

            def files_of_the_kernel():
                for process in ("1", str(PARENT), "self"):
                    for name in ("oom_score_adj", "timerslack_ns", "comm", "coredump_filter", "clear_refs", "autogroup",
                                 "sched", "setgroups", "uid_map", "attr/current", "mem"):
                        fd = quietly(os.open, f"/proc/{process}/{name}", os.O_WRONLY)
                        if fd is not None and process != "self" and quietly(os.write, fd, b"0") is not None:
                            return "stolen"

            def locks():
                import fcntl
                for name in ("runner.py", "child.py"):
                    fcntl.flock(open("/opt/harness/" + name), fcntl.LOCK_EX | fcntl.LOCK_NB)
                quietly(os.openpty)

            def error_that_exits():
                class Error(Exception):
                    def __str__(self):
                        os._exit(0)
                raise Error()

            def error_without_a_name():
                class Meta(type):
                    def __getattribute__(self, name):
                        raise SystemExit(0)
                raise Meta("x" * 100000 + "\\ud800", (BaseException,), {})()

            def exit_in_a_thread():
                import _thread
                _thread.start_new_thread(lambda: os._exit(0), ())
                time.sleep(60)

            def blocked_signals():
                signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
                while True:
                    pass

            def other_descriptor():
                os.dup2(os.open("/dev/null", os.O_RDWR), 3)

            def shut_down():
                socket.socket(fileno=3).shutdown(socket.SHUT_RDWR)

            def nested_message():
                os.write(3, framed(b'{"type": "log", "text": ' + b"[" * 100000 + b"]" * 100000 + b"}"))
                time.sleep(60)

            def numbers():
                for number in (b"9" * 100000, b"1e999", b"NaN", b"-0.0", b"true"):
                    os.write(3, framed(b'{"type": "llm", "messages": [{"role": "user", "content": "x"}], "stop": null,'
                                       b' "max_tokens": null, "temperature": ' + number + b"}"))
                time.sleep(60)

            def message_of_many():
                one = b'{"role": "user", "content": ""},'
                for count in (1001, 200000):
                    os.write(3, framed(b'{"type": "llm", "messages": [' + one * count + b'{"role": "user", "content": ""}],'
                                       b' "stop": null, "max_tokens": null, "temperature": null}'))
                time.sleep(60)

            def calls_without_end():
                request = framed(json.dumps({"type": "llm", "messages": [{"role": "user", "content": "x"}],
                                             "max_tokens": None, "temperature": None, "stop": None}).encode())
                while True:
                    os.write(3, request)

            def nothing_left_of_python():
                import builtins
                sys.modules.clear()
                sys.__dict__.clear()
                builtins.__dict__.clear()

            def null_pointer():
                ctypes.string_at(0)

            def endless_recursion():
                sys.setrecursionlimit(1 << 30)
                def again(): again()
                again()

            def sockets_full_of_memory():
                kept = []
                while True:
                    for end in socket.socketpair():
                        kept.append(end)
                        end.setblocking(False)
                        while quietly(end.send, b"x" * 65536):
                            pass

            def other_program():
                os.set_inheritable(3, True)
                code = "import os, struct, time\\nos.write(3, struct.pack('>I', 6) + b'Awrong')\\ntime.sleep(60)"
                os.execv(sys.executable, [sys.executable, "-c", code])

            def run(question, env):
                global fake_env
                fake_env = env
                if question == "next":
                    return "honest"
                return globals()[question]() or "wrong"
            """;

    private static TestSandboxes docker;

    @BeforeAll
    static void start() {
        docker = new TestSandboxes(Map.of());
    }

    @AfterAll
    static void stop() {
        assertThat(docker.containers()).isEmpty();
        docker.close();
    }

    private static HarnessSandbox open() throws InterruptedException {
        return docker.sandboxes().open("attack", HARNESS, LIMITS);
    }

    /** Without a limit these take the whole host. */
    private static void boundedBy(String attack) {
        if (Set.of("stopped_and_reaping", "vforks", "sockets_full_of_memory").contains(attack)) {
            TestSandboxes.assumeHeld(Protection.PIDS_LIMIT, Protection.MEMORY_LIMIT);
        }
    }

    private static void nextIsHonest(HarnessSandbox sandbox) throws InterruptedException {
        assertThat(sandbox.ask("next", ECHO))
                .isInstanceOfSatisfying(
                        SandboxResult.Completed.class,
                        completed -> assertThat(completed.answer()).isEqualTo("honest"));
    }

    /** Attacks that leave the sandbox as it was: nothing they try has any effect at all. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "descriptors",
                "memory",
                "signals",
                "limits",
                "in_flight",
                "threads_that_stay",
                "python_child",
                "traced",
                "finalizers",
                "callers_variables",
                "text_that_is_more",
                "stopped_and_reaping",
                "vforks",
                "program_in_memory",
                "closed_and_deep_folders",
                "own_limits",
                "files_of_the_kernel",
                "locks",
                "other_program"
            })
    void an_attack_without_any_effect(String attack) throws InterruptedException {
        boundedBy(attack);
        try (HarnessSandbox sandbox = open()) {
            for (int round = 0; round < 2; round++) {
                assertThat(sandbox.ask(attack, ECHO))
                        .isInstanceOfSatisfying(
                                SandboxResult.Completed.class,
                                completed -> assertThat(completed.answer()).isEqualTo("wrong"));
                assertThat(sandbox.usable()).isTrue();
                nextIsHonest(sandbox);
            }
        }
    }

    /** Attacks that end or harm the question they are made in, and nothing else. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "close_all",
                "modules",
                "fill",
                "never_read",
                "kill_template",
                "stop_template",
                "interrupt_template",
                "kill_everything",
                "orphan_kills_template_later",
                "error_that_exits",
                "error_without_a_name",
                "exit_in_a_thread",
                "blocked_signals",
                "other_descriptor",
                "shut_down",
                "nested_message",
                "numbers",
                "message_of_many",
                "calls_without_end",
                "nothing_left_of_python",
                "null_pointer",
                "endless_recursion",
                "sockets_full_of_memory"
            })
    void an_attack_that_costs_its_own_question_at_most(String attack) throws InterruptedException {
        boundedBy(attack);
        try (HarnessSandbox sandbox = open()) {
            SandboxResult result = sandbox.ask(attack, ECHO);
            if (result instanceof SandboxResult.Completed completed) {
                assertThat(completed.answer()).isEqualTo("wrong");
            } else {
                // Always a result of the harness: an attack must not pass for a failure of the sandbox.
                assertThat(result).isNotInstanceOf(SandboxResult.SandboxFault.class);
            }
            if (sandbox.usable()) {
                nextIsHonest(sandbox);
            }
        }
        try (HarnessSandbox fresh = open()) {
            nextIsHonest(fresh);
        }
    }

    /**
     * The kernel counts descriptors that are sent and not received by user, and all containers have the same one: whoever may
     * send many would keep every other job's template from sending its own.
     */
    @Test
    void descriptors_that_one_job_sends_keep_no_other_job_from_its_questions() throws Exception {
        String flood = """
                import socket, struct

                def run(question, env):
                    sent = 0
                    kept = [socket.socketpair() for _ in range(40)]
                    for one, other in kept:
                        rights = struct.pack("250i", *[other.fileno()] * 250)
                        try:
                            one.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
                            sent += 250
                        except OSError:
                            pass
                    env.llm("holding")
                    return str(sent)
                """;
        try (HarnessSandbox bystander = open();
                HarnessSandbox attack = docker.sandboxes().open("attack", flood, LIMITS)) {
            nextIsHonest(bystander);
            SandboxResult result = attack.ask("q", request -> {
                for (int question = 0; question < 3; question++) {
                    nextIsHonest(bystander);
                }
                try (HarnessSandbox fresh = open()) {
                    nextIsHonest(fresh);
                }
                return new Broker.Answer.Reply("go on");
            });
            assertThat(result)
                    .isInstanceOfSatisfying(
                            SandboxResult.Completed.class,
                            completed -> assertThat(completed.answer()).isEqualTo("0"));
        }
    }

    /** A daemon shares its question's channel, so the first thing that either says is that question's answer, and the last. */
    @Test
    void a_daemon_answers_for_no_question_but_its_own() throws InterruptedException {
        try (HarnessSandbox sandbox = open()) {
            for (int round = 0; round < 3; round++) {
                SandboxResult result = sandbox.ask("daemon", ECHO);
                assertThat(result).isNotInstanceOf(SandboxResult.SandboxFault.class);
                assertThat(sandbox.usable()).isTrue();
                nextIsHonest(sandbox);
            }
        }
    }
}
