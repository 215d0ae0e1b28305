"""The runner: runs one harness on questions, one forked child a question.

It is process 1 of a single-use container without network. The executor talks to it on the container's standard input
and output in frames: four bytes of length (big endian), then one JSON object. Nothing else in the container can reach
that channel:

* The runner passes the harness on and never executes a line of it. Each child executes the module afresh.
* Children are forked by a second process, the template (template.py), which compiles the program and knows it, but never
  a question, a tag or an answer: what a child inherits holds nothing of other questions.
* A child keeps one socket to the runner, and as standard output and error two pipes that the runner only counts and
  captures. All other descriptors are closed in it.
* Runner, template and children are not dumpable, so neither memory nor descriptors of one can be opened by another
  through /proc, and process 1 of a PID namespace takes no signal from inside.
* A filter of system calls (syscalls.py) keeps children from setting the runner's limits, priority and processors, and from
  leaving anything in the kernel that outlives them.
* Before the next question every other process but the template is killed and the writable folders are emptied. Where
  that fails, or the template was harmed, the runner says so ("clean": false), and the executor goes on in a fresh container.

What a child says is a claim about itself and is passed on as such: its answer is scored outside.

Frames to the runner        ping | check | probe | program | question | reply | raise | abort
Frames from the runner      ready | pong | probed | checked | compiled | llm | tool | final
"""

import _socket
import gc
import json
import os
import select
import stat
import sys
import time

import checks
import child
import probe
import template

STDIN, STDOUT = 0, 1
ORDER = sys.byteorder
WRITABLE = ("/tmp", "/dev/shm", "/dev/mqueue")
PROTOCOL = 3  # of these frames; images that were derived from an older one are refused
PYTHON_RUNS = 8  # times what is kept of a stream is kept of all runs of Python of a question
END_S = 5.0  # most time for the end of all processes after a kill
COMPILATION_S = 20.0  # most time for compiling a program
PREPARATION_S = 30.0  # most time until a child can be had
MOST_PENDING = 64  # calls of one question without an answer; a process makes one at a time

# What a child may say: one that answers a question, one that checks a harness, one that looks at its sandbox.
ANSWERING = frozenset(("llm", "tool", "log", "python", "error"))
CHECKING = frozenset(("verdict",))
PROBING = frozenset(("facts",))
SMOKE_CODES = (None, "IMPORT_ERROR", "SMOKE_ERROR")


# ---- frames -----------------------------------------------------------------------------------------------------------


class Input:
    """Frames of the executor. What lies in the buffer is as safe as in the pipe: nothing is forked from this process
    that outlives a program's start."""

    def __init__(self):
        self.buffer = bytearray()

    def receive(self):
        """The next frame; blocks until it is there."""
        buffer = self.buffer
        needed = 4
        while len(buffer) < needed:
            self.fill()
        needed += int.from_bytes(buffer[:4], "big")
        while len(buffer) < needed:
            self.fill()
        frame = json.loads(buffer[4:needed])
        del buffer[:needed]
        return frame

    def complete(self):
        """Whether the next frame is in the buffer already, so that the pipe says nothing of it."""
        return len(self.buffer) >= 4 and len(self.buffer) - 4 >= int.from_bytes(self.buffer[:4], "big")

    def fill(self):
        part = os.read(STDIN, 1 << 16)
        if not part:
            sys.exit(0)  # the executor went away
        self.buffer += part


def send(frame):
    body = json.dumps(frame).encode()
    data = len(body).to_bytes(4, "big") + body
    sent = os.write(STDOUT, data)
    while sent < len(data):
        sent += os.write(STDOUT, data[sent : sent + (1 << 20)])


# ---- what must be as before when a question is over ---------------------------------------------------------------------


class MemoryKills:
    """Counts the processes of this container that the kernel has killed for memory."""

    def __init__(self):
        self.fd = None
        for path in (child.group_folder() + "memory.events", child.MEMORY_V1 + "memory.oom_control"):
            try:
                self.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                break
            except OSError:
                continue
        self.seen = self.count()

    def count(self):
        if self.fd is None:
            return 0
        for line in os.pread(self.fd, 4096, 0).splitlines():
            name, _, value = line.partition(b" ")
            if name == b"oom_kill":
                return int(value)
        return 0

    def happened(self):
        """Whether there were any since this was last asked."""
        before, self.seen = self.seen, self.count()
        return self.seen > before


