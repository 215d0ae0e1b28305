package org.harnesslearning.tasks;

import java.util.ArrayList;
import java.util.List;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.FieldError;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.task.Split;

/**
 * Numbers of questions.
 *
 * @param feedback at least 1
 * @param dev at least 1
 * @param heldOut 0 only where a missing held-out set is allowed
 */
public record SplitSizes(int feedback, int dev, int heldOut) {
    /** Defaults of the public API. */
    public static final SplitSizes DEFAULTS = new SplitSizes(6, 12, 24);

    /** Most questions of a split. Built-in families keep the three seeds 1000 apart, so more would meet the next one's. */
    public static final int MAX = 1000;

    public SplitSizes {
        List<FieldError> errors = new ArrayList<>();
        check(errors, "feedback", feedback, 1);
        check(errors, "dev", dev, 1);
        check(errors, "held_out", heldOut, 0);
        if (!errors.isEmpty()) {
            throw PlatformException.fields(errors);
        }
    }

    private static void check(List<FieldError> errors, String name, int value, int least) {
        if (value < least || value > MAX) {
            errors.add(new FieldError(
                    "/splits/" + name, ErrorCode.INVALID_FIELD, name + " must be from " + least + " to " + MAX));
        }
    }

    /** Number of questions of a split. */
    public int of(Split split) {
        return switch (split) {
            case FEEDBACK -> feedback;
            case DEV -> dev;
            case HELD_OUT -> heldOut;
        };
    }
}
