"""A second system call filter, set by the runner for itself and with that for every process of the container, and a third
one for the children alone.

The engine's own filter differs between versions of the engine and is missing on some hosts. This one is added to it, not
put in its place, and denies what no harness needs and what could reach another process, outlive a question or widen the
kernel's surface:

* looking into or steering other processes: ptrace, process_vm_*, pidfd_getfd, kcmp; limits, priorities and processors of
  any process but one's own (the same user may otherwise set them for the runner too)
* signals to process 1, the runner: Linux drops them by itself, but a runtime with a kernel of its own need not
* what stays when its processes are dead: System V and POSIX message queues, semaphores, shared memory, the kernel's keys
* surface: io_uring, bpf, userfaultfd, perf events, mounts, new namespaces, sockets other than Unix and internet ones

A system call of another architecture's table is unknown here and fails.
"""

import ctypes
import errno
import os
import struct

ALWAYS, UNLESS_ZERO, UNLESS_OWN, SOCKET, NAMESPACES = range(5)

# Rules of their own kind: denied where the argument of this position is one of these.
TO_THE_RUNNER = (0, (1,))
TO_AN_OWNER = (1, (8, 15))  # F_SETOWN, F_SETOWN_EX: who gets a signal when there is something to read
TO_AN_OWNER_BY_DEVICE = (1, (0x8901, 0x8902))  # FIOSETOWN, SIOCSPGRP

# name: (number on x86_64, number on aarch64, rule)
RULES = {
    "ptrace": (101, 117, ALWAYS),
    "process_vm_readv": (310, 270, ALWAYS),
    "process_vm_writev": (311, 271, ALWAYS),
    "pidfd_getfd": (438, 438, ALWAYS),
    "process_madvise": (440, 440, ALWAYS),
    "kcmp": (312, 272, ALWAYS),
    "kill": (62, 129, TO_THE_RUNNER),
    "tkill": (200, 130, TO_THE_RUNNER),
    "tgkill": (234, 131, TO_THE_RUNNER),
    "rt_sigqueueinfo": (129, 138, TO_THE_RUNNER),
    "rt_tgsigqueueinfo": (297, 240, TO_THE_RUNNER),
    "pidfd_open": (434, 434, TO_THE_RUNNER),
    "pidfd_send_signal": (424, 424, ALWAYS),  # takes a folder of /proc as well
    "fcntl": (72, 25, TO_AN_OWNER),
    "ioctl": (16, 29, TO_AN_OWNER_BY_DEVICE),
    "prlimit64": (302, 261, UNLESS_ZERO),
    "sched_setaffinity": (203, 122, UNLESS_ZERO),
    "sched_setscheduler": (144, 119, UNLESS_ZERO),
    "sched_setparam": (142, 118, UNLESS_ZERO),
    "sched_setattr": (314, 274, UNLESS_ZERO),
    "setpriority": (141, 140, UNLESS_OWN),  # the first argument 0 means a process, the second 0 the caller
    "ioprio_set": (251, 30, UNLESS_OWN),  # here a process is 1
    "shmget": (29, 194, ALWAYS),
    "semget": (64, 190, ALWAYS),
    "msgget": (68, 186, ALWAYS),
    "mq_open": (240, 180, ALWAYS),
    "add_key": (248, 217, ALWAYS),
    "request_key": (249, 218, ALWAYS),
    "keyctl": (250, 219, ALWAYS),
    "io_uring_setup": (425, 425, ALWAYS),
    "io_uring_enter": (426, 426, ALWAYS),
    "io_uring_register": (427, 427, ALWAYS),
    "bpf": (321, 280, ALWAYS),
    "userfaultfd": (323, 282, ALWAYS),
    "perf_event_open": (298, 241, ALWAYS),
    "syslog": (103, 116, ALWAYS),
    "mount": (165, 40, ALWAYS),
    "umount2": (166, 39, ALWAYS),
    "pivot_root": (155, 41, ALWAYS),
    "chroot": (161, 51, ALWAYS),
    "open_tree": (428, 428, ALWAYS),
    "move_mount": (429, 429, ALWAYS),
    "fsopen": (430, 430, ALWAYS),
    "fsmount": (432, 432, ALWAYS),
    "mount_setattr": (442, 442, ALWAYS),
    "open_by_handle_at": (304, 265, ALWAYS),
    "unshare": (272, 97, ALWAYS),
    "setns": (308, 268, ALWAYS),
    "clone": (56, 220, NAMESPACES),
    "socket": (41, 198, SOCKET),
}
# For children only: descriptors that are sent and not received count for the user, whom all containers share, and beyond a
# limit nobody's can be sent any more, not even a template's.
CHILD_RULES = {
    "sendmsg": (46, 211, ALWAYS),
    "sendmmsg": (307, 269, ALWAYS),
}
CLONE3 = 435  # its flags lie in memory, where a filter can't look: callers fall back to clone

ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
NEW_NAMESPACES = 0x7E020000
SOCKETS = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6
IOPRIO_PROCESS = 1