class Folders:
    """The folders that a child may write to. Reading their state is cheap; they are emptied only where it has changed."""

    def __init__(self):
        # Not every runtime tells that a file system is read-only.
        if not os.statvfs("/").f_flag & os.ST_RDONLY and os.access("/", os.W_OK):
            sys.exit("the root file system can be written: this is not the sandbox, whose folders may be emptied")
        self.as_made = {}
        for path in WRITABLE:
            if os.access(path, os.W_OK):
                self.as_made[path] = os.lstat(path)
        self.state = {path: self.look(path) for path in self.as_made}

    @staticmethod
    def look(path):
        found, use = os.lstat(path), os.statvfs(path)
        return (
            (found.st_mode, found.st_ctime_ns, found.st_mtime_ns, found.st_nlink)
            + (use.f_files - use.f_ffree, use.f_blocks - use.f_bfree)
            + tuple(os.listxattr(path, follow_symlinks=False))
        )

    def restore(self):
        """Removes what a question left behind; False when something stays."""
        try:
            for path, before in self.state.items():
                if self.look(path) != before:
                    self.empty(path)
                    self.state[path] = self.look(path)
            return True
        except OSError:
            return False

    def empty(self, path):
        made = self.as_made[path]
        if os.getuid() == made.st_uid:
            os.chmod(path, stat.S_IMODE(made.st_mode) | stat.S_IRWXU)
        remove_entries(path)
        if os.getuid() == made.st_uid:
            for name in os.listxattr(path):
                os.removexattr(path, name)
            os.chmod(path, stat.S_IMODE(made.st_mode))
            os.utime(path, ns=(made.st_atime_ns, made.st_mtime_ns))


def remove_entries(folder):
    """Empties a folder that nobody else changes. Folders in it may be closed, and deeper than a path or a stack can be: they
    are moved up, one level at a time."""
    entries = list(os.scandir(folder))
    while entries:
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)
                continue
            os.chmod(entry.path, stat.S_IRWXU)
            for inner in list(os.scandir(entry.path)):
                if inner.is_dir(follow_symlinks=False):
                    os.chmod(inner.path, stat.S_IRWXU)  # a folder that is moved is written to
                    os.rename(inner.path, os.path.join(folder, os.urandom(16).hex()))
                else:
                    os.unlink(inner.path)
            os.rmdir(entry.path)
        entries = list(os.scandir(folder))


def kill_all_others():
    """Kills every process of the container but this one, and waits until all are gone."""
    while True:
        try:
            os.kill(-1, 9)
        except ProcessLookupError:
            pass
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


# ---- one question -------------------------------------------------------------------------------------------------------


class Capture:
    """One captured stream: all bytes are counted, head and tail are kept."""

    def __init__(self, fd, keep):
        os.set_blocking(fd, False)
        self.fd = fd
        self.half = keep // 2
        self.head = b""
        self.tail = b""
        self.total = 0

    def pump(self):
        """Takes what is there; False when nothing is there now, or ever again."""
        try:
            data = os.read(self.fd, 1 << 16)
        except BlockingIOError:
            return False
        if not data:
            return False
        self.total += len(data)
        room = self.half - len(self.head)
        self.head += data[:room] if room > 0 else b""
        self.tail = (self.tail + (data[room:] if room > 0 else data))[-self.half :]
        return True

    def text(self):
        if self.total == 0:
            return ""
        left_out = self.total - len(self.head) - len(self.tail)
        middle = f"\n[... {left_out} bytes left out ...]\n".encode() if left_out > 0 else b""
        return child.plain((self.head + middle + self.tail).decode("utf-8", "replace"))


