package org.harnesslearning.trainer.run;

import java.nio.file.Path;
import org.harnesslearning.contracts.error.PlatformException;
import tools.jackson.databind.JsonNode;

/** A way of training. A bean each; a trainer serves the kinds whose methods it has. */
public interface TrainingMethod {
    /** The kind of runs that this method does. */
    TrainingKind kind();

    /**
     * Reads the request's {@code settings}.
     *
     * @param request an object, empty where the request has none
     * @return the effective settings, defaults filled in, as a record that {@code Json} writes; its JSON is stored, shown
     *     as {@code settings.method} and read again through this method on each start of the run, so it is a fixed point
     * @throws PlatformException INVALID_FIELD or UNKNOWN_FIELD with pointers relative to {@code request}
     */
    Object settings(JsonNode request);

    /**
     * Opens the work at its beginning: weights loaded, nothing trained. {@link TrainingWork#restore} follows where the run
     * has a checkpoint.
     */
    TrainingWork open(TrainingContext context);

    /**
     * Where the adapter of a checkpoint is, in PEFT's form, that a run which ended with it would leave.
     *
     * @param checkpoint folder that {@link TrainingWork#save} wrote
     */
    Path adapter(Path checkpoint);
}
