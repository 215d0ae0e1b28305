"""The sandbox's entry point: runs one harness on questions, one forked child a question.

It is process 1 of a single-use container without network. The executor talks to it on the container's standard input
and output in frames: four bytes of length (big endian), then one JSON object. Nothing else in the container can reach
that channel:

* The runner only compiles the harness; it never executes a line of it. Each child executes the module afresh.
* A child keeps one socket to the runner, and as standard output and error two pipes that the runner only counts and
  captures. All other descriptors are closed in it.
* Runner and children are not dumpable, so neither memory nor descriptors of the runner can be opened through /proc, and
  process 1 of a PID namespace takes no signal from inside but those it asked for: only SIGCHLD, which ends nothing.
* A filter of system calls (syscalls.py) keeps children from setting the runner's limits, priority and processors, and from
  leaving anything in the kernel that outlives them.
* The nonce that tags a question's final frame is read after the question's child was forked, so no child ever has it.
* Before the next question every other process is killed and the writable folders are emptied. Where that fails the
  runner says so ("clean": false), and the executor goes on in a fresh container.

What a child says is a claim about itself and is passed on as such: its answer is scored outside.

Frames to the runner        check | probe | program | question | reply | raise | abort
Frames from the runner      ready | checked | facts | memory | compiled | llm | final
"""

import ctypes
import errno
import gc
import json
import os
import select
import shutil
import signal
import socket
import struct
import sys
import time

import child
import syscalls

STDIN, STDOUT = 0, 1
HEADER = struct.Struct(">I")
MAX_FRAME = 8 << 20
WRITABLE = ("/tmp", "/dev/shm", "/dev/mqueue")
MEMORY_EVENTS = (
    "/sys/fs/cgroup/memory.events",  # cgroup v2
    "/sys/fs/cgroup/memory/memory.oom_control",  # cgroup v1
)

# What a child may say: one that answers a question, one that checks a harness, one that looks at its sandbox.
ANSWERING = frozenset(("llm", "log", "python", "answer", "error"))
CHECKING = frozenset(("verdict",))
PROBING = frozenset(("facts",))
SMOKE_CODES = (None, "IMPORT_ERROR", "SMOKE_ERROR")


def read_exactly(count):
    parts = []
    while count:
        part = os.read(STDIN, min(count, 1 << 20))
        if not part:
            sys.exit(0)  # the executor went away
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def receive():
    (length,) = HEADER.unpack(read_exactly(HEADER.size))
    return json.loads(read_exactly(length))


def send(frame):
    body = json.dumps(frame).encode()
    data = memoryview(HEADER.pack(len(body)) + body)
    while data:
        data = data[os.write(STDOUT, data) :]


def memory_kills():
    """Processes of this container that the kernel has killed for memory so far."""
    for path in MEMORY_EVENTS:
        try:
            with open(path) as file:
                for line in file:
                    name, _, value = line.partition(" ")
                    if name == "oom_kill":
                        return int(value)
        except (OSError, ValueError):
            continue
    return 0


def kill_all_others():
    """Kills every process of the container but this one, and waits until all are gone."""
    while True:
        try:
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            pass
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def empty_writable_folders():
    """Removes what a question left behind; False when something stays."""
    for folder in WRITABLE:
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path)
                else:
                    os.unlink(entry.path)
            except (OSError, RecursionError):
                return False
    return True


class Capture:
    """One captured stream: all bytes are counted, head and tail are kept."""

    def __init__(self, fd, keep):
        self.fd = fd
        self.half = keep // 2
        self.head = b""
        self.tail = b""
        self.total = 0

    def pump(self):
        """Takes what is there; False at the end of the stream."""
        try:
            data = os.read(self.fd, 1 << 16)
        except BlockingIOError:
            return True
        self.total += len(data)
        room = self.half - len(self.head)
        self.head += data[:room] if room > 0 else b""
        self.tail = (self.tail + (data[room:] if room > 0 else data))[-self.half :]
        return bool(data)

    def text(self):
        left_out = self.total - len(self.head) - len(self.tail)
        middle = f"\n[... {left_out} bytes left out ...]\n".encode() if left_out > 0 else b""
        return child.plain((self.head + middle + self.tail).decode("utf-8", "replace"))


