package org.harnesslearning.standalone.cli;

/** Ends a command with a message for a person and an exit code. */
final class CommandException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final ExitCode code;

    CommandException(ExitCode code, String message) {
        super(message);
        this.code = code;
    }

    static CommandException usage(String message) {
        return new CommandException(ExitCode.USAGE, message);
    }

    @Override
    public String getMessage() {
        return String.valueOf(super.getMessage());
    }

    ExitCode code() {
        return code;
    }
}
