package org.harnesslearning.trainer.run;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import org.harnesslearning.trainer.decoder.LoraFiles;

/** A training in progress. Used by one thread at a time. */
public interface TrainingWork extends AutoCloseable {
    /**
     * Does exactly one optimiser step, or counts one batch that was dropped.
     *
     * @return empty when the run's goal is reached; nothing was done then
     * @throws TrainingStopped from {@link TrainingContext#check}; the work is closed without saving, unless it comes out of
     *     {@link TrainingContext.Desk#waiting} for a pause or the end of the process
     */
    Optional<StepReport> step();

    /**
     * Writes all that the next step depends on: adapter, optimiser, place in schedule and data, random state, counters.
     *
     * @param folder empty and of its own; plain files only, at any depth
     */
    void save(Path folder) throws IOException;

    /** Takes what {@link #save} wrote; the next step is then the one that would have followed. */
    void restore(Path folder) throws IOException;

    /** The adapter as it is now. */
    LoraFiles adapter();

    /** Hash of the base model's weights. */
    String baseHash();

    @Override
    void close();
}
