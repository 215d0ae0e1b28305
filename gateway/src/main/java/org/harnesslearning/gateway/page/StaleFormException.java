package org.harnesslearning.gateway.page;

/** A form came without the token of its session: it is out of date, or another site sent it. */
final class StaleFormException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    StaleFormException() {
        super("This form is out of date. Go back, load the page again and send it once more.");
    }
}
