"""Generates and scores Reasoning Gym's items: framed requests on stdin, framed answers on stdout.

A frame is a length (4 bytes, big-endian) and that many bytes of JSON. First the server sends {"ready": true, "families":
[...], "version": ...}. Then each request has an "id", and its answer the same one; answers come in any order.

    {"id", "op": "generate", "family", "config", "seed", "start", "count"}    -> {"id", "items": [{"question", "answer"}]}
    {"id", "op": "score", "family", "config", "seed", "items": [{"index", "question", "answer"}]}
                                                                    -> {"id", "scores": [{"score"} | {"error"}]}
    {"id", "op": "ping"}                                            -> {"id"}
    any request may fail as a whole                                 -> {"id", "error": {"code", "message"}}

A question to be scored is given by the SHA-256 of its text in hexadecimal digits and compared with the entry that is built
again, so that an answer is never scored against another question. Codes: "config" the library refuses the configuration; "timeout", "memory", "crash" and "fault" as named. The server ends
when it hears nothing for 90 s, so that nobody has to stop it when its owner is gone.

Processes. The server imports the library once and never touches an answer. It forks one worker a data set (family,
configuration, seed), which generates entries and keeps them; the least recently used worker makes room for the next. A
worker forks a child an answer, under limits of CPU time, memory, file size and processes, without any descriptor but a
pipe: whatever an answer does to its scorer ends with that child. An answer that exhausts a child (CPU time, memory,
stack) or makes the scorer raise is worth 0: were it an infrastructure failure, a harness could hide its hardest questions
by answering them so. A score that is not finite or not from 0 to 1 is an error, never clamped.
"""

import ctypes
import hashlib
import json
import math
import os
import random
import resource
import select
import selectors
import signal
import struct
import sys
import time
import traceback

SILENCE_S = 90
MAX_FRAME = 32 << 20
LEAST_WORKERS = 6
MEMORY_OF_A_WORKER = 170 << 20  # of the container's, on average
MAX_ITEMS = 20000
CACHED_ENTRIES = 4096
MAX_ANSWER = 100_000  # characters; longer answers are worth 0
GENERATE_WALL_S = 60
SCORE_WALL_S = 60  # far above the CPU time, for machines under load
SCORE_CPU_S = 2
WORKER_MEMORY = 512 << 20  # bytes of address space above what the library takes
SCORE_MEMORY = 256 << 20

LENGTH = struct.Struct(">I")
SCORE = struct.Struct(">d")


def most_workers():
    """More where the container has more memory: a worker that made room has to build its entries again."""
    try:
        with open("/sys/fs/cgroup/memory.max") as file:
            return max(LEAST_WORKERS, int(file.read()) // MEMORY_OF_A_WORKER)
    except (OSError, ValueError):
        return LEAST_WORKERS


MAX_WORKERS = most_workers()


def frame(message):
    body = json.dumps(message, separators=(",", ":")).encode()
    return LENGTH.pack(len(body)) + body


def write_all(descriptor, data):
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            select.select([], [descriptor], [])


def read_exactly(descriptor, count):
    data = bytearray()
    while len(data) < count:
        part = os.read(descriptor, count - len(data))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


class Frames:
    """Cuts what arrives on a descriptor into frames."""

    def __init__(self):
        self.data = bytearray()

    def feed(self, part):
        self.data += part
        while len(self.data) >= LENGTH.size:
            (length,) = LENGTH.unpack_from(self.data)
            if length > MAX_FRAME:
                raise ValueError("frame of %d bytes" % length)
            if len(self.data) < LENGTH.size + length:
                return
            body = bytes(self.data[LENGTH.size : LENGTH.size + length])
            del self.data[: LENGTH.size + length]
            yield json.loads(body)


def undumpable(value):
    """With 0 no process of the same user can open this one's memory or descriptors."""
    ctypes.CDLL(None).prctl(4, value, 0, 0, 0)


def kill_first(points):
    """Tells the kernel which process to kill when the container is out of memory."""
    undumpable(1)
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write(str(points))
    except OSError:
        pass
    undumpable(0)


def limit_memory(more):
    with open("/proc/self/statm") as file:
        size = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + more, size + more))


def problem(code, message):
    return {"error": {"code": code, "message": message[:500]}}