class Template:
    """The template process, from this side."""

    def __init__(self, pid, link):
        link.setblocking(False)
        self.pid = pid
        self.link = link
        self.poll = select.poll()
        self.poll.register(link, select.POLLIN)
        self.alive = True
        self.silent = False  # whether it was given up for saying nothing

    def discard(self):
        """Ends a template process that has no children, and waits for that."""
        self.alive = False
        try:
            os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass  # gone and waited for already

    def give(self, source):
        """Hands over the program."""
        file = os.memfd_create("program")
        data = memoryview(source.encode("utf-8", "replace"))
        while data:
            data = data[os.write(file, data) :]
        os.lseek(file, 0, os.SEEK_SET)
        rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, file.to_bytes(4, ORDER))
        self.link.sendmsg((b"P",), (rights,))
        os.close(file)

    def message(self, timeout_s):
        """The next message as (kind, number, descriptors), or of a compiled program as (kind, its error); None when the
        template is gone or says nothing in time."""
        if self.alive and self.poll.poll(timeout_s * 1000):
            return self.ready_message()
        self.silent = self.alive
        self.alive = False
        return None

    def ready_message(self):
        try:
            data, ancillary, _, _ = self.link.recvmsg(1 << 15, 128)
        except OSError:
            data, ancillary = b"", ()
        if data[:1] == b"C":
            return b"C", data[1:]
        if len(data) != 5:
            self.alive = False
            return None
        descriptors = [
            int.from_bytes(fds[at : at + 4], ORDER) for _, _, fds in ancillary for at in range(0, len(fds) - 3, 4)
        ]
        return data[:1], int.from_bytes(data[1:], ORDER), descriptors

    def lost(self):
        """Gives up on the template: nothing but this process lives afterwards."""
        self.alive = False
        kill_all_others()


