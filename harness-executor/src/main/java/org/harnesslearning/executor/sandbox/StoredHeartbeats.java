package org.harnesslearning.executor.sandbox;

import java.time.Duration;
import java.util.Set;
import org.harnesslearning.store.execution.ExecutorInstances;

/** Heartbeats in the installation's database, which every executor has at hand anyway, wherever it and its engine are. */
public final class StoredHeartbeats implements Heartbeats {
    private final ExecutorInstances instances;
    private final String registry;

    public StoredHeartbeats(ExecutorInstances instances) {
        this.instances = instances;
        this.registry = instances.registry();
    }

    @Override
    public String registry() {
        return registry;
    }

    @Override
    public void beat(String instance) {
        instances.beat(instance);
    }

    @Override
    public Set<String> living(Duration lostAfter) {
        return instances.living(lostAfter);
    }

    @Override
    public void leave(String instance) {
        instances.leave(instance);
    }
}
