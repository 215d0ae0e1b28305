package org.harnesslearning.trainer.decoder;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.harnesslearning.testing.SharedData;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Hugging Face PEFT loads what is saved here. It needs a Python with torch, transformers and peft: that of the system
 * property {@code peft.python}, else {@code python3}; without one it is skipped, which fails no build.
 */
class PeftTest {

    private static final String PYTHON = System.getProperty("peft.python", "python3");

    @TempDir
    private Path folder;

    @ParameterizedTest
    @ValueSource(strings = {"llama-untied", "qwen2-untied", "qwen3-tied"})
    void peft_loads_a_saved_adapter_and_gives_the_same_logits(String model) throws Exception {
        assumeTrue(
                run(List.of(PYTHON, "-c", "import torch, transformers, peft")) != null,
                PYTHON + " has no torch, transformers and peft: -Dpeft.python=… names one that has");
        Path checkpoint = TinyModels.write(folder, model);
        LoraSettings lora = new LoraSettings(3, 5, 0.1, true, LoraSettings.ALL_MODULES);
        try (TrainableDecoder decoder = TrainableDecoder.open(
                checkpoint, lora, DecoderSettings.onProcessor().withThreads(1), 1)) {
            TinyModels.fillByFormula(decoder, 0.3f);
            decoder.adapter().write(folder.resolve("adapter"));
            List<int[]> prompts = List.of(new int[] {5}, new int[] {3, 1, 4, 1, 5, 9, 2, 6});
            List<String> command = new ArrayList<>(List.of(
                    PYTHON,
                    SharedData.root()
                            .resolve("trainer-service/src/test/golden/peft_logits.py")
                            .toString(),
                    checkpoint.toString(),
                    folder.resolve("adapter").toString()));
            for (int[] prompt : prompts) {
                command.add(Arrays.stream(prompt).mapToObj(Integer::toString).collect(Collectors.joining(",")));
            }
            String output = run(command);
            assertThat(output).as("the script ends well").isNotNull();
            JsonNode answer = JsonMapper.builder()
                    .build()
                    .readTree(output.lines().toList().getLast());
            assertThat(answer.get("adapter_parameters").asLong())
                    .isEqualTo(decoder.values().numel());
            for (int i = 0; i < prompts.size(); i++) {
                float[] adapted = decoder.logits(prompts.get(i), true);
                assertThat(TinyModels.maxDifference(
                                adapted, TinyModels.floats(answer.get("logits").get(i))))
                        .isLessThan(1e-4);
                assertThat(TinyModels.maxDifference(adapted, decoder.logits(prompts.get(i), false)))
                        .isGreaterThan(0.01);
            }
        }
    }

    /** What a command prints; null if it fails or is not there. */
    private static String run(List<String> command) throws InterruptedException {
        try {
            ProcessBuilder builder = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
            builder.environment().put("OMP_NUM_THREADS", "1");
            builder.environment().put("HF_HUB_OFFLINE", "1");
            Process process = builder.start();
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (!process.waitFor(120, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                return null;
            }
            return process.exitValue() == 0 ? output : null;
        } catch (IOException e) {
            return null;
        }
    }
}
