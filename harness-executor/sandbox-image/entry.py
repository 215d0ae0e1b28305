"""The container's entry point: hardens itself, forks the template process while little is loaded, and becomes the runner."""

import _signal
import ctypes
import os
import sys

import child
import syscalls
import template


def harden():
    """Not dumpable, deaf to an interrupt, and under a filter of system calls where the host allows one; what template
    processes, the only others that need it, call of the kernel."""
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # Python's own handler would let any child interrupt this process
    libc = ctypes.CDLL(None, use_errno=True)
    syscalls.Filter(libc, syscalls.RULES).install()
    if libc.prctl(template.PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    kernel = syscalls.Kernel(libc)
    for name in [name for name in sys.modules if name == "ctypes" or name == "_ctypes" or name.startswith("ctypes.")]:
        del sys.modules[name]
    return kernel


def main():
    if os.getpid() != 1:
        sys.exit("the runner must be process 1 of its own container: it kills every other process")
    kernel = harden()
    folder = sys.path.pop(0)
    process = template.start(kernel, child.Program())
    sys.path.insert(0, folder)
    import runner

    sys.path.pop(0)
    runner.main(kernel, *process)
