package org.harnesslearning.store.sample;

import com.fasterxml.jackson.annotation.JsonValue;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * A group of samples as stored: one state, one prompt.
 *
 * @param number from 1, unique in the training run
 * @param batch that trains on it, from 0
 * @param lane whose states follow each other
 * @param depth selections between the starting harness and this state
 * @param harness hash of the harness that is edited
 * @param model name under which the policy was asked
 * @param modelVersion its version in the model registry
 * @param policyStep optimiser steps behind that version
 * @param request body of the revision's request
 * @param run the revision; null before it was ordered
 * @param attempt how often it was given up and asked for again
 * @param failure why it failed
 * @param sampled null before and without samples
 * @param chosen hash of the harness that goes on; several steps only
 */
public record GroupRow(
        String trainingRun,
        long number,
        long batch,
        int lane,
        int depth,
        String family,
        long itemSeed,
        long samplingSeed,
        String harness,
        String model,
        String modelVersion,
        long policyStep,
        String rewardMode,
        JsonNode request,
        State state,
        @Nullable String run,
        int attempt,
        @Nullable String failure,
        @Nullable Sampled sampled,
        @Nullable String chosen) {
    /** Where a group stands. */
    public enum State {
        /** Asked for, or about to be. */
        ORDERED,
        /** Its samples are stored with their rewards. */
        SAMPLED,
        /** It has none. */
        FAILED;

        /** Name in JSON and in the table, lower case. */
        @JsonValue
        public String json() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * What all samples share.
     *
     * @param weightsVersion as the solver reports it
     * @param temperature that the samples and their log-probabilities have
     * @param baseline the parent's mean on the questions of the reward, where it was measured
     */
    public record Sampled(
            String weightsVersion,
            double temperature,
            String promptVersion,
            String reportVersion,
            String descriptionsVersion,
            List<Integer> promptTokenIds,
            @Nullable Double baseline) {
        public Sampled {
            promptTokenIds = List.copyOf(promptTokenIds);
        }
    }
}
