"""What runs in a forked child when it answers a question: the harness with its `env`.

The functions of the first part are also the runner's: they turn a child's message into plain values of known types.

Every page that a child writes is copied for it, and with a reference count every object that it looks at is written. So
next to nothing is imported here, what a program is going to use is imported before the fork (`preload`), and the way of an
answer touches few objects.
"""

import gc
import os
import sys
from _thread import allocate_lock

FILE = "harness.py"
ROLES = ("system", "user", "assistant")
MOST_MESSAGES = 1000
CHANNEL = 3


def __getattr__(name):
    """Result and Passage, made when first needed."""
    from collections import namedtuple

    if name == "Result":
        made = namedtuple("Result", "stdout stderr error")
        made.__doc__ = "What a run of env.python gave; error is None when the code ended normally."
    elif name == "Passage":
        made = namedtuple("Passage", "title text")
    else:
        raise AttributeError(name)
    return globals().setdefault(name, made)


class LlmError(Exception):
    """env.llm could not take this request, such as a prompt longer than the model's context."""


class ToolError(Exception):
    """A call of env.tool gave no result, for a reason that lies in the call: kind says which (arguments, unknown, http,
    too_large), status is that of an HTTP answer or None. A tool that is down is no ToolError: the question is asked again."""

    def __init__(self, message, kind, status=None):
        super().__init__(message)
        self.kind = kind
        self.status = status


class SearchUnavailable(Exception):
    """The task has no retriever."""


# ---- plain values ---------------------------------------------------------------------------------------------------


def plain(text):
    """A plain str that is valid UTF-8 without NUL, whatever subclass or surrogates came in."""
    if not isinstance(text, str):
        raise TypeError("not text")
    return str.encode(text, "utf-8", "replace").decode().replace("\0", "\ufffd")


def shorten(text, limit):
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[len(text) - half:]}"


def checked_request(frame):
    """The request of an env.llm message with plain values; raises TypeError or ValueError."""
    messages = []
    for message in frame["messages"]:
        if message["role"] not in ROLES or len(messages) == MOST_MESSAGES:
            raise ValueError("role, or too many")
        messages.append({"role": message["role"], "content": plain(message["content"])})
    if not messages:
        raise ValueError("messages")
    max_tokens, temperature, stop = frame["max_tokens"], frame["temperature"], frame["stop"]
    if max_tokens is not None:
        if type(max_tokens) is not int or max_tokens < 1:
            raise ValueError("max_tokens")
        max_tokens = min(max_tokens, 1 << 20)
    if temperature is not None and (type(temperature) not in (int, float) or not 0 <= temperature <= 2):
        raise ValueError("temperature")
    if stop is not None:
        if isinstance(stop, str):
            raise TypeError("stop")
        stop = [plain(text) for text in stop]
        if not 1 <= len(stop) <= 16:
            raise ValueError("stop")
    return {"messages": messages, "max_tokens": max_tokens, "temperature": temperature, "stop": stop}


MOST_DEPTH = 64
TOOL_CHARS = 1 << 18


def plain_value(value, depth=0):
    """A JSON value of plain types with numbers that every reader takes; raises TypeError or ValueError."""
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return plain(value)
    if type(value) is int:
        if not -(1 << 63) <= value < 1 << 63:
            raise ValueError("a whole number of more than 64 bits")
        return value
    if type(value) is float:
        if value - value != 0:
            raise ValueError("not a finite number")
        return value
    if depth >= MOST_DEPTH:
        raise ValueError("nested too deeply")
    if isinstance(value, (list, tuple)):
        return [plain_value(item, depth + 1) for item in value]
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise TypeError("a name that is not text")
        return {plain(key): plain_value(item, depth + 1) for key, item in value.items()}
    raise TypeError(f"{type(value).__name__} is not JSON")


def checked_tool(frame):
    """The request of an env.tool message with plain values; raises TypeError or ValueError."""
    import json

    name, args = plain(frame["name"]), plain_value(frame["args"])
    if not 1 <= len(name) <= 64 or type(args) is not dict:
        raise ValueError("tool")
    if len(json.dumps(args)) > TOOL_CHARS:
        raise ValueError(f"arguments of more than {TOOL_CHARS} characters")
    return {"name": name, "args": args}


def checked_line(line):
    if type(line) is not int or not 0 <= line < 10_000_000:
        raise ValueError("line")
    return line


