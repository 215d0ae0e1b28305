package org.harnesslearning.executor.sandbox;

import java.util.List;
import java.util.Map;
import org.harnesslearning.executor.TestSandboxes;
import org.harnesslearning.testing.RequiresDocker;
import org.junit.jupiter.api.extension.ExtendWith;

/** {@link DockerSandboxes} against the real engine. */
@RequiresDocker
@ExtendWith(TestSandboxes.ChosenRuntime.class)
class DockerSandboxesTests extends SandboxesContract {
    @Override
    Fixture fixture(Map<String, Object> changes) {
        TestSandboxes docker = new TestSandboxes(changes);
        return new Fixture() {
            @Override
            public Sandboxes sandboxes() {
                return docker.sandboxes();
            }

            @Override
            public List<String> left() {
                return docker.containers();
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
