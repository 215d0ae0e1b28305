package org.harnesslearning.trainer.run;

import java.time.Clock;
import org.harnesslearning.store.training.CheckpointStore;
import org.harnesslearning.store.training.TrainingRunStore;
import org.springframework.stereotype.Component;
import org.springframework.transaction.support.TransactionTemplate;

/** The stores that all parts of a training run use. */
@Component
record TrainingServices(TransactionTemplate tx, Clock clock, TrainingRunStore runs, CheckpointStore checkpoints) {
    /** Type of the last event of every run. */
    static final String FINISHED = "finished";
}
