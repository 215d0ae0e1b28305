package org.harnesslearning.trainer;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Settings of training runs and of the model registry.
 *
 * @param checkpoints folder or GGUF file of each model that can be trained here, by the name that solver-service serves
 * @param folder scratch of running trainings; default: the system's folder for temporary files
 * @param parallelRuns runs that this process does at once; others wait
 * @param keepCheckpoints newest checkpoints of a run that are kept
 * @param stallAfter a step that takes longer is named as stalled
 * @param queuePoll how often a waiting run asks for its turn
 * @param eventPoll how often an event stream looks for new events
 * @param heartbeat time between heartbeat comments of an event stream
 * @param maxWait longest {@code Prefer: wait}
 * @param answerTimeout longest wait for one answer of another service
 * @param nameSweep how often names of models are looked for whose training run or promotion has ended
 */
@ConfigurationProperties("trainer")
public record TrainerProperties(
        @DefaultValue Map<String, Path> checkpoints,
        @Nullable Path folder,
        @DefaultValue("1") int parallelRuns,
        @DefaultValue("2") int keepCheckpoints,
        @DefaultValue("15m") Duration stallAfter,
        @DefaultValue("1s") Duration queuePoll,
        @DefaultValue("500ms") Duration eventPoll,
        @DefaultValue("15s") Duration heartbeat,
        @DefaultValue("10m") Duration maxWait,
        @DefaultValue("10m") Duration answerTimeout,
        @DefaultValue("10m") Duration nameSweep) {
    public TrainerProperties {
        if (parallelRuns < 1 || keepCheckpoints < 1) {
            throw new IllegalArgumentException("trainer.parallel-runs and trainer.keep-checkpoints are at least 1");
        }
        checkpoints = Map.copyOf(checkpoints);
    }
}
