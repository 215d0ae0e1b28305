package org.harnesslearning.llm.ggml;

/** ggml cannot be used on this machine; the message says why. */
final class UnavailableException extends Exception {

    UnavailableException(String message) {
        super(message);
    }
}
