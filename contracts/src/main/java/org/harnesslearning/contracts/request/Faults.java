package org.harnesslearning.contracts.request;

import java.util.ArrayList;
import java.util.List;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.FieldError;
import org.harnesslearning.contracts.error.PlatformException;

/** Collects all faults of a request, then throws once. */
public final class Faults {
    private final List<FieldError> errors = new ArrayList<>();

    /** Adds a fault. */
    public void add(String pointer, ErrorCode code, String detail) {
        errors.add(new FieldError(pointer, code, detail));
    }

    /** Adds the faults of an exception, their pointers below {@code pointer}. */
    public void add(String pointer, PlatformException fault) {
        if (fault.errors().isEmpty()) {
            add(pointer, fault.code(), String.valueOf(fault.getMessage()));
        }
        fault.errors().forEach(error -> add(pointer + error.pointer(), error.code(), error.detail()));
    }

    public boolean isEmpty() {
        return errors.isEmpty();
    }

    /**
     * Ends the check.
     *
     * @throws PlatformException with all faults, if there are any
     */
    public void check() {
        if (!errors.isEmpty()) {
            throw PlatformException.fields(errors);
        }
    }
}
