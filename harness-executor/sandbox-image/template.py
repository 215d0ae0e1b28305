"""The template process: forks one child a question, waits for its end, and clears away every process after it.

It stands between the runner, which is process 1 and talks to the executor, and the children. It knows the program and
nothing else: no question, no tag and no answer ever enters its memory, so a fork of it can't hold any. It is small, and
touches little: the pages that it has are listed anew for each child, and those that either writes are copied.

Its descriptors are 0 (nothing), 1 and 2 (the captured streams of the child), 3 (the child's socket) and 4 (a socket to the
runner), which is closed in the child before anything else happens there.

It is as hard to reach for a child as the runner, but for signals: a child can end or stop it. Then the runner kills
everything and gives the container up.

Messages to the runner      C error: the program is compiled; JSON, or nothing where it could be
                            S with three descriptors: the runner's ends of a new child's socket and streams
                            F pid: that child
                            E status: it has ended, and every other process of the container is dead
"""

import _signal
import _socket
import gc
import os
import sys

LINK = 4
DESCRIPTORS = 32  # all that this process ever has open lie below
ORDER = sys.byteorder
SOL_SOCKET, SCM_RIGHTS = _socket.SOL_SOCKET, _socket.SCM_RIGHTS
PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 4, 36


def start(kernel, work, count=None):
    """Forks a template process for this work; its id and the socket to it. It forks `count` children one after the other,
    or without end for None: work.prepare(link) is called once, work.run() in each child."""
    ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        main(theirs, kernel, work, count)
    theirs.close()
    return pid, ours


def main(link, kernel, work, count):
    """Never returns."""
    try:
        prefer_for_memory_kills(kernel.prctl)
        kernel.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # what a child leaves behind becomes a child of this process
        descriptor = os.dup(link.detach())
        null = os.open("/dev/null", os.O_RDWR)
        moved = [os.dup(fd) for fd in (null, descriptor)]  # above all that is overwritten next
        while min(moved) <= LINK:
            moved = [os.dup(fd) for fd in moved]
        for fd in (0, 1, 2, 3):
            os.dup2(moved[0], fd)
        os.dup2(moved[1], LINK, inheritable=False)
        os.closerange(LINK + 1, 1 << 20)
        serve(_socket.socket(fileno=LINK), kernel, work, count)
    finally:
        os._exit(1)


def prefer_for_memory_kills(prctl):
    """The kernel shall take a child or this process, never the runner. The file can be written only while the process is
    dumpable; there is no other process yet that could use that."""
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        pass
    finally:
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def serve(link, kernel, work, count):
    work.prepare(link)
    ends = streams()
    # On the descriptors of a child's kind, whose properties these objects remember.
    sys.stdin = open(0, closefd=False)
    sys.stdout = open(1, "w", encoding="utf-8", errors="replace", closefd=False)
    sys.stderr = open(2, "w", encoding="utf-8", errors="replace", closefd=False, buffering=1)
    _signal.signal(_signal.SIGINT, _signal.default_int_handler)  # the children's, as in any Python program
    gc.disable()
    gc.collect()
    gc.freeze()
    while True:
        # As little as can be between a fork and the child's end: what is written then is copied.
        rights = b"".join([fd.to_bytes(4, ORDER) for fd in ends])
        link.sendmsg((b"S\0\0\0\0",), ((SOL_SOCKET, SCM_RIGHTS, rights),))
        for fd in ends:
            os.close(fd)
        pid = os.fork()
        if pid == 0:
            child(kernel, work)
        link.send(b"F" + pid.to_bytes(4, ORDER))
        ended, status = os.waitpid(-1, 0)
        while ended != pid:
            ended, other = os.waitpid(-1, 0)
            if ended == pid:
                status = other
        kill_all()
        link.send(b"E" + status.to_bytes(4, ORDER))
        if count is not None:
            count -= 1
            if count == 0:
                os._exit(0)
        ends = streams()


def streams():
    """Puts a new child's socket and pipes on their descriptors; the other ends."""
    ours, theirs = _socket.socketpair()
    ours, theirs = ours.detach(), theirs.detach()
    out, out_write = os.pipe()
    err, err_write = os.pipe()
    os.dup2(out_write, 1)
    os.dup2(err_write, 2)
    os.dup2(theirs, 3, inheritable=False)
    os.close(out_write)
    os.close(err_write)
    os.close(theirs)
    return ours, out, err


def child(kernel, work):
    """Never returns."""
    try:
        os.closerange(LINK, DESCRIPTORS)
        os.setsid()
        kernel.child_filter.install()
        gc.enable()
        work.run()
    finally:
        os._exit(0)


def kill_all():
    """Kills every process of the container but the runner and this one, and waits until all are gone.

    All that lose their parents become children of this process, before the parent's end can be seen: without any child
    there is no process left, and nothing to kill."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        while True:
            try:
                os.kill(-1, 9)
            except ProcessLookupError:
                pass
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass
