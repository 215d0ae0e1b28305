package org.harnesslearning.trainer.grpo;

import java.nio.file.Path;
import java.time.Duration;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.store.harness.HarnessStore;
import org.harnesslearning.store.sample.GroupStore;
import org.harnesslearning.trainer.distributed.Learners;
import org.harnesslearning.trainer.method.LearnerProperties;
import org.harnesslearning.trainer.method.StartHarnesses;
import org.harnesslearning.trainer.method.Trainee;
import org.harnesslearning.trainer.registry.ModelRegistry;
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
        StartHarnesses.check(harnesses, settings.harnesses(), settings.familyHarnesses());
        return settings;
    }

    @Override
    public Path adapter(Path checkpoint) {
        return checkpoint.resolve(GrpoWork.LEARNER);
    }

    @Override
    public TrainingWork open(TrainingContext context) {
        GrpoSettings settings = Json.mapper().treeToValue(context.settings(), GrpoSettings.class);
        Trainee trainee =
                Trainee.open(context, learners, properties, settings.lora(), settings.optimizer(), settings.engine());
        try {
            ServedPolicy served = new ServedPolicy(registry, context, settings.maxStaleness());
            Sampler sampler = new Sampler(
                    new Sampler.Plan(
                            StartHarnesses.curriculum(
                                    context.families(),
                                    settings.harnesses(),
                                    settings.familyHarnesses(),
                                    harnesses,
                                    context.seed()),
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
                    served,
                    context);
            return new GrpoWork(context, settings, trainee, sampler, served, store);
        } catch (RuntimeException e) {
            trainee.close();
            throw e;
        }
    }
}
