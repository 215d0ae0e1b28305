package org.harnesslearning.trainer.sft;

import java.nio.file.Files;
import java.nio.file.Path;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.store.harness.HarnessStore;
import org.harnesslearning.store.sample.CorpusStore;
import org.harnesslearning.store.sample.GroupStore;
import org.harnesslearning.trainer.distributed.Learners;
import org.harnesslearning.trainer.method.LearnerProperties;
import org.harnesslearning.trainer.method.StartHarnesses;
import org.harnesslearning.trainer.method.Trainee;
import org.harnesslearning.trainer.rollout.Revisions;
import org.harnesslearning.trainer.rollout.TeacherRevisions;
import org.harnesslearning.trainer.run.TrainingContext;
import org.harnesslearning.trainer.run.TrainingKind;
import org.harnesslearning.trainer.run.TrainingMethod;
import org.harnesslearning.trainer.run.TrainingWork;
import org.springframework.stereotype.Component;
import org.springframework.transaction.support.TransactionTemplate;
import tools.jackson.databind.JsonNode;

/** Supervised training on teachers' edits. */
@Component
class SftMethod implements TrainingMethod {
    private final Learners learners;
    private final LearnerProperties properties;
    private final TeacherRevisions teachers;
    private final Revisions revisions;
    private final CorpusStore corpus;
    private final GroupStore groups;
    private final HarnessStore harnesses;
    private final TransactionTemplate tx;

    SftMethod(
            Learners learners,
            LearnerProperties properties,
            TeacherRevisions teachers,
            Revisions revisions,
            CorpusStore corpus,
            GroupStore groups,
            HarnessStore harnesses,
            TransactionTemplate tx) {
        this.learners = learners;
        this.properties = properties;
        this.teachers = teachers;
        this.revisions = revisions;
        this.corpus = corpus;
        this.groups = groups;
        this.harnesses = harnesses;
        this.tx = tx;
    }

    @Override
    public TrainingKind kind() {
        return TrainingKind.SFT;
    }

    @Override
    public Object settings(JsonNode request) {
        SftSettings settings = SftSettings.read(request);
        StartHarnesses.check(harnesses, settings.harnesses(), settings.familyHarnesses());
        for (int i = 0; i < settings.corpus().size(); i++) {
            if (!corpus.counts(settings.corpus().get(i)).containsKey(CorpusStore.ACCEPTED)) {
                throw PlatformException.field(
                        ErrorCode.INVALID_FIELD, "/corpus/" + i, "Field corpus names a run without accepted edits");
            }
        }
        return settings;
    }

    @Override
    public Path adapter(Path checkpoint) {
        Path best = checkpoint.resolve(SftWork.BEST);
        return Files.isDirectory(best) ? best : checkpoint.resolve(SftWork.LEARNER);
    }

    @Override
    public TrainingWork open(TrainingContext context) {
        SftSettings settings = Json.mapper().treeToValue(context.settings(), SftSettings.class);
        Trainee trainee =
                Trainee.open(context, learners, properties, settings.lora(), settings.optimizer(), settings.engine());
        try {
            CorpusBuilder builder = new CorpusBuilder(
                    context,
                    settings,
                    StartHarnesses.curriculum(
                            context.families(),
                            settings.harnesses(),
                            settings.familyHarnesses(),
                            harnesses,
                            context.seed()),
                    trainee.tokens(),
                    teachers,
                    revisions,
                    corpus,
                    groups,
                    tx);
            return new SftWork(context, settings, trainee, builder, corpus);
        } catch (RuntimeException e) {
            trainee.close();
            throw e;
        }
    }
}
