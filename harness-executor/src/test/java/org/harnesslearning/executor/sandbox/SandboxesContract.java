package org.harnesslearning.executor.sandbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.harnesslearning.contracts.execution.CheckResult;
import org.harnesslearning.contracts.execution.HarnessError;
import org.harnesslearning.contracts.execution.Limits;
import org.harnesslearning.contracts.execution.PythonRun;
import org.harnesslearning.contracts.model.ChatRequest;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.executor.TestSandboxes;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * What every implementation of {@link Sandboxes} must do; each has a test class that extends this one. A fixture makes the
 * implementation from settings and can say what is left behind by it.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class SandboxesContract {
    /** An implementation under test. */
    interface Fixture extends AutoCloseable {
        Sandboxes sandboxes();

        /** Names of what exists on behalf of jobs, such as containers; empty when no job runs. */
        List<String> left();

        /** Kills from outside whatever runs jobs now. */
        void killJobs();

        @Override
        void close();
    }

    /**
     * A new fixture.
     *
     * @param changes settings by their full names that differ from the defaults
     */
    abstract Fixture fixture(Map<String, Object> changes);

    private static final Limits LIMITS = new Limits(3, 5, TestSandboxes.MEMORY_MIB);
    private static final Limits SHORT = new Limits(3, 1, TestSandboxes.MEMORY_MIB);
    private static final Broker ECHO = request ->
            new Broker.Answer.Reply("reply to " + request.messages().getLast().content());
    private Fixture fixture;

    @BeforeAll
    void start() {
        fixture = fixture(Map.of());
    }

    @AfterAll
    void stop() {
        fixture.close();
    }

    @AfterEach
    void nothing_is_left() throws InterruptedException {
        // A pool removes and replaces its members in the background.
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
        while (!fixture.left().isEmpty() && System.nanoTime() < deadline) {
            Thread.sleep(50);
        }
        assertThat(fixture.left()).isEmpty();
    }

    private HarnessSandbox open(String source, Limits limits) throws InterruptedException {
        return fixture.sandboxes().open("test", source, limits);
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
        return ((SandboxResult.Crashed) result).error();
    }

    @Test
    void a_harness_answers_and_its_trace_is_kept() throws InterruptedException {
        String source = """
                import os, sys

                def run(question, env):
                    env.log("plan: ask")
                    print("to stdout")
                    print("to stderr", file=sys.stderr)
                    os.system("echo from a child process")
                    result = env.python("print(6 * 7)")
                    return env.llm(question) + " and " + result.stdout
                """;
        try (HarnessSandbox sandbox = open(source, LIMITS)) {
            SandboxResult result = sandbox.ask("Grüße 🙂", ECHO);
            assertThat(answer(result)).isEqualTo("reply to Grüße 🙂 and 42\n");
            SandboxResult.Output output = ((SandboxResult.Completed) result).output();
            assertThat(output.stdout()).contains("to stdout", "from a child process");
            assertThat(output.stderr()).isEqualTo("to stderr\n");
            assertThat(output.log()).containsExactly("plan: ask");
            assertThat(output.pythonRuns()).containsExactly(new PythonRun("print(6 * 7)", "42\n", "", null));
            assertThat(sandbox.usable()).isTrue();
        }
    }

    @Test
    void the_request_of_env_llm_reaches_the_broker_as_made() throws InterruptedException {
        String source = """
                def run(question, env):
                    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": question}]
                    return env.llm(messages, max_tokens=7, temperature=0.5, stop="END")
                """;
        try (HarnessSandbox sandbox = open(source, LIMITS)) {
            SandboxResult result = sandbox.ask("q", request -> {
                assertThat(request)
                        .isEqualTo(new Broker.Request(
                                List.of(new ChatRequest.Message("system", "s"), new ChatRequest.Message("user", "q")),
                                7,
                                0.5,
                                List.of("END")));
                return new Broker.Answer.Reply("fine");
            });
            assertThat(answer(result)).isEqualTo("fine");
        }
    }

    @Test
    void an_exception_carries_the_harness_own_frames() throws InterruptedException {
        String source = """
                def parse(text):
                    return int(text)

                def run(question, env):
                    return parse("four")
                """;
        HarnessError error = error(ask(source, LIMITS));
        assertThat(error.type()).isEqualTo("ValueError");
        assertThat(error.message()).contains("invalid literal for int()");
        assertThat(error.frames())
                .containsExactly(
                        new HarnessError.Frame(5, "run", "return parse(\"four\")"),
                        new HarnessError.Frame(2, "parse", "return int(text)"));
    }

    @Test
    void a_harness_that_does_not_compile_fails_every_question_with_its_line() throws InterruptedException {
        HarnessError error = error(ask("def run(question, env):\n    return (\n", LIMITS));
        assertThat(error.type()).isEqualTo("SyntaxError");
        assertThat(error.frames()).extracting(HarnessError.Frame::line).containsExactly(2);
    }

    @Test
    void what_is_not_text_is_no_answer() throws InterruptedException {
        assertThat(error(ask("def run(question, env):\n    return 4\n", LIMITS)).message())
                .isEqualTo("run returned int, not text");
        // A text whose class lies about comparison and conversion counts by its real characters.
        String liar = """
                class Liar(str):
                    def __eq__(self, other): return True
                    def encode(self, *args): return b"42"
                    def __str__(self): return "42"

                def run(question, env):
                    return Liar("wrong")
                """;
        assertThat(answer(ask(liar, LIMITS))).isEqualTo("wrong");
    }

    @Test
    void every_bad_end_keeps_its_own_code_and_the_next_question_is_fine() throws InterruptedException {
        TestSandboxes.assumeHeld(Protection.MEMORY_LIMIT, Protection.PIDS_LIMIT);
        String source = """
                import os, sys, time

                def run(question, env):
                    if question == "loop":
                        while True:
                            pass
                    if question == "sleep":
                        time.sleep(60)
                    if question == "memory":
                        keep = []
                        while True:
                            keep.append(bytearray(1 << 20))
                    if question == "flood":
                        for _ in range(100):
                            os.write(1, b"x" * (1 << 20))
                    if question == "both":
                        while True:
                            os.write(1, b"x" * 65536)
                            os.write(2, b"y" * 65536)
                    if question == "log":
                        while True:
                            env.log("z" * 100000)
                    if question == "huge":
                        return "a" * 1000000
                    if question == "forks":
                        while True:
                            try:
                                os.fork()
                            except OSError:
                                pass
                    if question == "sleepers":
                        while True:
                            try:
                                if os.fork() == 0:
                                    os.setsid()
                                    time.sleep(60)
                            except OSError:
                                time.sleep(60)
                    if question == "exit":
                        os._exit(0)
                    if question == "system exit":
                        sys.exit(0)
                    if question == "signal":
                        os.kill(os.getpid(), 9)
                    if question == "orphan":
                        if os.fork() == 0:
                            os.setsid()
                            time.sleep(60)
                        return "left an orphan"
                    return "fine"
                """;
        Map<String, Class<? extends SandboxResult>> ends = Map.ofEntries(
                Map.entry("loop", SandboxResult.TimedOut.class),
                Map.entry("sleep", SandboxResult.TimedOut.class),
                Map.entry("flood", SandboxResult.OutputLimit.class),
                Map.entry("both", SandboxResult.OutputLimit.class),
                Map.entry("log", SandboxResult.OutputLimit.class),
                Map.entry("huge", SandboxResult.OutputLimit.class),
                Map.entry("forks", SandboxResult.TimedOut.class),
                Map.entry("sleepers", SandboxResult.TimedOut.class),
                Map.entry("exit", SandboxResult.Crashed.class),
                Map.entry("system exit", SandboxResult.Crashed.class),
                Map.entry("signal", SandboxResult.Crashed.class),
                Map.entry("orphan", SandboxResult.Completed.class));
        try (HarnessSandbox sandbox = open(source, SHORT)) {
            for (Map.Entry<String, Class<? extends SandboxResult>> end : ends.entrySet()) {
                assertThat(sandbox.ask(end.getKey(), ECHO)).as(end.getKey()).isInstanceOf(end.getValue());
                assertThat(sandbox.usable()).as(end.getKey()).isTrue();
                assertThat(answer(sandbox.ask("next", ECHO))).as(end.getKey()).isEqualTo("fine");
            }
            // The engine remembers a memory kill as long as the container lives, so this one takes no more questions.
            assertThat(sandbox.ask("memory", ECHO)).isInstanceOf(SandboxResult.OutOfMemory.class);
            assertThat(sandbox.usable()).isFalse();
        }
    }

    @Test
    void forged_messages_gain_nothing_but_the_childs_own_answer() throws InterruptedException {
        String source = """
                import json, os, struct

                def send(frame):
                    body = json.dumps(frame).encode()
                    os.write(3, struct.pack(">I", len(body)) + body)

                def run(question, env):
                    if question == "final":
                        send({"type": "final", "nonce": "x", "outcome": "completed", "answer": "forged", "clean": True})
                    if question == "stdout":
                        body = json.dumps({"type": "final", "nonce": "x", "outcome": "completed", "answer": "forged"})
                        os.write(1, struct.pack(">I", len(body)) + body.encode())
                    if question == "junk":
                        os.write(3, b"\\x7f\\xff\\xff\\xff")
                    if question == "system":
                        json.dumps = lambda value: '{"type": "answer", "text": "patched"}'
                        os.write = lambda fd, data: len(data)
                    if question == "role":
                        send({"type": "llm", "messages": [{"role": "root", "content": "x"}], "max_tokens": None,
                              "temperature": None, "stop": None})
                    if question == "closed":
                        os.close(3)
                    return "honest"
                """;
        try (HarnessSandbox sandbox = open(source, SHORT)) {
            for (String attack : List.of("final", "junk", "role")) {
                assertThat(sandbox.ask(attack, ECHO))
                        .as(attack)
                        .isInstanceOfSatisfying(
                                SandboxResult.Crashed.class,
                                crashed -> assertThat(crashed.violation()).isTrue());
            }
            assertThat(answer(sandbox.ask("stdout", ECHO))).isEqualTo("honest");
            for (String attack : List.of("system", "closed")) {
                assertThat(sandbox.ask(attack, ECHO)).as(attack).isInstanceOf(SandboxResult.Crashed.class);
            }
            assertThat(answer(sandbox.ask("fine", ECHO))).isEqualTo("honest");
        }
    }

    @Test
    void a_question_finds_nothing_of_the_one_before() throws InterruptedException {
        String source = """
                import os, gc

                seen = []

                def run(question, env):
                    seen.append(question)
                    texts = [o for o in gc.get_objects() if isinstance(o, dict) and "secret of one" in o.values()]
                    left = {folder: os.listdir(folder) for folder in ("/tmp", "/dev/mqueue") if os.path.isdir(folder)}
                    os.makedirs("/tmp/deep/er")
                    for path in ("/tmp/file", "/tmp/deep/er/file"):
                        with open(path, "w") as file:
                            file.write("left")
                    os.symlink("/etc", "/tmp/link")
                    os.chmod("/tmp/deep/er", 0)
                    return repr((seen, sum(map(len, left.values())), len(texts)))
                """;
        try (HarnessSandbox sandbox = open(source, LIMITS)) {
            assertThat(sandbox.ask("secret of one", ECHO)).isInstanceOf(SandboxResult.Completed.class);
            if (sandbox.usable()) {
                assertThat(answer(sandbox.ask("two", ECHO))).isEqualTo("(['two'], 0, 0)");
            }
        }
        String tidy = """
                import os

                def run(question, env):
                    left = os.listdir("/tmp")
                    with open("/tmp/file", "w") as file:
                        file.write(question)
                    return repr(left)
                """;
        try (HarnessSandbox sandbox = open(tidy, LIMITS)) {
            assertThat(answer(sandbox.ask("one", ECHO))).isEqualTo("[]");
            assertThat(answer(sandbox.ask("two", ECHO))).isEqualTo("[]");
        }
    }

    @Test
    void threads_of_a_harness_may_call_at_the_same_time() throws InterruptedException {
        String source = """
                from concurrent.futures import ThreadPoolExecutor

                def run(question, env):
                    def ask(number):
                        env.log("x" * 1000)
                        return env.llm(str(number))

                    with ThreadPoolExecutor(4) as pool:
                        return ",".join(pool.map(ask, range(8)))
                """;
        try (HarnessSandbox sandbox = open(source, LIMITS)) {
            SandboxResult result = sandbox.ask(
                    "q",
                    request ->
                            new Broker.Answer.Reply(request.messages().getLast().content()));
            assertThat(answer(result)).isEqualTo("0,1,2,3,4,5,6,7");
        }
    }

    @Test
    void jobs_past_the_places_wait_and_past_the_queue_are_to_come_again_later() throws Exception {
        String source = "def run(question, env):\n    return env.llm(question)\n";
        try (Fixture narrow = fixture(Map.of("executor.sandbox.max-containers", 1, "executor.admission.queue", 1))) {
            Sandboxes sandboxes = narrow.sandboxes();
            assertThat(sandboxes.gaps()).isEmpty();
            assertThat(sandboxes.retryAfterS(LIMITS)).isEmpty();
            try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                Future<String> second;
                try (HarnessSandbox first = sandboxes.open("first", source, LIMITS)) {
                    assertThat(sandboxes.retryAfterS(LIMITS)).as("one may wait").isEmpty();
                    second = threads.submit(() -> {
                        try (HarnessSandbox sandbox = sandboxes.open("second", source, LIMITS)) {
                            return answer(sandbox.ask("q", ECHO));
                        }
                    });
                    await().atMost(Duration.ofSeconds(20))
                            .until(() -> sandboxes.retryAfterS(LIMITS).isPresent());
                    assertThat(sandboxes.retryAfterS(LIMITS).orElseThrow()).isBetween(1, 60);
                    assertThat(answer(first.ask("q", ECHO))).isEqualTo("reply to q");
                    assertThat(second.isDone()).isFalse();
                }
                assertThat(second.get()).isEqualTo("reply to q");
            }
            assertThat(sandboxes.retryAfterS(LIMITS)).isEmpty();
        }
    }

    @Test
    void answers_of_calls_that_come_at_once_all_arrive() throws InterruptedException {
        String source = """
                import json, os, struct, time

                def exactly(count):
                    data = b""
                    while len(data) < count:
                        data += os.read(3, count - len(data))
                    return data

                def run(question, env):
                    requests = b""
                    for number in range(60):
                        body = json.dumps({"type": "llm", "messages": [{"role": "user", "content": str(number)}],
                                           "max_tokens": None, "temperature": None, "stop": None}).encode()
                        requests += struct.pack(">I", len(body)) + body
                    os.write(3, requests)
                    sum = 0
                    for number in range(60):
                        reply = json.loads(exactly(struct.unpack(">I", exactly(4))[0]))
                        sum += int(reply["text"].removeprefix("reply to "))
                    return str(sum)
                """;
        try (HarnessSandbox sandbox = open(source, LIMITS)) {
            for (int question = 0; question < 3; question++) {
                assertThat(answer(sandbox.ask("q", ECHO))).isEqualTo("1770");
                assertThat(sandbox.usable()).isTrue();
            }
        }
    }

    @Test
    void texts_with_half_a_character_pass_in_both_directions() throws InterruptedException {
        String source = "def run(question, env):\n    return env.llm(question) + '|' + question + '|\\ud83d'\n";
        try (HarnessSandbox sandbox = open(source, LIMITS)) {
            SandboxResult result = sandbox.ask("q\ud83d", request -> new Broker.Answer.Reply("cut \ude00"));
            assertThat(answer(result)).isEqualTo("cut ?|q?|?");
        }
        // And a program that has one is refused by the compiler or runs, as any other.
        assertThat(answer(ask("def run(question, env):\n    return 'x\ud83d'\n", LIMITS)))
                .isEqualTo("x?");
    }

    @Test
    void what_is_kept_of_a_trace_is_bounded_and_says_what_is_not() throws InterruptedException {
        String source = """
                import json, os, struct

                def send(frame):
                    body = json.dumps(frame).encode()
                    data = struct.pack(">I", len(body)) + body
                    while data:
                        data = data[os.write(3, data):]

                def run(question, env):
                    run = {"type": "python", "code": "c" * 6000, "stdout": "o" * 6000, "stderr": "e" * 6000, "error": "r" * 6000}
                    for _ in range(100):
                        send(run)
                        env.log("l" * 1000)
                    return "fine"
                """;
        SandboxResult result = ask(source, LIMITS);
        assertThat(answer(result)).isEqualTo("fine");
        SandboxResult.Output output = ((SandboxResult.Completed) result).output();
        int runs = output.pythonRuns().stream()
                .mapToInt(run -> run.code().length()
                        + run.stdout().length()
                        + run.stderr().length())
                .sum();
        assertThat(runs).isBetween(10_000, 100_000);
        assertThat(output.log().stream().mapToInt(String::length).sum()).isBetween(8_000, 9_000);
        assertThat(output.log().getLast()).matches("\\[... \\d+ log entries and runs of Python left out ...]");
    }

    @Test
    void sets_have_the_same_order_in_every_sandbox() throws InterruptedException {
        String source = """
                def run(question, env):
                    votes = [str(number) for number in range(50)]
                    return " ".join(set(votes)) + env.python("print(list({str(n) for n in range(50)}))").stdout
                """;
        assertThat(answer(ask(source, LIMITS))).isEqualTo(answer(ask(source, LIMITS)));
    }

    @Test
    void a_harness_that_the_compiler_does_not_survive_fails_in_words() throws InterruptedException {
        TestSandboxes.assumeHeld(Protection.MEMORY_LIMIT);
        String end = "\n\ndef run(question, env):\n    return question\n";
        for (String hostile : List.of(
                "x = " + "-".repeat(300_000) + "1",
                "x = a" + ".a".repeat(200_000),
                "x = [" + "[], ".repeat(200_000) + "]")) {
            HarnessError error = error(ask(hostile + end, new Limits(3, 5, 64)));
            assertThat(error.type()).isIn("MemoryError", "RecursionError");
        }
    }

    @Test
    void env_python_is_bounded_and_reports_errors() throws InterruptedException {
        TestSandboxes.assumeHeld(Protection.MEMORY_LIMIT);
        String source = """
                def run(question, env):
                    slow = env.python("while True: pass", timeout_s=0.3)
                    bad = env.python("print(1)\\n1/0")
                    loud = env.python("print('x' * 1000000)")
                    big = env.python("x = bytearray(1 << 30)")
                    return "|".join([slow.error, bad.stdout, bad.error, loud.error, big.error])
                """;
        assertThat(answer(ask(source, LIMITS)))
                .isEqualTo("timed out after 0.3 s|1\n|ZeroDivisionError: division by zero|wrote more than 65536 bytes"
                        + "|MemoryError");
    }

    @Test
    void the_clock_stops_while_a_model_call_is_pending() throws InterruptedException {
        String source = """
                import time

                def run(question, env):
                    time.sleep(0.4)
                    return env.llm("slow")
                """;
        try (HarnessSandbox sandbox = open(source, SHORT)) {
            // The call takes longer than the question's whole clock.
            SandboxResult result = sandbox.ask("q", request -> {
                new CountDownLatch(1).await(1500, TimeUnit.MILLISECONDS);
                return new Broker.Answer.Reply("late");
            });
            assertThat(answer(result)).isEqualTo("late");
        }
    }

    @Test
    void a_call_that_outlives_the_deadline_is_no_score() throws InterruptedException {
        try (Fixture strict =
                fixture(Map.of("executor.sandbox.deadline-factor", 1, "executor.sandbox.clock-grace", "500ms"))) {
            HarnessSandbox sandbox =
                    strict.sandboxes().open("test", "def run(question, env):\n    return env.llm('x')\n", SHORT);
            assertThatThrownBy(() -> sandbox.ask("q", request -> {
                        new CountDownLatch(1).await();
                        return new Broker.Answer.Reply("never");
                    }))
                    .isInstanceOf(Broker.PendingCallException.class);
            sandbox.close();
            assertThat(strict.left()).isEmpty();
        }
    }

    @Test
    void a_deadline_that_passes_between_the_calls_is_a_time_out() throws InterruptedException {
        try (Fixture strict =
                fixture(Map.of("executor.sandbox.deadline-factor", 1, "executor.sandbox.clock-grace", "500ms"))) {
            String source = "def run(question, env):\n    env.llm('x')\n    while True: pass\n";
            try (HarnessSandbox sandbox =
                    strict.sandboxes().open("test", source, new Limits(3, 2, TestSandboxes.MEMORY_MIB))) {
                // The question's clock, which stood for a second, has not run out by then.
                assertThat(sandbox.ask("q", request -> {
                            new CountDownLatch(1).await(1, TimeUnit.SECONDS);
                            return new Broker.Answer.Reply("late");
                        }))
                        .isInstanceOf(SandboxResult.TimedOut.class);
                assertThat(sandbox.usable()).isFalse();
            }
        }
    }

    @Test
    void a_refused_request_raises_inside_the_harness_and_a_used_up_budget_ends_it() throws InterruptedException {
        String source = """
                def run(question, env):
                    try:
                        return env.llm(question)
                    except Exception as e:
                        return f"{type(e).__name__}: {e}"
                """;
        try (HarnessSandbox sandbox = open(source, LIMITS)) {
            assertThat(answer(sandbox.ask("q", request -> new Broker.Answer.Refused("the prompt is too long"))))
                    .isEqualTo("LlmError: the prompt is too long");
            AtomicInteger calls = new AtomicInteger();
            assertThat(sandbox.ask("q", request -> {
                        calls.incrementAndGet();
                        throw new Broker.CallBudgetException(0);
                    }))
                    .isInstanceOf(SandboxResult.BudgetExceeded.class);
            assertThat(calls).hasValue(1);
            assertThatThrownBy(() -> sandbox.ask("q", request -> {
                        throw new IllegalStateException("the solver is away");
                    }))
                    .hasMessage("the solver is away");
            assertThat(answer(sandbox.ask("q", ECHO))).isEqualTo("reply to q");
            assertThat(answer(sandbox.ask("search", ECHO))).isEqualTo("reply to search");
        }
        assertThat(error(ask("def run(question, env):\n    return env.search('x')\n", LIMITS))
                        .type())
                .isEqualTo("SearchUnavailable");
    }

    @Test
    void a_job_that_is_killed_from_outside_is_a_fault() throws InterruptedException {
        String source = "def run(question, env):\n    return env.llm(question)\n";
        try (HarnessSandbox sandbox = open(source, LIMITS)) {
            SandboxResult result = sandbox.ask("q", request -> {
                fixture.killJobs();
                return new Broker.Answer.Reply("too late");
            });
            assertThat(result).isInstanceOf(SandboxResult.SandboxFault.class);
            assertThat(sandbox.usable()).isFalse();
        }
    }

    @Test
    void an_interrupt_ends_the_question_and_leaves_nothing() throws Exception {
        CountDownLatch asked = new CountDownLatch(1);
        Thread thread = Thread.ofVirtual().start(() -> {
            try (HarnessSandbox sandbox = open("def run(question, env):\n    return env.llm(question)\n", LIMITS)) {
                sandbox.ask("q", request -> {
                    asked.countDown();
                    new CountDownLatch(1).await();
                    return new Broker.Answer.Reply("never");
                });
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        asked.await();
        thread.interrupt();
        assertThat(thread.join(Duration.ofSeconds(20))).isTrue();
    }

    @Test
    void jobs_at_the_same_time_keep_apart_and_all_end() throws Exception {
        String source = """
                import os

                def run(question, env):
                    left = os.listdir("/tmp")
                    with open("/tmp/mine", "w") as file:
                        file.write(question)
                    reply = env.llm(question)
                    return f"{left} {open('/tmp/mine').read()} {reply}"
                """;
        List<Callable<String>> jobs = new ArrayList<>();
        for (int job = 0; job < 12; job++) {
            String question = "question " + job;
            jobs.add(() -> {
                try (HarnessSandbox sandbox = open(source, LIMITS)) {
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
    void a_used_up_or_closed_sandbox_takes_no_more_questions() throws InterruptedException {
        HarnessSandbox sandbox = open("def run(question, env):\n    return question\n", LIMITS);
        try {
            assertThat(answer(sandbox.ask("q", ECHO))).isEqualTo("q");
            fixture.killJobs();
            assertThat(sandbox.ask("q", ECHO)).isInstanceOf(SandboxResult.SandboxFault.class);
            assertThat(sandbox.usable()).isFalse();
            assertThatThrownBy(() -> sandbox.ask("q", ECHO)).isInstanceOf(IllegalStateException.class);
        } finally {
            sandbox.close();
            sandbox.close();
        }
        assertThat(sandbox.usable()).isFalse();
    }

    @Test
    void a_check_executes_in_a_sandbox_of_its_own_and_finds_the_first_fault() throws InterruptedException {
        Sandboxes sandboxes = fixture.sandboxes();
        assertThat(sandboxes.check("def run(question, env):\n    return env.llm(question)\n", LIMITS))
                .isEqualTo(CheckResult.PASSED);
        Map<String, OutcomeCode> faults = Map.of(
                "def run(question, env:\n", OutcomeCode.SYNTAX_ERROR,
                "import socket\ndef run(question, env):\n    return ''\n", OutcomeCode.FORBIDDEN_CONSTRUCT,
                "def answer(question, env):\n    return ''\n", OutcomeCode.MISSING_ENTRY_POINT,
                "import nothing\ndef run(question, env):\n    return ''\n", OutcomeCode.IMPORT_ERROR,
                "def run(question, env):\n    return missing\n", OutcomeCode.SMOKE_ERROR,
                "def run(question, env):\n    while True: pass\n", OutcomeCode.SMOKE_TIMEOUT);
        for (Map.Entry<String, OutcomeCode> fault : faults.entrySet()) {
            assertThat(sandboxes.check(fault.getKey(), SHORT).code())
                    .as(fault.getKey())
                    .isEqualTo(fault.getValue());
        }
    }
}
