package org.harnesslearning.trainer.sft;

import java.util.List;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.store.harness.HarnessStore;
import org.harnesslearning.store.sample.CorpusStore;
import org.harnesslearning.store.sample.GroupStore;
import org.harnesslearning.tasks.SeedHarness;
import org.harnesslearning.trainer.decoder.LoraFiles;
import org.harnesslearning.trainer.decoder.LoraSettings;
import org.harnesslearning.trainer.distributed.Learner;
import org.harnesslearning.trainer.distributed.LearnerSettings;
import org.harnesslearning.trainer.distributed.Learners;
import org.harnesslearning.trainer.method.LearnerProperties;
import org.harnesslearning.trainer.method.ModelTokens;
import org.harnesslearning.trainer.rollout.Curriculum;
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
        for (int i = 0; i < settings.harnesses().size(); i++) {
            if (harnesses.find(settings.harnesses().get(i)).isEmpty()) {
                throw PlatformException.field(
                        ErrorCode.INVALID_HARNESS, "/harnesses/" + i, "Field harnesses names no stored harness");
            }
        }
        String source = settings.corpus();
        if (source != null && !corpus.counts(source).containsKey(CorpusStore.ACCEPTED)) {
            throw PlatformException.field(
                    ErrorCode.INVALID_FIELD, "/corpus", "Field corpus names no run with accepted edits");
        }
        return settings;
    }

    @Override
    public TrainingWork open(TrainingContext context) {
        SftSettings settings = Json.mapper().treeToValue(context.settings(), SftSettings.class);
        LoraFiles initial = context.initial();
        LoraSettings lora = initial == null
                ? settings.lora().lora()
                : LoraSettings.of(initial).withDropout(settings.lora().dropout());
        ModelTokens tokens = ModelTokens.open(context.checkpoint());
        Learner learner = null;
        try {
            learner = learners.open(new LearnerSettings(
                    context.checkpoint(),
                    lora,
                    properties.decoder(settings.engine()),
                    settings.optimizer().adamW(),
                    context.seed()));
            if (initial != null) {
                learner.load(initial);
            }
            List<String> sources = settings.harnesses().isEmpty()
                    ? List.of(SeedHarness.MINIMAL)
                    : settings.harnesses().stream().map(harnesses::source).toList();
            CorpusBuilder builder = new CorpusBuilder(
                    context,
                    settings,
                    new Curriculum(context.families(), sources, context.seed()),
                    tokens,
                    teachers,
                    revisions,
                    corpus,
                    groups,
                    tx);
            return new SftWork(context, settings, learner, tokens, builder, corpus);
        } catch (RuntimeException e) {
            if (learner != null) {
                learner.close();
            }
            tokens.close();
            throw e;
        }
    }
}
