package org.harnesslearning.benchmarks.learning;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.harnesslearning.contracts.json.Json;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class EvaluationStageTest {
    @TempDir
    private Path folder;

    private void begin(String set, double temperature) {
        try (Experiment experiment = new Experiment(
                folder,
                new PlatformClient("http://127.0.0.1:1", "key"),
                "tiny",
                new PrintStream(OutputStream.nullOutputStream(), true, StandardCharsets.UTF_8),
                new Jobs.Deadline(1),
                Duration.ofMillis(10))) {
            new EvaluationStage(
                    experiment,
                    new EvaluationStage.Plan(
                            set,
                            List.of("chain_sum"),
                            List.of(),
                            "tiny",
                            List.of(),
                            6,
                            12,
                            12,
                            4,
                            1,
                            3,
                            1,
                            42,
                            temperature,
                            0.95,
                            768,
                            512,
                            600,
                            1));
        }
    }

    private void stored(String set, String temperature) {
        new RawFile(folder, Experiment.OUTCOMES)
                .add(List.of(Json.mapper()
                        .readTree("{\"type\":\"proposal\",\"arm\":\"grpo\",\"set\":\"" + set + "\",\"solver\":\"tiny\""
                                + temperature + "}")
                        .asObject()));
    }

    @Test
    void edits_of_two_temperatures_do_not_meet_in_one_file() {
        stored("unseen", ",\"temperature\":0.3");
        assertThatThrownBy(() -> begin("unseen", 0.8))
                .isInstanceOf(LearnException.class)
                .hasMessageContaining("were sampled at temperature 0.3");
        assertThatCode(() -> begin("unseen", 0.3)).doesNotThrowAnyException();
        assertThatCode(() -> begin("withheld", 0.8)).doesNotThrowAnyException();
    }

    @Test
    void files_that_name_no_temperature_are_of_the_first_attempts() {
        stored("unseen", "");
        assertThatCode(() -> begin("unseen", 0.8)).doesNotThrowAnyException();
        assertThatThrownBy(() -> begin("unseen", 0.5))
                .isInstanceOf(LearnException.class)
                .hasMessageContaining("give --temperature 0.8, or another --out");
    }
}