class Question:
    """One question and the child that answers it."""

    def __init__(self, target, limits, wakeup, kinds=ANSWERING):
        self.limits = limits
        self.kinds = kinds
        self.wakeup = wakeup
        self.kills_before = memory_kills()
        ours, theirs = socket.socketpair()
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            child.main(target, theirs.fileno(), out_write, err_write)
        theirs.close()
        os.close(out_write)
        os.close(err_write)
        for fd in (out_read, err_read):
            os.set_blocking(fd, False)
        self.channel = ours
        self.channel.setblocking(False)
        self.out = Capture(out_read, limits["capture_bytes"])
        self.err = Capture(err_read, limits["capture_bytes"])
        self.buffer = bytearray()
        self.received = 0
        self.outgoing = bytearray()
        self.nonce = None
        self.connected = True
        self.status = None  # of the ended child
        self.verdict = None  # what ends the question
        self.pending = 0  # brokered calls without an answer
        self.calls = 0
        self.left = 0.0  # seconds on the question's clock
        self.started = 0.0  # when that clock last began to run
        self.log = []
        self.log_chars = 0
        self.python_runs = []

    def run(self, frame, on_llm):
        """Asks the child and serves it until the question ends; returns the verdict as a dict."""
        self.left = frame["wall_clock_s"]
        self.started = time.monotonic()
        self.nonce = frame.get("nonce")
        self.tell({"type": "ask", "question": frame["question"], "canned": frame.get("canned")})
        poll = select.poll()
        for fd in (STDIN, self.channel.fileno(), self.out.fd, self.err.fd, self.wakeup):
            poll.register(fd, select.POLLIN)
        while self.verdict is None:
            if self.connected:
                poll.modify(self.channel, select.POLLIN | (select.POLLOUT if self.outgoing else 0))
            wait = None
            if not self.pending:
                wait = self.left - (time.monotonic() - self.started)
                if wait <= 0:
                    self.end("timed_out")
                    break
            for fd, events in poll.poll(None if wait is None else wait * 1000 + 1):
                if fd == STDIN:
                    self.command(receive())
                elif fd == self.wakeup:
                    self.reap()
                elif fd == self.channel.fileno():
                    if events & select.POLLOUT:
                        self.flush()
                    if events & ~select.POLLOUT and not self.listen(on_llm):
                        self.connected = False
                        poll.unregister(fd)
                else:
                    capture = self.out if fd == self.out.fd else self.err
                    if not capture.pump():
                        poll.unregister(fd)
                    if self.out.total + self.err.total > self.limits["output_bytes"]:
                        self.end("output_limit")
            if self.status is not None and self.verdict is None:
                while self.listen(on_llm) and self.verdict is None:
                    pass
                if self.verdict is None:
                    self.end("crashed", error=child.ended(self.status))
        return self.close()

    def end(self, outcome, **fields):
        if self.verdict is None:
            self.verdict = {"outcome": outcome, **fields}

    def close(self):
        kill_all_others()
        for capture in (self.out, self.err):
            while capture.pump() and capture.total <= 2 * self.limits["output_bytes"]:
                pass
            os.close(capture.fd)
        self.channel.close()
        if self.out.total + self.err.total > self.limits["output_bytes"]:
            self.verdict = {"outcome": "output_limit"}
        killed = memory_kills() > self.kills_before
        if killed:
            self.verdict = {"outcome": "out_of_memory"}
        # The engine's note of a memory kill stays with the container: a later question must not inherit it.
        clean = empty_writable_folders() and not killed
        return {
            **self.verdict,
            "clean": clean,
            "stdout": self.out.text(),
            "stderr": self.err.text(),
            "log": self.log,
            "python_runs": self.python_runs,
        }

    def command(self, frame):
        """A frame of the executor while the question runs; one that was meant for an earlier question is dropped."""
        if frame["nonce"] != self.nonce:
            return
        if frame["type"] == "abort":
            self.end("aborted")
        elif self.pending:
            self.pending -= 1
            if not self.pending:
                self.started = time.monotonic()
            self.tell({key: frame[key] for key in ("type", "text", "message") if key in frame})

    def reap(self):
        os.read(self.wakeup, 4096)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.pid:
                self.status = status

    def tell(self, frame):
        """Sends to the child; what its socket does not take now waits in the buffer."""
        body = json.dumps(frame).encode()
        self.outgoing += HEADER.pack(len(body)) + body
        self.flush()

    def flush(self):
        try:
            while self.outgoing:
                del self.outgoing[: self.channel.send(self.outgoing)]
        except BlockingIOError:
            pass
        except OSError:
            self.outgoing.clear()  # the child is gone; its end is noticed elsewhere

    def listen(self, on_llm):
        """Takes what the child sent; False when nothing more is there for now or ever."""
        try:
            data = self.channel.recv(1 << 16)
        except BlockingIOError:
            return self.status is None
        except OSError:
            data = b""
        if not data:
            return False
        self.buffer += data
        self.received += len(data)
        if self.received > self.limits["channel_bytes"]:
            self.end("output_limit")
        while self.verdict is None and len(self.buffer) >= HEADER.size:
            (length,) = HEADER.unpack_from(self.buffer)
            if length > self.limits["channel_bytes"]:
                self.end("violation")
            if len(self.buffer) < HEADER.size + length:
                break
            body = bytes(self.buffer[HEADER.size : HEADER.size + length])
            del self.buffer[: HEADER.size + length]
            try:
                self.message(json.loads(body), on_llm)
            except (KeyError, TypeError, ValueError, RecursionError, AttributeError):
                self.end("violation")
        return True

    def message(self, frame, on_llm):
        """One message of the child; a malformed one raises."""
        kind = frame["type"]
        if kind not in self.kinds:
            raise ValueError(kind)
        if kind == "llm":
            request = child.checked_request(frame)
            if self.pending == 0:
                self.left -= time.monotonic() - self.started
            self.pending += 1
            self.calls += 1
            on_llm(self.calls, request)
        elif kind == "log":
            text = child.plain(frame["text"])
            if len(self.log) < self.limits["log_entries"] and self.log_chars < self.limits["capture_bytes"]:
                text = child.shorten(text, self.limits["capture_bytes"] - self.log_chars)
                self.log.append(text)
                self.log_chars += len(text)
        elif kind == "python":
            if len(self.python_runs) < self.limits["log_entries"]:
                keys = ("code", "stdout", "stderr", "error")
                run = {key: frame[key] if frame[key] is None else child.plain(frame[key]) for key in keys}
                self.python_runs.append(
                    {key: value and child.shorten(value, self.limits["python_chars"]) for key, value in run.items()}
                )
        elif kind == "answer":
            answer = child.plain(frame["text"])
            if len(answer) > self.limits["answer_chars"]:
                self.end("output_limit")
            else:
                self.end("completed", answer=answer)
        elif kind == "error":
            error = child.checked_error(frame["error"])
            if error["type"] == "MemoryError":
                self.end("out_of_memory", error=error)
            else:
                self.end("crashed", error=error)
        elif kind == "verdict":
            line = frame["line"] and child.checked_line(frame["line"])
            code = frame["code"] and child.plain(frame["code"])
            message = frame["message"] and child.shorten(child.plain(frame["message"]), 2000)
            self.end("completed", code=code, message=message, line=line)
        else:  # facts, of a child that executes nothing but this file's neighbours
            self.end("completed", facts=frame["facts"])