class Question:
    """One question and the child that answers it."""

    def __init__(self, box, template_process, limits, kinds=ANSWERING):
        self.box = box
        self.template = template_process
        self.limits = limits
        self.kinds = kinds
        streams = template_process.message(PREPARATION_S)
        forked = streams and template_process.message(PREPARATION_S)
        if not forked or streams[0] != b"S" or forked[0] != b"F":
            sys.exit("the template process has no child")
        self.pid = forked[1]
        channel, out, err = streams[2]
        self.channel = _socket.socket(fileno=channel)
        self.channel.setblocking(False)
        self.out = Capture(out, limits["capture_bytes"])
        self.err = Capture(err, limits["capture_bytes"])
        self.buffer = bytearray()
        self.received = 0
        self.outgoing = bytearray()
        self.nonce = None
        self.status = None  # of the ended child
        self.verdict = None  # what ends the question
        self.pending = 0  # brokered calls without an answer
        self.calls = 0
        self.left = 0.0  # seconds on the question's clock
        self.started = 0.0  # when that clock last began to run
        self.log = []
        self.log_chars = 0
        self.python_runs = []
        self.python_chars = 0
        self.left_out = 0  # log entries and runs of Python that are not kept

    def run(self, wall_clock_s, on_call, text=None, nonce=None):
        """Asks the child and serves it until the question ends; returns the verdict as a dict."""
        self.left = wall_clock_s
        self.started = time.monotonic()
        self.nonce = nonce
        if text is not None:
            self.tell(text.encode("utf-8", "replace"))
        channel, link, out = self.channel.fileno(), self.template.link.fileno(), self.out.fd
        poll = select.poll()
        for fd in (STDIN, channel, link, out, self.err.fd):
            poll.register(fd, select.POLLIN)
        connected = writing = True
        while self.verdict is None:
            # Several frames may have come at once, the last of them an end.
            while self.verdict is None and self.box.input.complete():
                self.command(self.box.input.receive())
            if self.verdict is not None:
                break
            if connected and writing != bool(self.outgoing):
                writing = bool(self.outgoing)
                poll.modify(channel, select.POLLIN | (select.POLLOUT if writing else 0))
            if self.pending:
                wait = None
            else:
                wait = self.left - (time.monotonic() - self.started)
                if wait <= 0:
                    self.end("timed_out")
                    break
                wait = wait * 1000 + 1
            for fd, events in poll.poll(wait):
                if fd == channel:
                    if events & select.POLLOUT:
                        self.flush()
                    if events & ~select.POLLOUT and not self.listen(on_call):
                        connected = False
                        poll.unregister(fd)
                elif fd == STDIN:
                    self.command(self.box.input.receive())
                elif fd == link:
                    if not self.ended():
                        poll.unregister(fd)
                        while self.verdict is None and self.listen(on_call):
                            pass
                        self.end("violation")
                else:
                    capture = self.out if fd == out else self.err
                    if not capture.pump():
                        poll.unregister(fd)
                    if self.out.total + self.err.total > self.limits["output_bytes"]:
                        self.end("output_limit")
            if self.status is not None and self.verdict is None:
                while self.listen(on_call) and self.verdict is None:
                    pass
                if self.verdict is None:
                    self.end("crashed", error=child.ended(self.status))
        return self.close()

    def ended(self):
        """Takes the template's message that the child has ended; False when the template is gone instead."""
        message = self.template.ready_message()
        if message is None:
            return False
        self.status = message[1]
        return True

    def end(self, outcome, **fields):
        if self.verdict is None:
            self.verdict = {"outcome": outcome, **fields}

    def close(self):
        if self.status is None and self.template.alive:
            try:
                os.kill(self.pid, 9)
            except ProcessLookupError:
                pass
            message = self.template.message(END_S)
            if message is not None:
                self.status = message[1]
        if self.status is None:
            self.template.lost()
        for capture in (self.out, self.err):
            while capture.pump() and capture.total <= 2 * self.limits["output_bytes"]:
                pass
            os.close(capture.fd)
        self.channel.close()
        if self.out.total + self.err.total > self.limits["output_bytes"]:
            self.verdict = {"outcome": "output_limit"}
        killed = self.box.memory_kills.happened()
        if killed:
            self.verdict = {"outcome": "out_of_memory"}
        # The engine's note of a memory kill stays with the container: a later question must not inherit it.
        clean = self.box.folders.restore() and not killed and self.template.alive
        if self.left_out:
            self.log.append(f"[... {self.left_out} log entries and runs of Python left out ...]")
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
            reply = {key: frame[key] for key in ("type", "text", "json", "message", "kind", "status") if key in frame}
            self.tell(json.dumps(reply).encode())

    def tell(self, body):
        """Sends to the child; what its socket does not take now waits in the buffer."""
        self.outgoing += len(body).to_bytes(4, "big") + body
        self.flush()

    def flush(self):
        try:
            while self.outgoing:
                del self.outgoing[: self.channel.send(self.outgoing)]
        except BlockingIOError:
            pass
        except OSError:
            self.outgoing.clear()  # the child is gone; its end is noticed elsewhere

    def listen(self, on_call):
        """Takes what the child sent; False when nothing more is there for now or ever."""
        try:
            data = self.channel.recv(1 << 16)
        except BlockingIOError:
            return self.status is None and self.template.alive
        except OSError:
            data = b""
        if not data:
            return False
        self.buffer += data
        self.received += len(data)
        if self.received > self.limits["channel_bytes"]:
            self.end("output_limit")
        while self.verdict is None and len(self.buffer) >= 4:
            length = int.from_bytes(self.buffer[:4], "big")
            if length > self.limits["channel_bytes"]:
                self.end("violation")
            if len(self.buffer) < 4 + length:
                break
            body = bytes(self.buffer[4 : 4 + length])
            del self.buffer[: 4 + length]
            try:
                if body[:1] == b"A" and self.kinds is ANSWERING:
                    self.answer(body[1:])
                else:
                    self.message(json.loads(body), on_call)
            except (KeyError, TypeError, ValueError, RecursionError, AttributeError):
                self.end("violation")
        return True

    def answer(self, text):
        answer = child.plain(text.decode())
        if len(answer) > self.limits["answer_chars"]:
            self.end("output_limit")
        else:
            self.end("completed", answer=answer)

    def message(self, frame, on_call):
        """One message of the child; a malformed one raises."""
        kind = frame["type"]
        if kind not in self.kinds:
            raise ValueError(kind)
        if kind == "llm" or kind == "tool":
            request = child.checked_request(frame) if kind == "llm" else child.checked_tool(frame)
            if self.pending == 0:
                self.left -= time.monotonic() - self.started
            self.pending += 1
            self.calls += 1
            if self.pending > MOST_PENDING:
                raise ValueError("calls without reading an answer")
            on_call(kind, self.calls, request)
        elif kind == "log":
            text = child.plain(frame["text"])
            if len(self.log) < self.limits["log_entries"] and self.log_chars < self.limits["capture_bytes"]:
                text = child.shorten(text, self.limits["capture_bytes"] - self.log_chars)
                self.log.append(text)
                self.log_chars += len(text)
            else:
                self.left_out += 1
        elif kind == "python":
            keys = ("code", "stdout", "stderr", "error")
            run = {key: frame[key] if frame[key] is None else child.plain(frame[key]) for key in keys}
            most = PYTHON_RUNS * self.limits["capture_bytes"]
            if len(self.python_runs) < self.limits["log_entries"] and self.python_chars < most:
                run = {key: value and child.shorten(value, self.limits["python_chars"]) for key, value in run.items()}
                self.python_runs.append(run)
                self.python_chars += sum([len(value) for value in run.values() if value])
            else:
                self.left_out += 1
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


