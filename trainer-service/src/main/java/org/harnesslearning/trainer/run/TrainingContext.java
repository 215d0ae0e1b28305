package org.harnesslearning.trainer.run;

import java.nio.file.Path;
import java.time.Clock;
import java.util.List;
import java.util.function.Supplier;
import org.harnesslearning.trainer.decoder.LoraFiles;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * What a method is given for one run.
 *
 * @param run id, {@code trn_…}
 * @param baseModel name of the model that is trained, as solver-service serves it
 * @param checkpoint its folder or GGUF file on this machine
 * @param families names of the task families to train on, never empty, never one of the withheld ones
 * @param settings effective settings of the method, as {@link TrainingMethod#settings} returned them
 * @param budget what the run may spend
 * @param parent version of the registry that the training begins from; null: the base as it is
 * @param initial that version's adapter
 * @param seed of everything random
 * @param folder scratch, empty at first, gone after the run; nothing in it survives a restart
 * @param desk where the work reports and asks
 */
public record TrainingContext(
        String run,
        TrainingKind kind,
        String baseModel,
        Path checkpoint,
        List<String> families,
        JsonNode settings,
        Budget budget,
        @Nullable String parent,
        @Nullable LoraFiles initial,
        long seed,
        Path folder,
        Desk desk,
        Clock clock) {
    /**
     * Bounds of a run. The job itself ends the run at its steps and its wall clock.
     *
     * @param steps most optimiser steps
     * @param wallClockS most seconds of work
     * @param solverCalls most calls of the solver, for methods that execute harnesses
     * @param tokens most tokens of solver and proposer together
     */
    public record Budget(long steps, long wallClockS, long solverCalls, long tokens) {}

    /** How a work speaks with its job; any thread. */
    public interface Desk {
        /**
         * Adds an event to the run's stream.
         *
         * @param type lower case with dots, such as {@code group.finished}
         * @param data a record or map that {@code Json} writes
         */
        void event(String type, Object data);

        /**
         * Says what the step waits for now, so that a stalled step can be named: {@code revision rev_… of chain_sum}.
         *
         * @param what for a person; empty for nothing but its own computing
         */
        void pending(String what);

        /**
         * To be called in each loop that waits.
         *
         * @throws TrainingStopped when the run is cancelled, deleted, or left to another worker; within {@link #waiting} also
         *     when it is to pause
         */
        void check();

        /**
         * Waits for others at a place of a step where the work still is what it was before that step: {@link
         * TrainingWork#save} would write the checkpoint of the last step. A run that is to pause or is left to another worker
         * ends its attempt out of the wait, and is saved there; a resumed one does the whole step again. So what the wait has
         * ordered must be found again by a later start.
         *
         * @param wait calls {@link #check} in its loops, in this thread or others
         * @return what {@code wait} gave
         * @throws TrainingStopped from {@link #check}
         */
        <T> T waiting(Supplier<T> wait);
    }

    public TrainingContext {
        families = List.copyOf(families);
    }

    /** As {@link Desk#check}. */
    public void check() {
        desk.check();
    }
}