def checked_error(error):
    frames = [
        {"line": checked_line(frame["line"]), "function": plain(frame["function"])[:200], "text": plain(frame["text"])[:400]}
        for frame in error["frames"][-20:]
    ]
    return {"type": plain(error["type"])[:200], "message": shorten(plain(error["message"]), 2000), "frames": frames}


def ended(status):
    """The error of a child that ended without an answer."""
    if os.WIFSIGNALED(status):
        import signal

        number = os.WTERMSIG(status)
        try:
            name = signal.Signals(number).name
        except ValueError:
            name = f"signal {number}"
        how = f"was ended by {name}"
    else:
        how = f"ended itself with exit code {os.WEXITSTATUS(status)}"
    return {"type": "ProcessEnded", "message": f"The harness process {how} before run returned", "frames": []}


def lines_of(source):
    return source.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def compile_harness(source):
    """(code, None), or (None, error) when it can't be compiled. Executes nothing."""
    try:
        return compile(source.removeprefix("\ufeff"), FILE, "exec", dont_inherit=True), None
    except BaseException as e:  # noqa: B902: a hostile source can exhaust stack or memory of the compiler
        line = e.lineno if isinstance(e, SyntaxError) and e.lineno else 0
        message = e.msg if isinstance(e, SyntaxError) else str(e)
        frames = []
        if line:
            lines = lines_of(source)
            frames = [{"line": line, "function": "<module>", "text": lines[line - 1] if line <= len(lines) else ""}]
        return None, checked_error({"type": type(e).__name__, "message": message, "frames": frames})


# ---- modules ----------------------------------------------------------------------------------------------------------

# Modules that are imported before the fork when a program's code names them, so that its children find them loaded.
PRELOADED = frozenset(
    """
    abc array ast base64 binascii bisect calendar cmath collections collections.abc contextlib copy csv dataclasses datetime
    decimal difflib enum fractions functools hashlib heapq html io itertools json keyword linecache locale math numbers
    operator pprint queue random re secrets statistics string struct subprocess tempfile textwrap time tokenize traceback
    types typing unicodedata urllib.parse uuid warnings zlib concurrent.futures
    """.split()
)


def names_of(code):
    """All names that a code object and those inside it use, imported modules and attributes among them."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, type(code)):
            names |= names_of(constant)
    return names


def preload(code):
    """Imports what the program will import. Only the standard library is executed."""
    names = names_of(code)
    if not names.isdisjoint(("llm", "log", "python", "tool")):
        names.add("json")  # messages of env
    if "python" in names:
        names |= {"subprocess", "resource", "select", "time"}
        sys.modules[__name__].Result
    for name in sorted(names & (PRELOADED | {"resource", "select"})):
        try:
            __import__(name)
        except Exception:  # the harness meets the same error and can be told of it
            pass


# ---- the child --------------------------------------------------------------------------------------------------------


class Channel:
    """The child's end of its socket to the runner: four bytes of length, then JSON, or an answer's text after an A."""

    def __init__(self):
        self._lock = allocate_lock()

    def send(self, frame):
        """One message to the runner; whole, whatever threads the harness has."""
        import json

        with self._lock:
            self._send(json.dumps(frame).encode())

    def answer(self, text):
        with self._lock:
            self._send(b"A" + text)

    def call(self, frame):
        import json

        with self._lock:
            self._send(json.dumps(frame).encode())
            return json.loads(self.receive())

    def receive(self):
        return self._exactly(int.from_bytes(self._exactly(4), "big"))

    def _send(self, body):
        data = len(body).to_bytes(4, "big") + body
        sent = os.write(CHANNEL, data)
        while sent < len(data):
            sent += os.write(CHANNEL, data[sent : sent + (1 << 20)])

    def _exactly(self, count):
        data = os.read(CHANNEL, count)
        while len(data) < count:
            part = os.read(CHANNEL, count - len(data))
            if not part:
                os._exit(1)
            data += part
        return data


class Env:
    """What a harness may use."""

    __slots__ = ("_call", "_tell")

    ToolError = ToolError

    def __init__(self, call, tell):
        self._call = call
        self._tell = tell

    def llm(self, prompt_or_messages, max_tokens=None, temperature=None, stop=None):
        """The solver's reply to a prompt, or to messages: [{"role": "user", "content": "…"}, …]."""
        messages = prompt_or_messages
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        if isinstance(stop, str):
            stop = [stop]
        try:
            request = checked_request(
                {"messages": messages, "max_tokens": max_tokens, "temperature": temperature, "stop": stop or None}
            )
        except (KeyError, TypeError, ValueError, AttributeError) as e:
            raise ValueError(
                "env.llm takes a text, or messages with role (system, user, assistant) and content; max_tokens >= 1,"
                f" temperature from 0 to 2, stop a text or up to 16 of them, at most {MOST_MESSAGES} messages;"
                f" got {shorten(repr(messages), 200)}"
                f" max_tokens={max_tokens!r} temperature={temperature!r} stop={stop!r}"
            ) from e
        reply = self._call({"type": "llm", **request})
        if reply["type"] == "raise":
            raise LlmError(reply["message"])
        return reply["text"]

    def tool(self, name, args=None):
        """The result of a tool of this task, called with named arguments; raises env.ToolError."""
        if not isinstance(name, str):
            raise TypeError("env.tool takes the tool's name as text")
        try:
            request = checked_tool({"name": name, "args": {} if args is None else args})
        except (TypeError, ValueError, RecursionError) as e:
            raise ToolError(f"env.tool takes a name and a dict of JSON values: {e}", "arguments") from None
        reply = self._call({"type": "tool", **request})
        if reply["type"] == "raise":
            raise ToolError(reply["message"], reply["kind"], reply["status"])
        if not reply["json"]:
            return reply["text"]
        import json

        return json.loads(reply["text"])

    def python(self, code, timeout_s=10):
        """Runs Python code in a process of its own: Result(stdout, stderr, error)."""
        if not isinstance(code, str):
            raise TypeError("env.python takes the code as text")
        result = run_python(code, timeout_s)
        self._tell({"type": "python", "code": code, **result._asdict()})
        return result

    def search(self, query, k=5):
        """Passages of the task's retriever, best first."""
        raise SearchUnavailable("env.search: this task has no retriever")

    def log(self, text):
        """Puts a text into the execution report."""
        self._tell({"type": "log", "text": plain(str(text))})


