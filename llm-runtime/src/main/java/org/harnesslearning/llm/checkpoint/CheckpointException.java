package org.harnesslearning.llm.checkpoint;

import java.nio.file.Path;

/** A checkpoint that cannot be used; the message names the file and the reason. */
public class CheckpointException extends RuntimeException {

    private static final long serialVersionUID = 1;

    private final String file;
    private final String reason;

    public CheckpointException(Path file, String reason) {
        super(file + ": " + reason);
        this.file = file.toString();
        this.reason = reason;
    }

    public CheckpointException(Path file, String reason, Throwable cause) {
        super(file + ": " + reason, cause);
        this.file = file.toString();
        this.reason = reason;
    }

    /** The file or directory at fault. */
    public String file() {
        return file;
    }

    /** What is wrong with it. */
    public String reason() {
        return reason;
    }
}
