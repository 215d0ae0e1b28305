"""The host's walls as a child sees them from inside."""

import os
import stat
import sys

import child


def facts(channel):
    """Tells what a harness would find: a fact that can't be found out is None."""
    status = dict(line.split(":", 1) for line in text_of("/proc/self/status").splitlines())
    capabilities = {status[name].strip() for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb") if name in status}
    memory = text_of("/proc/meminfo").split()
    found = {
        "python": sys.version.split()[0],
        "kernel": os.uname().release,
        **cgroup_limits(),
        "host_swap": int(memory[memory.index("SwapTotal:") + 1]) << 10 if "SwapTotal:" in memory else None,
        "interfaces": sorted(interfaces()),
        "reached": [address for address in ("192.0.2.1", "169.254.169.254") if has_route(address)],
        "capabilities": " ".join(sorted(capabilities)) or None,
        "no_new_privs": no_new_privileges(),
        "seccomp": number_of(status.get("Seccomp")),
        "seccomp_filters": number_of(status.get("Seccomp_filters")),
        "engine_filtered": engine_filtered(),
        "uid": os.getuid(),
        "gid": os.getgid(),
        "writable_root": [path for path in ("/", "/opt/harness", "/etc", "/usr/lib", "/var/tmp") if writable(path)],
        "opened": [path for path in ("/proc/1/mem", "/proc/1/fd/0", "/proc/1/environ", "/proc/kcore") if opens(path)],
        "unfiltered": unfiltered(),
    }
    channel.send({"type": "facts", "facts": found})


def text_of(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def number_of(text):
    return int(text) if text is not None and text.strip().isdigit() else None


def no_new_privileges():
    import ctypes

    return ctypes.CDLL(None).prctl(39, 0, 0, 0, 0)  # PR_GET_NO_NEW_PRIVS


def engine_filtered():
    """Whether this process may not turn off the shuffling of its own addresses, which only a filter of the engine forbids."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    number = {"x86_64": 135, "aarch64": 92}.get(os.uname().machine)
    return number is not None and libc.syscall(number, 0x0040000) == -1 and ctypes.get_errno() == 1


def cgroup_limits():
    """Bytes and numbers as the kernel keeps them; "max" for none."""
    if os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
        names = {"memory": "memory.max", "swap": "memory.swap.max", "pids": "pids.max"}
        folder = child.group_folder()
        return {"cgroup": 2, **{name: text_of(folder + file).strip() or None for name, file in names.items()}}
    memory = text_of(child.MEMORY_V1 + "memory.limit_in_bytes").strip() or None
    both = text_of(child.MEMORY_V1 + "memory.memsw.limit_in_bytes").strip()
    # Where neither is limited both are the same, the largest number of whole pages.
    swap = ("max" if int(both) >= 1 << 62 else str(int(both) - int(memory))) if memory and both else None
    pids = text_of("/sys/fs/cgroup/pids/pids.max").strip() or None
    return {"cgroup": 1 if memory else None, "memory": memory, "swap": swap, "pids": pids}


def processes(channel, most):
    """Tells how many children there can be at once, counted up to a number."""
    import time

    children = []
    try:
        while len(children) < most:
            pid = os.fork()
            if pid == 0:
                time.sleep(60)
                os._exit(0)
            children.append(pid)
    except OSError:
        pass
    channel.send({"type": "facts", "facts": len(children)})


def interfaces():
    """Of all network interfaces; a kernel of its own may show them in one place only."""
    listed = [line.partition(":")[0].strip() for line in text_of("/proc/net/dev").splitlines() if ":" in line]
    return set(listed) | set(os.listdir("/sys/class/net") if os.path.isdir("/sys/class/net") else ())


def has_route(address):
    """Whether the kernel would send a packet there; nothing is sent."""
    import socket

    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.connect((address, 9))
            return True
    except OSError:
        return False


def writable(folder):
    path = os.path.join(folder, "probe")
    try:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        os.unlink(path)
        return True
    except OSError:
        return False


def opens(path):
    """Whether a file can be opened; one that the engine has covered with /dev/null is not that file."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    found = os.fstat(fd)
    os.close(fd)
    return not (stat.S_ISCHR(found.st_mode) and found.st_rdev == os.makedev(1, 3))


def unfiltered():
    """Those of a few dangerous system calls that are let through to the kernel."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    numbers = {"x86_64": (101, 250, 46, 425), "aarch64": (117, 219, 211, 425)}.get(os.uname().machine)
    passed = []
    for name, number in zip(("ptrace", "keyctl", "sendmsg", "io_uring_setup"), numbers or ()):
        ctypes.set_errno(0)
        # Arguments that are an error wherever the call gets through: no such request, operation or descriptor, no memory there.
        if libc.syscall(number, -1 if name != "io_uring_setup" else 1, 0, 0, 0) != -1 or ctypes.get_errno() not in (1, 38):
            passed.append(name)
    if numbers is None or libc.socket(40, 1, 0) != -1 or ctypes.get_errno() != 1:  # AF_VSOCK
        passed.append("vsock")
    try:
        os.kill(1, 0)  # no signal, only whether one could be sent
        passed.append("kill")
    except PermissionError:
        pass
    return passed


def take_memory(count):
    """Takes and touches this many bytes; whoever may have them is not held by a limit."""
    kept = []
    for _ in range(count >> 20):
        kept.append(b"x" * (1 << 20))
