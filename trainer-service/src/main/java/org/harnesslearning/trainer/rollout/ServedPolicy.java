package org.harnesslearning.trainer.rollout;

import java.util.ArrayDeque;
import java.util.Deque;
import org.harnesslearning.trainer.decoder.LoraFiles;
import org.harnesslearning.trainer.registry.ModelRegistry;
import org.harnesslearning.trainer.registry.ModelVersion;
import org.harnesslearning.trainer.run.TrainingContext;
import org.jspecify.annotations.Nullable;

/** The policy of a run at the solver, each version under a name of its own, so that no group mixes versions. */
public final class ServedPolicy implements AutoCloseable {
    private final ModelRegistry registry;
    private final TrainingContext context;
    private final int keep;
    private final Deque<String> names = new ArrayDeque<>();

    /** @param keep versions that stay served beside the newest one, for groups still under way */
    public ServedPolicy(ModelRegistry registry, TrainingContext context, int keep) {
        this.registry = registry;
        this.context = context;
        this.keep = keep;
    }

    /**
     * A version that can be asked.
     *
     * @param version in the model registry
     * @param step optimiser steps behind it
     */
    public record Policy(String model, String version, long step) {}

    /** Publishes an adapter and has it served. */
    public Policy publish(LoraFiles adapter, String baseHash, @Nullable String parent, long step) {
        ModelVersion version = registry.publish(
                adapter, context.baseModel(), baseHash, context.kind().json(), parent, context.run(), step);
        Policy policy = new Policy(name(step), version.id(), step);
        serve(policy);
        return policy;
    }

    /** Has a version served again that an earlier start served: a group is still to be asked for under its name. */
    public void again(Policy policy) {
        if (!names.contains(policy.model())) {
            serve(policy);
        }
    }

    private void serve(Policy policy) {
        registry.serve(policy.version(), policy.model());
        if (!names.contains(policy.model())) {
            names.addLast(policy.model());
        }
        while (names.size() > keep + 1) {
            registry.withdraw(names.removeFirst());
        }
    }

    /** Name of the policy after so many steps. */
    private String name(long step) {
        return context.run() + "-policy-" + step;
    }

    /** Withdraws all versions. */
    @Override
    public void close() {
        while (!names.isEmpty()) {
            registry.withdraw(names.removeFirst());
        }
    }
}
