package org.harnesslearning.executor.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.observation.ObservationRegistry;
import java.util.Map;
import java.util.stream.Stream;
import org.harnesslearning.contracts.execution.CheckRequest;
import org.harnesslearning.contracts.execution.CheckResult;
import org.harnesslearning.contracts.execution.Limits;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.executor.TestSandboxes;
import org.harnesslearning.testing.RequiresDocker;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

@RequiresDocker
class HarnessCheckerTests {
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

    /** One harness and what its check finds. */
    record Case(
            String name,
            String source,
            @Nullable OutcomeCode code,
            @Nullable Integer line,
            String message) {
        @Override
        public String toString() {
            return name;
        }
    }

    private static Case passes(String name, String source) {
        return new Case(name, source, null, null, "");
    }

    private static Case run(String name, String body, @Nullable OutcomeCode code, String message) {
        return new Case(
                name,
                "def run(question, env):\n    " + body + "\n",
                code,
                code == null || code == OutcomeCode.SMOKE_TIMEOUT ? null : 2,
                message);
    }

    static Stream<Case> cases() {
        String entry = "\ndef run(question, env):\n    return 'x'\n";
        return Stream.of(
                passes("the seed", "def run(question: str, env) -> str:\n    return env.llm(question)\n"),
                passes("a byte order mark", "\ufeffdef run(question, env):\n    return 'x'\n"),
                passes("CRLF", "def run(question, env):\r\n    return 'x'\r\n"),
                passes("more parameters with defaults", "def run(question, env, depth=2, *, k=1):\n    return 'x'\n"),
                passes("level 3.11", "def run(q, env):\n    match q:\n        case _:\n            return 'x'\n"),
                new Case("no colon", "def run(question, env)\n    pass\n", OutcomeCode.SYNTAX_ERROR, 1, "line 1"),
                new Case(
                        "level 3.12",
                        "type X = int\n" + entry,
                        OutcomeCode.SYNTAX_ERROR,
                        1,
                        "SyntaxError: invalid syntax (line 1)"),
                new Case("NUL", "x = '\0'\n" + entry, OutcomeCode.SYNTAX_ERROR, null, "null bytes"),
                new Case("deep nesting", "x = " + "(".repeat(100_000), OutcomeCode.SYNTAX_ERROR, null, ""),
                new Case("deep unary", "x = " + "-".repeat(200_000) + "1", OutcomeCode.SYNTAX_ERROR, null, ""),
                new Case(
                        "import",
                        "import os\nimport socket as s\n" + entry,
                        OutcomeCode.FORBIDDEN_CONSTRUCT,
                        2,
                        "socket"),
                new Case(
                        "from import",
                        "from multiprocessing.pool import Pool\n" + entry,
                        OutcomeCode.FORBIDDEN_CONSTRUCT,
                        1,
                        "multiprocessing.pool"),
                new Case(
                        "__import__",
                        entry + "x = lambda: __import__('ctypes')\n",
                        OutcomeCode.FORBIDDEN_CONSTRUCT,
                        4,
                        "ctypes"),
                new Case("importlib", "import importlib\n" + entry, OutcomeCode.FORBIDDEN_CONSTRUCT, 1, "importlib"),
                new Case("C twin", "import _socket\n" + entry, OutcomeCode.FORBIDDEN_CONSTRUCT, 1, "_socket"),
                new Case(
                        "no entry point",
                        "def solve(q, env):\n    pass\n",
                        OutcomeCode.MISSING_ENTRY_POINT,
                        null,
                        "run"),
                new Case("one parameter", "def run(q):\n    pass\n", OutcomeCode.MISSING_ENTRY_POINT, null, "run"),
                new Case(
                        "three parameters",
                        "def run(a, b, c):\n    pass\n",
                        OutcomeCode.MISSING_ENTRY_POINT,
                        null,
                        "run"),
                new Case("async", "async def run(a, b):\n    pass\n", OutcomeCode.MISSING_ENTRY_POINT, null, "run"),
                new Case(
                        "import fails",
                        "x = 1\ny = 1 / 0\n" + entry,
                        OutcomeCode.IMPORT_ERROR,
                        2,
                        "ZeroDivisionError on import: division by zero, line 2: y = 1 / 0"),
                new Case(
                        "no such module",
                        "import numpy\n" + entry,
                        OutcomeCode.IMPORT_ERROR,
                        1,
                        "No module named 'numpy'"),
                new Case(
                        "import exits", "import sys\nsys.exit(0)\n" + entry, OutcomeCode.IMPORT_ERROR, 2, "SystemExit"),
                new Case("import loops", "while True: pass\n" + entry, OutcomeCode.SMOKE_TIMEOUT, null, "1 s"),
                new Case(
                        "import ends",
                        "import os\nos._exit(0)\n" + entry,
                        OutcomeCode.SMOKE_ERROR,
                        null,
                        "ended its process"),
                run("unknown name", "return undefined", OutcomeCode.SMOKE_ERROR, "NameError"),
                run("unbound local", "x += 1", OutcomeCode.SMOKE_ERROR, "UnboundLocalError"),
                run("late import", "import pandas", OutcomeCode.SMOKE_ERROR, "ModuleNotFoundError"),
                run("unknown member of env", "return env.ask(question)", OutcomeCode.SMOKE_ERROR, "'ask'"),
                run("member of a reply", "return env.llm(question).text", OutcomeCode.SMOKE_ERROR, "'text'"),
                run("member of a result", "return env.python('1').output", OutcomeCode.SMOKE_ERROR, "'output'"),
                run("unknown argument", "return env.llm(question, model='x')", OutcomeCode.SMOKE_ERROR, "'model'"),
                run("missing argument", "return env.llm()", OutcomeCode.SMOKE_ERROR, "missing 1 required"),
                run("ValueError", "return str(int(env.llm(question)))", null, ""),
                run("IndexError", "return env.llm(question).split(':')[1]", null, ""),
                run("attribute of None", "import re; return re.match('a=(.)', env.llm(question)).group(1)", null, ""),
                run("no text", "return None", null, ""),
                run("calls without end", "while True: env.llm(question)", null, ""),
                run("loop without end", "while True: pass", OutcomeCode.SMOKE_TIMEOUT, "1 s"));
    }

    @ParameterizedTest
    @MethodSource("cases")
    void a_check_finds(Case expected) throws InterruptedException {
        HarnessChecker checker = new HarnessChecker(docker.sandboxes(), ObservationRegistry.NOOP);
        CheckResult result = checker.check(new CheckRequest(expected.source(), new Limits(3, 1, 128)));
        assertThat(result.code()).as(String.valueOf(result.message())).isEqualTo(expected.code());
        if (expected.code() == null) {
            assertThat(result).isEqualTo(CheckResult.PASSED);
        } else {
            assertThat(result.message()).contains(expected.message());
            if (expected.line() != null) {
                assertThat(result.line()).isEqualTo(expected.line());
            }
        }
    }
}
