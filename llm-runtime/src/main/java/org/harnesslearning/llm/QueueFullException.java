package org.harnesslearning.llm;

/** The engine has as many waiting requests as it may; try again later. */
public class QueueFullException extends RuntimeException {

    private static final long serialVersionUID = 1;

    public QueueFullException(String message) {
        super(message);
    }
}