class Worker:
    """Runs in a process of its own: one data set, its entries and its scores."""

    def __init__(self, served, descriptor):
        self.served = served
        self.descriptor = descriptor
        self.dataset = None
        self.seed = None
        self.entries = {}

    def serve(self):
        while True:
            (length,) = LENGTH.unpack(read_exactly(self.descriptor, LENGTH.size))
            request = json.loads(read_exactly(self.descriptor, length))
            try:
                answer = self.handle(request)
            except MemoryError:
                self.entries.clear()
                answer = problem("memory", "the item does not fit into memory")
            except Exception as error:
                traceback.print_exc()
                answer = problem("fault", f"{type(error).__name__}: {error}")
            answer["id"] = request["id"]
            write_all(self.descriptor, frame(answer))

    def handle(self, request):
        try:
            if self.dataset is None:
                import gym_library

                self.seed = request["seed"]
                self.dataset = gym_library.create(self.served, request["family"], request["config"], request["seed"])
            if request["op"] == "generate":
                entries = [self.entry(index) for index in range(request["start"], request["start"] + request["count"])]
                return {"items": [{"question": str(e["question"]), "answer": str(e["answer"])} for e in entries]}
            for item in request["items"]:
                self.entry(item["index"])
        except MemoryError:
            raise
        except Exception as error:
            if request["config"] or isinstance(error, IndexError):
                return problem("config", str(error) or type(error).__name__)
            raise
        return {"scores": [self.score_item(item) for item in request["items"]]}

    def entry(self, index):
        entry = self.entries.get(index)
        if entry is None:
            # list_functions draws from the module's generator as well: built again, an entry must be the same.
            random.seed(f"{self.seed} {index}")
            entry = self.dataset[index]
            if len(self.entries) >= CACHED_ENTRIES:
                self.entries.pop(next(iter(self.entries)))
            self.entries[index] = entry
        return entry

    def score_item(self, item):
        entry = self.entry(item["index"])
        if hashlib.sha256(str(entry["question"]).encode()).hexdigest() != item["question"]:
            return {"error": "the entry that was built again has another question"}
        return self.score(entry, item["answer"])

    def score(self, entry, answer):
        if len(answer) > MAX_ANSWER:
            return {"score": 0.0}
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                self.score_in_child(entry, answer, write_end)
            finally:
                os._exit(1)
        os.close(write_end)
        data = b""
        deadline = time.monotonic() + SCORE_WALL_S
        late = False
        while len(data) <= 1 + SCORE.size:
            if not select.select([read_end], [], [], max(0, deadline - time.monotonic()))[0]:
                late = True
                break
            part = os.read(read_end, 64)
            if not part:
                break
            data += part
        os.close(read_end)
        if late:
            os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        if late:
            return {"error": f"the scorer took longer than {SCORE_WALL_S} s"}
        if data[:1] == b"S" and len(data) == 1 + SCORE.size:
            (score,) = SCORE.unpack(data[1:])
            if math.isfinite(score) and 0 <= score <= 1:
                return {"score": score}
            return {"error": f"the scorer gave {score}, which is no score"}
        if data == b"E":
            return {"score": 0.0}
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT):
            return {"score": 0.0}
        return {"error": f"the scorer ended with wait status {status} and gave no score"}

    def score_in_child(self, entry, answer, pipe):
        os.dup2(pipe, 3)
        os.closerange(4, 1024)
        kill_first(1000)
        limit_memory(SCORE_MEMORY)
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        spent = time.process_time()
        cpu = math.ceil(spent) + SCORE_CPU_S
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))
        try:
            score = float(self.dataset.score_answer(answer, entry))
        except BaseException:
            os.write(3, b"E")
        else:
            os.write(3, b"S" + SCORE.pack(score))
        os._exit(0)


class Handle:
    """The server's side of a worker."""

    def __init__(self, pid, descriptor):
        self.pid = pid
        self.descriptor = descriptor
        self.frames = Frames()
        self.waiting = []  # requests, the first one is being worked on
        self.deadline = None
        self.used = time.monotonic()


