package org.harnesslearning.trainer.grpo;

import org.harnesslearning.store.harness.HarnessStore;
import org.harnesslearning.store.sample.GroupStore;
import org.harnesslearning.trainer.distributed.Learners;
import org.harnesslearning.trainer.method.LearnerProperties;
import org.harnesslearning.trainer.registry.ModelRegistry;
import org.harnesslearning.trainer.rollout.Groups;
import org.harnesslearning.trainer.run.TrainingKind;
import org.harnesslearning.trainer.run.TrainingMethod;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

@Configuration(proxyBeanMethods = false)
class PolicyConfiguration {
    @Bean
    TrainingMethod grpoMethod(
            Learners learners,
            LearnerProperties properties,
            ModelRegistry registry,
            Groups groups,
            GroupStore store,
            HarnessStore harnesses) {
        return new PolicyMethod(TrainingKind.GRPO, learners, properties, registry, groups, store, harnesses);
    }

    @Bean
    TrainingMethod multistepMethod(
            Learners learners,
            LearnerProperties properties,
            ModelRegistry registry,
            Groups groups,
            GroupStore store,
            HarnessStore harnesses) {
        return new PolicyMethod(TrainingKind.MULTISTEP, learners, properties, registry, groups, store, harnesses);
    }
}