def harden():
    """Not dumpable, deaf to an interrupt, and under a filter of system calls where the host allows one."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python's own handler would let any child interrupt this process
    libc = ctypes.CDLL(None, use_errno=True)
    child.keep_dumpable_switch(libc.prctl)
    syscalls.install(libc)  # whether it holds is a fact that a probe finds
    if libc.prctl(4, 0, 0, 0, 0) != 0:  # PR_SET_DUMPABLE
        raise OSError(ctypes.get_errno(), "prctl")
    for name in [name for name in sys.modules if name == "ctypes" or name == "_ctypes" or name.startswith("ctypes.")]:
        del sys.modules[name]


def check(frame, wakeup):
    """Static check, then the smoke run, each in a child of its own. The static one executes nothing of the harness."""
    limits = frame["limits"]
    source = frame["source"]
    static = Question(
        lambda ask, channel: child.static_check(channel, source, frame["forbidden_imports"]), limits, wakeup, CHECKING
    )
    verdict = static.run({"question": "", "wall_clock_s": frame["static_timeout_s"]}, no_calls)
    if verdict["outcome"] != "completed":
        return {"code": "SYNTAX_ERROR", "message": "The harness can't be compiled within the limits", "line": None}
    if verdict["code"] is not None:
        return verdict
    code, _ = child.compile_harness(source)
    smoke = Question(lambda ask, channel: child.smoke(channel, ask, code, source), limits, wakeup, CHECKING)
    verdict = smoke.run(
        {"question": frame["question"], "canned": frame["canned"], "wall_clock_s": frame["smoke_timeout_s"]}, no_calls
    )
    if verdict["outcome"] == "completed":
        if verdict["code"] in SMOKE_CODES:
            return verdict
        verdict["outcome"] = "violation"
    if verdict["outcome"] == "timed_out":
        message = f"Import and one dry call took more than {frame['smoke_timeout_s']} s"
        return {"code": "SMOKE_TIMEOUT", "message": message, "line": None}
    reasons = {
        "out_of_memory": "The dry run used more memory than allowed",
        "output_limit": "The dry run wrote more output than allowed",
        "violation": "The dry run wrote to the platform's own channel",
        "crashed": "The dry run ended its process",
    }
    return {"code": "SMOKE_ERROR", "message": reasons.get(verdict["outcome"], "The dry run failed"), "line": None}


def probe(frame, wakeup):
    """What a child finds out about its sandbox, and then whether one that takes more memory than allowed is killed."""
    ask = {"question": "", "wall_clock_s": frame["timeout_s"]}
    looking = Question(lambda ask, channel: child.probe(channel), frame["limits"], wakeup, PROBING)
    send({"type": "facts", "facts": looking.run(ask, no_calls).get("facts")})
    eating = Question(lambda ask, channel: child.take_memory(frame["memory_bytes"]), frame["limits"], wakeup, PROBING)
    send({"type": "memory", "outcome": eating.run(ask, no_calls)["outcome"]})


def no_calls(call, request):
    raise ValueError("a check makes no calls")


def serve(code, source, limits, wakeup):
    """Questions one after the other; each child is forked before its question is read."""
    while True:
        question = Question(lambda ask, channel: child.answer(channel, ask, code, source), limits, wakeup)
        frame = receive()
        while frame["type"] != "question":  # an answer to a call of a question that has ended meanwhile
            frame = receive()
        nonce = frame["nonce"]
        final = question.run(
            frame, lambda call, request: send({"type": "llm", "nonce": nonce, "call": call, **request})
        )
        send({"type": "final", "nonce": nonce, **final})
        del question, frame, nonce, final


def main():
    if os.getpid() != 1:
        sys.exit("the runner must be process 1 of its own container: it kills every other process")
    harden()
    read_end, write_end = os.pipe()
    for fd in (read_end, write_end):
        os.set_blocking(fd, False)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    gc.disable()  # children end soon; the runner makes no cycles
    gc.freeze()
    send({"type": "ready", "python": sys.version.split()[0]})
    frame = receive()
    if frame["type"] == "check":
        verdict = check(frame, read_end)
        send({"type": "checked", "code": verdict["code"], "message": verdict["message"], "line": verdict["line"]})
        return
    if frame["type"] == "probe":
        probe(frame, read_end)
        return
    source = frame["source"]
    code, error = child.compile_harness(source)
    send({"type": "compiled", "error": error})
    if error is None:
        serve(code, source, frame["limits"], read_end)
