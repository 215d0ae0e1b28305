package org.harnesslearning.trainer.method;

import org.harnesslearning.trainer.decoder.LoraFiles;
import org.harnesslearning.trainer.decoder.LoraSettings;
import org.harnesslearning.trainer.distributed.Learner;
import org.harnesslearning.trainer.distributed.LearnerSettings;
import org.harnesslearning.trainer.distributed.Learners;
import org.harnesslearning.trainer.run.TrainingContext;

/** The model of one run: its tokens, and its learner with the adapter that the run begins from. */
public record Trainee(ModelTokens tokens, Learner learner) implements AutoCloseable {
    /** Opens the run's model; a run that begins from a version keeps that one's form. */
    public static Trainee open(
            TrainingContext context,
            Learners learners,
            LearnerProperties properties,
            AdapterSettings adapter,
            OptimizerSettings optimizer,
            EngineSettings engine) {
        LoraFiles initial = context.initial();
        LoraSettings lora =
                initial == null ? adapter.lora() : LoraSettings.of(initial).withDropout(adapter.dropout());
        ModelTokens tokens = ModelTokens.open(context.checkpoint());
        Learner learner = null;
        try {
            learner = learners.open(new LearnerSettings(
                    context.checkpoint(), lora, properties.decoder(engine), optimizer.adamW(), context.seed()));
            if (initial != null) {
                learner.load(initial);
            }
            return new Trainee(tokens, learner);
        } catch (RuntimeException e) {
            if (learner != null) {
                learner.close();
            }
            tokens.close();
            throw e;
        }
    }

    @Override
    public void close() {
        tokens.close();
        learner.close();
    }
}
