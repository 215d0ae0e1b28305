package org.harnesslearning.standalone.cli;

/** How a command ended, as the process's exit code. */
enum ExitCode {
    /** The run finished; its gate, if it had one, passed. */
    DONE(0),
    /** The run finished and its gate failed. */
    GATE_FAILED(1),
    /** The command line or the request is wrong. */
    USAGE(2),
    /** The run failed or was cancelled; for {@code adapt} and {@code evaluate} also that no platform takes the request. */
    FAILED(3),
    /** The platform can't be reached or refuses the key; {@code demo}, {@code revise} and {@code status} tell it apart. */
    UNREACHABLE(4);

    private final int value;

    ExitCode(int value) {
        this.value = value;
    }

    int value() {
        return value;
    }
}
