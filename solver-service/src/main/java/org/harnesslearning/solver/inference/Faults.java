package org.harnesslearning.solver.inference;

import java.util.ArrayList;
import java.util.List;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.FieldError;
import org.harnesslearning.contracts.error.PlatformException;
import org.jspecify.annotations.Nullable;

/** Collects the faults of a body. */
final class Faults {
    private final List<FieldError> found = new ArrayList<>();

    void add(String pointer, String detail) {
        found.add(new FieldError(pointer, ErrorCode.INVALID_FIELD, detail));
    }

    void within(String pointer, @Nullable Number value, double least, double most) {
        if (value != null && !(value.doubleValue() >= least && value.doubleValue() <= most)) {
            add(pointer, "It must lie in %.0f..%.0f".formatted(least, most));
        }
    }

    /** {@code value} in (0, most]. */
    void positive(String pointer, @Nullable Double value, double most) {
        if (value != null && !(value > 0 && value <= most)) {
            add(pointer, "It must lie in (0, %.0f]".formatted(most));
        }
    }

    void throwIfAny() {
        if (!found.isEmpty()) {
            throw PlatformException.fields(found);
        }
    }
}