# ---- jobs ---------------------------------------------------------------------------------------------------------------


class Single:
    """The work of one child that is asked nothing."""

    def __init__(self, run):
        self.run = run

    def prepare(self, link):
        pass


class Box:
    """This container."""

    def __init__(self, kernel):
        self.kernel = kernel
        self.input = Input()
        self.folders = Folders()
        self.memory_kills = MemoryKills()

    def single(self, limits, kinds, wall_clock_s, target):
        """One child that is asked nothing; how it ended."""
        process = Template(*template.start(self.kernel, Single(target), count=1))
        try:
            return Question(self, process, limits, kinds).run(wall_clock_s, no_calls)
        finally:
            process.discard()

    def check(self, frame):
        """Static check, then the smoke run, each in a child of its own. The static one executes nothing of the harness."""
        limits, source = frame["limits"], frame["source"]
        channel = child.Channel()
        verdict = self.single(
            limits,
            CHECKING,
            frame["static_timeout_s"],
            lambda: checks.static_check(channel, source, frame["forbidden_imports"]),
        )
        if verdict["outcome"] != "completed":
            return {"code": "SYNTAX_ERROR", "message": "The harness can't be compiled within the limits", "line": None}
        if verdict["code"] is not None:
            return verdict
        verdict = self.single(
            limits,
            CHECKING,
            frame["smoke_timeout_s"],
            lambda: checks.smoke(channel, frame["question"], frame["canned"], frame["tools"], source),
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

    def probe(self, frame):
        """What a child finds out about its sandbox: facts, how many processes it gets, whether it gets this much memory."""
        channel, count = child.Channel(), frame["count"]
        targets = {
            "facts": lambda: probe.facts(channel),
            "processes": lambda: probe.processes(channel, count),
            "memory": lambda: probe.take_memory(count),
        }
        verdict = self.single(frame["limits"], PROBING, frame["timeout_s"], targets[frame["what"]])
        send({"type": "probed", "outcome": verdict["outcome"], "facts": verdict.get("facts")})

    def compiled(self, process, source):
        """Gives the program to the template; the error with which it can't be compiled, or None."""
        process.give(source)
        message = process.message(COMPILATION_S)
        if message is not None:
            return json.loads(message[1]) if message[1] else None
        if self.memory_kills.happened():
            kind, text = "MemoryError", "compiling the harness ran out of memory"
        elif process.silent:
            kind, text = "TimeoutError", f"compiling the harness took more than {COMPILATION_S:g} s"
        else:
            kind, text = "CompilerError", "the compiler ended on this harness"
        return {"type": kind, "message": text, "frames": []}

    def serve(self, process, limits):
        """Questions one after the other."""
        while True:
            frame = self.input.receive()
            if frame["type"] != "question":  # an answer to a call of a question that has ended meanwhile
                continue
            nonce = frame["nonce"]
            question = Question(self, process, limits)
            final = question.run(
                frame["wall_clock_s"],
                lambda kind, call, request: send({"type": kind, "nonce": nonce, "call": call, **request}),
                frame["question"],
                nonce,
            )
            send({"type": "final", "nonce": nonce, **final})


def no_calls(kind, call, request):
    raise ValueError("a check makes no calls")


def main(kernel, pid, link):
    """Serves one job; (pid, link) is the template process that answers questions."""
    box = Box(kernel)
    process = Template(pid, link)
    gc.disable()  # this process makes no cycles
    send({"type": "ready", "python": sys.version.split()[0], "protocol": PROTOCOL})
    frame = box.input.receive()
    while frame["type"] in ("ping", "probe"):
        if frame["type"] == "ping":
            send({"type": "pong", "nonce": frame["nonce"]})
        else:
            process.discard()
            box.probe(frame)
        frame = box.input.receive()
    if frame["type"] == "check":
        process.discard()
        verdict = box.check(frame)
        send({"type": "checked", "code": verdict["code"], "message": verdict["message"], "line": verdict["line"]})
        return
    if not process.alive:
        process = Template(*template.start(kernel, child.Program()))
    error = box.compiled(process, frame["source"])
    send({"type": "compiled", "error": error})
    if error is None:
        box.serve(process, frame["limits"])
