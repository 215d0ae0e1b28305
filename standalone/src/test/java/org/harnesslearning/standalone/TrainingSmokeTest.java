package org.harnesslearning.standalone;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.harnesslearning.testing.RequiresDocker;
import org.harnesslearning.testing.RequiresPostgres;
import org.harnesslearning.testing.SharedData;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What {@code ./harness train --smoke} does: all services, Docker sandboxes, Postgres and a tiny model. */
@RequiresDocker
@RequiresPostgres
class TrainingSmokeTest {
    @Test
    void edits_are_learned_then_improved_on_and_what_is_better_is_promoted_and_served(@TempDir Path folder)
            throws Exception {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED",
                        "-XX:+UseSerialGC",
                        "-Xmx1g",
                        "-Djava.io.tmpdir=" + folder,
                        "-cp",
                        System.getProperty("java.class.path"),
                        TrainingSmoke.class.getName())
                .directory(SharedData.root().toFile())
                .redirectErrorStream(true)
                .start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
        // The exit code says that samples were valid, rewards differed, weights changed, that the comparison on the
        // withheld
        // families promoted the better version and refused an equal one, and that answers follow the promoted name.
        assertThat(output)
                .contains("SFT: 4 edits accepted")
                .contains("the version after SFT is promoted: the gain on 25 questions of 5 withheld families is 0.2")
                .contains("the version after GRPO is refused: the gain on 25 questions")
                .contains("GRPO step 2:")
                .contains("passed")
                .doesNotContain("FAILED");
    }
}