PYTHON_OUTPUT_BYTES = 64 << 10

# Packages that an image of the operator's adds: see derive.sh. The runner itself never imports from there.
PACKAGES = "/opt/packages"
WITH_PACKAGES = f"""import sys
sys.path.append({PACKAGES!r})
exec(compile(sys.stdin.buffer.read(), "<stdin>", "exec"), {{"__name__": "__main__", "__builtins__": __builtins__}})
"""


def add_packages():
    """Lets this process import what the image adds; the standard library comes first."""
    if os.path.isdir(PACKAGES) and PACKAGES not in sys.path:
        sys.path.append(PACKAGES)


def run_python(code, timeout_s):
    """A fresh interpreter in the same container; the code comes through an anonymous file as its standard input."""
    import resource
    import select
    import subprocess
    import time

    source = os.memfd_create("code")
    memory = memory_limit() // 2

    def limits():
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    try:
        os.write(source, code.encode("utf-8", "replace"))
        os.lseek(source, 0, os.SEEK_SET)
        process = subprocess.Popen(
            [sys.executable, "-P", "-s", "-S", "-B", *(["-c", WITH_PACKAGES] if os.path.isdir(PACKAGES) else ["-"])],
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=limits,
        )
    except OSError as e:
        return sys.modules[__name__].Result("", "", f"can't start: {e.strerror}")
    finally:
        os.close(source)
    end = time.monotonic() + timeout_s
    kept = {process.stdout.fileno(): b"", process.stderr.fileno(): b""}
    poll = select.poll()
    for fd in kept:
        poll.register(fd, select.POLLIN)
    error = None
    open_streams = len(kept)
    while open_streams and error is None:
        wait = end - time.monotonic()
        if wait <= 0:
            error = f"timed out after {timeout_s:g} s"
            break
        for fd, _ in poll.poll(wait * 1000 + 1):
            data = os.read(fd, 1 << 16)
            if not data:
                poll.unregister(fd)
                open_streams -= 1
            kept[fd] += data[: PYTHON_OUTPUT_BYTES - len(kept[fd]) + 1]
            if len(kept[fd]) > PYTHON_OUTPUT_BYTES:
                error = f"wrote more than {PYTHON_OUTPUT_BYTES} bytes"
    if error is None:
        try:
            process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            error = f"timed out after {timeout_s:g} s"
    try:
        os.killpg(process.pid, 9)
    except OSError:
        pass
    status = process.wait()
    stdout, stderr = (data[:PYTHON_OUTPUT_BYTES].decode("utf-8", "replace") for data in kept.values())
    process.stdout.close()
    process.stderr.close()
    if error is None and status != 0:
        last = stderr.strip().rpartition("\n")[2]
        error = last or (f"ended by signal {-status}" if status < 0 else f"exit code {status}")
    return sys.modules[__name__].Result(stdout, stderr, error)