# Classic BPF, as linux/filter.h and linux/seccomp.h have it.
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, ARGUMENTS = 0, 4, 16
ALLOW, FAIL_WITH = 0x7FFF0000, 0x00050000


def program(machine, rules):
    """The filter's instructions as bytes; None for a machine whose numbers are not listed here."""
    if machine not in ARCHITECTURES:
        return None
    architecture, column = ARCHITECTURES[machine]
    code = []

    def add(operation, value, jump_true=0, jump_false=0):
        code.append(struct.pack("HBBI", operation, jump_true, jump_false, value))

    def deny(error=errno.EPERM):
        add(RETURN, FAIL_WITH | error)

    add(LOAD, ARCHITECTURE)
    add(EQUAL, architecture, 1, 0)
    deny(errno.ENOSYS)
    add(LOAD, NUMBER)
    add(AT_LEAST, 0x40000000, 0, 1)  # the x32 table
    deny(errno.ENOSYS)
    add(EQUAL, CLONE3, 0, 1)
    deny(errno.ENOSYS)
    for name, row in rules.items():
        number, rule = row[column], row[2]
        # Both processors are little endian: the lower half of an argument comes first, and all these are 32 bits long.
        if rule == ALWAYS:
            add(EQUAL, number, 0, 1)
            deny()
        elif rule == UNLESS_ZERO:
            add(EQUAL, number, 0, 4)
            add(LOAD, ARGUMENTS)
            add(EQUAL, 0, 0, 1)
            add(RETURN, ALLOW)
            deny()
        elif rule == UNLESS_OWN:
            add(EQUAL, number, 0, 6)
            add(LOAD, ARGUMENTS)
            add(EQUAL, IOPRIO_PROCESS if name == "ioprio_set" else 0, 0, 3)
            add(LOAD, ARGUMENTS + 8)
            add(EQUAL, 0, 0, 1)
            add(RETURN, ALLOW)
            deny()
        elif isinstance(rule, tuple):
            position, values = rule
            add(EQUAL, number, 0, 3 + len(values))
            add(LOAD, ARGUMENTS + 8 * position)
            for at, value in enumerate(values):
                add(EQUAL, value, len(values) - at, 0)
            add(RETURN, ALLOW)
            deny()
        elif rule == NAMESPACES:
            add(EQUAL, number, 0, 4)
            add(LOAD, ARGUMENTS)
            add(ANY_BIT, NEW_NAMESPACES, 1, 0)
            add(RETURN, ALLOW)
            deny()
        elif rule == SOCKET:
            add(EQUAL, number, 0, 3 + len(SOCKETS))
            add(LOAD, ARGUMENTS)
            for at, family in enumerate(SOCKETS):
                add(EQUAL, family, len(SOCKETS) - at, 0)
            deny()
            add(RETURN, ALLOW)
    add(RETURN, ALLOW)
    return b"".join(code)


class Filter:
    """A filter that is ready to be set for a process and all that it forks."""

    def __init__(self, libc, rules):
        self._prctl = libc.prctl
        code = program(os.uname().machine, rules)
        self._header = None
        if code is not None:
            self._instructions = ctypes.create_string_buffer(code, len(code))
            address = ctypes.addressof(self._instructions)
            self._header = ctypes.c_char_p(struct.pack("HxxxxxxP", len(code) // 8, address))

    def install(self):
        """False where the kernel or the machine does not allow it: whether it holds is a fact that a probe finds."""
        return self._header is not None and self._prctl(22, 2, self._header, 0, 0) == 0  # PR_SET_SECCOMP, a filter


class Kernel:
    """What the template calls of the kernel and Python has no function for."""

    def __init__(self, libc):
        self.prctl = libc.prctl
        self.child_filter = Filter(libc, CHILD_RULES)
