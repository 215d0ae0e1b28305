package org.harnesslearning.llm.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import org.harnesslearning.llm.Device;
import org.harnesslearning.llm.EngineOptions;
import org.harnesslearning.llm.NumberType;
import org.harnesslearning.llm.checkpoint.Checkpoint;
import org.harnesslearning.llm.checkpoint.GgufWriter;
import org.harnesslearning.llm.checkpoint.TensorType;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ModelLoaderTest {

    @TempDir
    private Path directory;

    @ParameterizedTest
    @CsvSource({
        "Q4_K, AUTO, q4_k, f16",
        "Q8_0, BF16, q8_0, bf16",
        "Q4_1, FP32, q4_1, f32",
        "Q4_0, AUTO, q4_0, q4_0",
        "BF16, AUTO, bf16, bf16"
    })
    void numberTypeFollowsFromFileAndDevice(TensorType stored, NumberType wanted, String processor, String gpu)
            throws IOException {
        Path file = GgufWriter.decoder("llama", stored, 256, 5).write(directory.resolve("tiny.gguf"));
        try (Checkpoint checkpoint = Checkpoint.open(file)) {
            EngineOptions options = EngineOptions.defaults();
            assertThat(ModelLoader.numberType(checkpoint, options)).isEqualTo(processor);
            assertThat(ModelLoader.numberType(checkpoint, options.withDevice(Device.cuda(0), wanted)))
                    .isEqualTo(gpu);
        }
    }
}