MEMORY_V1 = "/sys/fs/cgroup/memory/"


def group_folder():
    """Where this container's limits stand under cgroup v2: at the top, unless it was given the host's view of all groups."""
    try:
        with open("/proc/self/cgroup") as file:
            own = next((line.strip()[3:] for line in file if line.startswith("0::")), "/")
    except OSError:  # a kernel of its own may tell nothing
        own = "/"
    folder = "/sys/fs/cgroup" + own.rstrip("/") + "/"
    return folder if os.path.exists(folder + "memory.max") else "/sys/fs/cgroup/"


def memory_limit():
    for path in (group_folder() + "memory.max", MEMORY_V1 + "memory.limit_in_bytes"):
        try:
            with open(path) as file:
                return int(file.read())
        except (OSError, ValueError):
            continue
    return 0


def load(code, source):
    """Executes the module and returns it."""
    if "linecache" in sys.modules:
        lines = lines_of(source.removeprefix("\ufeff"))
        sys.modules["linecache"].cache[FILE] = (len(source), None, [line + "\n" for line in lines], FILE)
    module = type(sys)("harness")
    module.__file__ = FILE
    sys.modules["harness"] = module
    exec(code, module.__dict__)
    return module


def described(exception, source):
    """The error with the harness's own frames."""
    lines = lines_of(source)
    frames = []
    trace = exception.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILE:
            line = trace.tb_lineno or 0
            text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
            frames.append({"line": line, "function": trace.tb_frame.f_code.co_name, "text": text})
        trace = trace.tb_next
    if isinstance(exception, SyntaxError) and exception.filename == FILE and exception.lineno:
        frames.append({"line": exception.lineno, "function": "<module>", "text": (exception.text or "").strip()})
    if len(frames) > 20:  # a deep recursion: where it came from, and where it ended
        frames = frames[:10] + frames[-10:]
    try:
        message = str(exception)
    except BaseException:  # noqa: B902: __str__ is the harness's
        message = ""
    return checked_error({"type": type(exception).__name__, "message": message, "frames": frames})


def answer(channel, code, source):
    """Executes the module and run(question, env); tells the answer or the error."""
    question = channel.receive().decode()
    error = None
    try:
        entry = getattr(load(code, source), "run", None)
        if not callable(entry):
            raise NameError("the harness defines no run(question, env)")
        text = entry(question, Env(channel.call, channel.send))
        if not isinstance(text, str):
            raise TypeError(f"run returned {type(text).__name__}, not text")
        text = str.encode(text, "utf-8", "replace")
    except BaseException as e:  # noqa: B902: SystemExit and KeyboardInterrupt are errors of the harness as well
        error = described(e, source)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:  # noqa: B902: the harness may have replaced or closed it
            pass
    if error is None:
        channel.answer(text)
    else:
        channel.send({"type": "error", "error": error})


class Rehearsal:
    """Stands for the channel when the template goes through an answer of its own, which settles the code it will run."""

    PROGRAM = compile("def run(question, env):\n    return question", FILE, "exec", dont_inherit=True)

    def receive(self):
        return b"question"

    call = send = answer = len


def rehearse():
    for _ in range(16):
        answer(Rehearsal(), Rehearsal.PROGRAM, "")
    del sys.modules["harness"]
    gc.collect()


class Program:
    """The work of the template process that answers questions; the program comes from the runner in an anonymous file."""

    def prepare(self, link):
        _, rights, _, _ = link.recvmsg(1, 64)
        with open(int.from_bytes(rights[0][2][:4], sys.byteorder), "rb") as file:
            source = file.read().decode()
        code, error = compile_harness(source)
        if error is not None:
            import json

            link.send(b"C" + json.dumps(error).encode())
            os._exit(0)
        link.send(b"C")
        preload(code)
        add_packages()
        rehearse()
        self.channel, self.code, self.source = Channel(), code, source

    def run(self):
        answer(self.channel, self.code, self.source)
