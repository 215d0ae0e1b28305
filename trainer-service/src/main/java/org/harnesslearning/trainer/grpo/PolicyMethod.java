package org.harnesslearning.trainer.grpo;

import java.time.Duration;
import java.util.List;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.store.harness.HarnessStore;
import org.harnesslearning.store.sample.GroupStore;
import org.harnesslearning.tasks.SeedHarness;
import org.harnesslearning.trainer.decoder.LoraFiles;
import org.harnesslearning.trainer.decoder.LoraSettings;
import org.harnesslearning.trainer.distributed.Learner;
import org.harnesslearning.trainer.distributed.LearnerSettings;
import org.harnesslearning.trainer.distributed.Learners;
import org.harnesslearning.trainer.method.LearnerProperties;
import org.harnesslearning.trainer.method.ModelTokens;
import org.harnesslearning.trainer.registry.ModelRegistry;
import org.harnesslearning.trainer.rollout.Curriculum;
import org.harnesslearning.trainer.rollout.Groups;
import org.harnesslearning.trainer.rollout.Sampler;
import org.harnesslearning.trainer.rollout.ServedPolicy;
import org.harnesslearning.trainer.run.TrainingContext;
import org.harnesslearning.trainer.run.TrainingKind;
import org.harnesslearning.trainer.run.TrainingMethod;
import org.harnesslearning.trainer.run.TrainingWork;
import tools.jackson.databind.JsonNode;

/** Policy optimisation, with states that stand for themselves or follow each other. */
final class PolicyMethod implements TrainingMethod {
    private final TrainingKind kind;
    private final Learners learners;
    private final LearnerProperties properties;
    private final ModelRegistry registry;
    private final Groups groups;
    private final GroupStore store;
    private final HarnessStore harnesses;

    PolicyMethod(
            TrainingKind kind,
            Learners learners,
            LearnerProperties properties,
            ModelRegistry registry,
            Groups groups,
            GroupStore store,
            HarnessStore harnesses) {
        this.kind = kind;
        this.learners = learners;
        this.properties = properties;
        this.registry = registry;
        this.groups = groups;
        this.store = store;
        this.harnesses = harnesses;
    }

    @Override
    public TrainingKind kind() {
        return kind;
    }

    @Override
    public Object settings(JsonNode request) {
        GrpoSettings settings = GrpoSettings.read(request, kind == TrainingKind.MULTISTEP);
        for (int i = 0; i < settings.harnesses().size(); i++) {
            if (harnesses.find(settings.harnesses().get(i)).isEmpty()) {
                throw PlatformException.field(
                        ErrorCode.INVALID_HARNESS, "/harnesses/" + i, "Field harnesses names no stored harness");
            }
        }
        return settings;
    }

    @Override
    public TrainingWork open(TrainingContext context) {
        GrpoSettings settings = Json.mapper().treeToValue(context.settings(), GrpoSettings.class);
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
            Sampler sampler = new Sampler(
                    new Sampler.Plan(
                            new Curriculum(context.families(), sources, context.seed()),
                            settings.rollout(),
                            settings.rewards(),
                            settings.chosen(),
                            settings.groupsPerBatch(),
                            settings.candidates(),
                            settings.laneLength(),
                            settings.maxStaleness(),
                            settings.groupsInFlight(),
                            settings.failuresInRow(),
                            Duration.ofSeconds(settings.groupPatienceS())),
                    groups,
                    store,
                    harnesses,
                    context);
            return new GrpoWork(
                    context,
                    settings,
                    learner,
                    tokens,
                    sampler,
                    new ServedPolicy(registry, context, settings.maxStaleness()),
                    store);
        } catch (RuntimeException e) {
            if (learner != null) {
                learner.close();
            }
            tokens.close();
            throw e;
        }
    }
}
