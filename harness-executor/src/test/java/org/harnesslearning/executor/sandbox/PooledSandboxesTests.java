package org.harnesslearning.executor.sandbox;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.executor.TestSandboxes;
import org.harnesslearning.testing.RequiresDocker;
import org.junit.jupiter.api.extension.ExtendWith;

/** {@link DockerSandboxes} with a pool, against the real engine. */
@RequiresDocker
@ExtendWith(TestSandboxes.ChosenRuntime.class)
class PooledSandboxesTests extends SandboxesContract {
    private static final int SIZE = 2;

    @Override
    Fixture fixture(Map<String, Object> changes) {
        Map<String, Object> pooled = new HashMap<>(changes);
        pooled.put("executor.pool.size", SIZE);
        pooled.put("executor.pool.memory-mib", TestSandboxes.MEMORY_MIB); // what the contract's jobs ask for
        TestSandboxes docker = new TestSandboxes(pooled);
        return new Fixture() {
            @Override
            public Sandboxes sandboxes() {
                return docker.sandboxes();
            }

            @Override
            public List<String> left() {
                // Members that wait for a job are no job's; what goes beyond them is left over.
                List<String> containers = docker.containers();
                return containers.size() <= SIZE ? List.of() : containers;
            }

            @Override
            public void killJobs() {
                docker.containers().forEach(TestSandboxes::kill);
            }

            @Override
            public void close() {
                docker.close();
            }
        };
    }
}
