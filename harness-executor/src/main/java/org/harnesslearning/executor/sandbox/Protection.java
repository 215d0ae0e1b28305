package org.harnesslearning.executor.sandbox;

/** What a host must hold a sandbox to. Each is looked at from inside a container before this executor serves. */
public enum Protection {
    /** A process that takes more memory than its container may have is killed. */
    MEMORY_LIMIT("a container can take more memory than its limit"),
    /** Nothing of a container is swapped out beside its memory limit. */
    SWAP_LIMIT("a container can swap beside its memory limit"),
    /** A container has at most the set number of processes and threads. */
    PIDS_LIMIT("a container can have more processes than its limit"),
    /** There is no interface but the loopback one, and no route anywhere. */
    NETWORK("a container reaches a network"),
    /** All five sets of capabilities are empty. */
    CAPABILITIES("a container's processes have capabilities"),
    /** No set-user-id program adds privileges. */
    NO_NEW_PRIVILEGES("a container's processes can gain privileges by executing a file"),
    /** The engine's own filter of system calls. */
    SECCOMP("the engine sets no filter of system calls"),
    /** The runner's filter of system calls. */
    SYSCALL_FILTER("the runner's own filter of system calls does not hold"),
    /** Nothing outside {@code /tmp} can be written. */
    READ_ONLY_ROOT("a container can write outside /tmp"),
    /** Processes run as the unprivileged user 65534. */
    UNPRIVILEGED_USER("a container's processes do not run as user 65534"),
    /** A child can't open the runner's memory, descriptors and environment. */
    RUNNER_CLOSED("a child can open the runner's memory or descriptors");

    private final String gap;

    Protection(String gap) {
        this.gap = gap;
    }

    /** One clause that says what is wrong where this protection is missing. */
    public String gap() {
        return gap;
    }
}
