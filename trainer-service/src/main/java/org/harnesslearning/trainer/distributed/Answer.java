package org.harnesslearning.trainer.distributed;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a rank says about an order.
 *
 * @param fault why it could not be done; the other fields mean nothing then
 * @param identity what must be equal at all ranks, after opening: name and value, alternating
 */
record Answer(
        @Nullable String fault,
        double loss,
        double[] statistics,
        List<float[]> logprobs,
        double gradientNorm,
        boolean applied,
        List<String> identity) {
    static Answer fault(String fault) {
        return new Answer(fault, 0, new double[0], List.of(), 0, false, List.of());
    }

    static Answer done() {
        return new Answer(null, 0, new double[0], List.of(), 0, true, List.of());
    }

    static Answer logprobs(List<float[]> logprobs) {
        return new Answer(null, 0, new double[0], logprobs, 0, true, List.of());
    }

    static Answer accumulated(Accumulated accumulated) {
        return new Answer(null, accumulated.loss(), accumulated.statistics(), List.of(), 0, true, List.of());
    }

    static Answer step(Step step) {
        return new Answer(null, 0, new double[0], List.of(), step.gradientNorm(), step.applied(), List.of());
    }

    static Answer identity(List<String> identity) {
        return new Answer(null, 0, new double[0], List.of(), 0, true, identity);
    }
}
