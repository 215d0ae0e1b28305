package org.harnesslearning.trainer.distributed;

import java.util.List;
import org.harnesslearning.trainer.decoder.Sequence;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * What rank 0 has another rank do.
 *
 * @param batch the rank's share
 * @param objective its class and its data
 * @param sizes bytes of the files that follow through the group
 */
record Order(
        Act act,
        List<Sequence> batch,
        double temperature,
        double learningRate,
        @Nullable String objectiveType,
        @Nullable JsonNode objective,
        List<Long> sizes) {
    enum Act {
        LOGPROBS,
        REFERENCE_LOGPROBS,
        ACCUMULATE,
        STEP,
        LOAD,
        RESTORE,
        END
    }

    Order {
        batch = List.copyOf(batch);
        sizes = List.copyOf(sizes);
    }

    static Order of(Act act) {
        return new Order(act, List.of(), 1, 0, null, null, List.of());
    }

    static Order files(Act act, List<Long> sizes) {
        return new Order(act, List.of(), 1, 0, null, null, sizes);
    }

    static Order step(double learningRate) {
        return new Order(Act.STEP, List.of(), 1, learningRate, null, null, List.of());
    }

    static Order batch(Act act, List<Sequence> batch, double temperature) {
        return new Order(act, batch, temperature, 0, null, null, List.of());
    }
}
