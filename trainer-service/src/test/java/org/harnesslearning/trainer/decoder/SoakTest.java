package org.harnesslearning.trainer.decoder;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import org.bytedeco.javacpp.Pointer;
import org.harnesslearning.trainer.optimizer.AdamW;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the garbage collector does not see: native objects and their memory over some hundred steps. */
class SoakTest {

    @TempDir
    private Path folder;

    @Test
    void hundreds_of_steps_leave_no_native_object_behind() {
        DecoderSettings settings = DecoderSettings.onProcessor().withThreads(1).withTokensPerMicroBatch(50);
        List<Sequence> batch = TinyModels.sequences(96, 20, 9, 12, 24);
        long objects = 0;
        long bytes = 0;
        for (boolean checkpointing : new boolean[] {true, false}) {
            try (TrainableDecoder decoder = TrainableDecoder.open(
                            TinyModels.write(folder, "qwen3-tied"),
                            LoraSettings.of(4, 8).withDropout(0.1),
                            settings.withGradientCheckpointing(checkpointing),
                            1);
                    AdamW optimiser = new AdamW(decoder, AdamW.Settings.DEFAULTS)) {
                for (int step = 0; step < 120; step++) {
                    optimiser.zeroGradients();
                    decoder.accumulate(batch, 0.9, step, TinyModels.waves(batch));
                    optimiser.step(1e-4);
                    decoder.logprobs(batch, 0.9);
                    decoder.referenceLogprobs(batch, 0.9);
                    if (step == 20) {
                        objects = Pointer.totalCount();
                        bytes = Pointer.physicalBytes();
                    }
                }
                // Fewer, where the collector has meanwhile found objects of other tests.
                assertThat(Pointer.totalCount()).isLessThanOrEqualTo(objects);
                assertThat(Pointer.physicalBytes() - bytes).isLessThan(32L << 20);
            }
        }
    }

    @Test
    void a_closed_decoder_leaves_no_native_object_behind() {
        Path checkpoint = TinyModels.write(folder, "llama-linear-rope-biases");
        long before = 0;
        for (int round = 0; round < 4; round++) {
            try (TrainableDecoder decoder =
                            TrainableDecoder.open(checkpoint, LoraSettings.of(4, 8), DecoderSettings.onProcessor(), 1);
                    AdamW optimiser = new AdamW(decoder, AdamW.Settings.DEFAULTS)) {
                decoder.load(decoder.adapter());
                optimiser.step(0.1);
            }
            before = round == 0 ? Pointer.totalCount() : before;
        }
        assertThat(Pointer.totalCount()).isLessThanOrEqualTo(before);
    }
}