class Server:
    def __init__(self, served, requests, answers):
        self.served = served
        self.requests = requests
        self.answers = answers
        self.selector = selectors.DefaultSelector()
        self.selector.register(requests, selectors.EVENT_READ, None)
        self.handles = {}
        self.backlog = []  # requests for which there is no room yet
        self.heard = time.monotonic()

    def run(self):
        frames = Frames()
        while True:
            now = time.monotonic()
            if now - self.heard > SILENCE_S:
                return
            for key, _ in self.selector.select(self.pause(now)):
                if key.data is None:
                    part = os.read(self.requests, 1 << 16)
                    if not part:
                        return
                    self.heard = time.monotonic()
                    for request in frames.feed(part):
                        self.accept(request)
                elif key.data in self.handles:
                    self.hear(key.data)
            self.enforce_deadlines()
            self.admit()
            self.reap()

    def pause(self, now):
        deadlines = [h.deadline for h in self.handles.values() if h.deadline is not None]
        return max(0.01, min([5.0] + [deadline - now for deadline in deadlines]))

    def send(self, request, answer):
        answer["id"] = request["id"]
        write_all(self.answers, frame(answer))

    def accept(self, request):
        if request["op"] == "ping":
            self.send(request, {})
        elif request["family"] not in self.served:
            self.send(request, problem("config", "there is no family " + request["family"]))
        else:
            self.backlog.append(request)

    def admit(self):
        """Gives waiting requests to workers, in order, as far as there is room for their data sets."""
        left = []
        for request in self.backlog:
            key = json.dumps([request["family"], request["config"], request["seed"]], sort_keys=True)
            handle = self.handles.get(key)
            if handle is None:
                if len(self.handles) >= MAX_WORKERS and not self.dismiss_an_idle_one():
                    left.append(request)
                    continue
                handle = self.handles[key] = self.fork(key)
            handle.waiting.append(request)
            if len(handle.waiting) == 1:
                self.start_first(key)
        self.backlog = left

    def dismiss_an_idle_one(self):
        idle = [key for key, handle in self.handles.items() if not handle.waiting]
        if not idle:
            return False
        self.end(min(idle, key=lambda key: self.handles[key].used))
        return True

    def start_first(self, key):
        handle = self.handles[key]
        request = handle.waiting[0]
        scores = len(request["items"]) if request["op"] == "score" else 0
        handle.deadline = time.monotonic() + GENERATE_WALL_S + scores * (SCORE_WALL_S + 1)
        try:
            write_all(handle.descriptor, frame(request))
        except OSError:
            pass  # it died; its end of file comes next

    def hear(self, key):
        handle = self.handles[key]
        try:
            part = os.read(handle.descriptor, 1 << 16)
        except OSError:
            part = b""
        if not part:
            self.end(key, "crash", "the process that worked on it died")
            return
        for answer in handle.frames.feed(part):
            self.send(handle.waiting.pop(0), answer)
            handle.deadline = None
            handle.used = time.monotonic()
            if handle.waiting:
                self.start_first(key)

    def enforce_deadlines(self):
        now = time.monotonic()
        for key, handle in list(self.handles.items()):
            if handle.deadline is not None and now > handle.deadline:
                code = "config" if handle.waiting[0]["config"] else "timeout"
                self.end(key, code, "generating and scoring took too long")

    def end(self, key, code=None, message=None):
        """Kills a worker with its children. Only the request that it worked on fails; the others start again."""
        handle = self.handles.pop(key)
        self.selector.unregister(handle.descriptor)
        os.close(handle.descriptor)
        try:
            os.killpg(handle.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        if handle.waiting:
            self.send(handle.waiting.pop(0), problem(code, message))
            self.backlog = handle.waiting + self.backlog

    def fork(self, key):
        import socket

        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            try:
                os.setpgid(0, 0)
                descriptor = os.dup2(theirs.fileno(), 3)
                os.closerange(4, 1024)
                kill_first(500)
                limit_memory(WORKER_MEMORY)
                Worker(self.served, descriptor).serve()
            except EOFError:
                pass
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        try:
            os.setpgid(pid, pid)
        except OSError:
            pass  # it was faster
        theirs.close()
        handle = Handle(pid, ours.detach())
        self.selector.register(handle.descriptor, selectors.EVENT_READ, key)
        return handle

    def reap(self):
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass


def main():
    # What the library prints must not get between the frames.
    requests, answers = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    undumpable(0)
    sys.path.insert(1, "/opt/gym/lib")
    import gc

    import gym_library

    served = gym_library.load()
    gc.collect()
    gc.freeze()  # keeps the forks' memory shared
    from importlib import metadata

    version = metadata.version("reasoning-gym")
    write_all(answers, frame({"ready": True, "families": sorted(served), "version": version}))
    Server(served, requests, answers).run()


if __name__ == "__main__":
    main()
