package org.harnesslearning.benchmarks.learning;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.Channels;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.harnesslearning.llm.checkpoint.LoraAdapter;
import org.harnesslearning.llm.checkpoint.Safetensors;
import org.harnesslearning.llm.checkpoint.Tensor;
import org.harnesslearning.llm.checkpoint.TensorType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AdaptersTest {
    private static final byte[] CONFIG = "{\"r\": 1}".getBytes(StandardCharsets.UTF_8);

    private static Adapters.Content content(float... values) throws Exception {
        ByteBuffer bytes = ByteBuffer.allocate(values.length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        for (float value : values) {
            bytes.putFloat(value);
        }
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        Safetensors.write(
                Channels.newChannel(out),
                Map.of(LoraAdapter.BASE_HASH, "abc"),
                List.of(new Tensor(
                        "a.weight",
                        TensorType.F32,
                        List.of(1L, (long) values.length),
                        MemorySegment.ofArray(bytes.array()))));
        return new Adapters.Content(CONFIG, out.toByteArray());
    }

    @Test
    void numbers_are_rounded_to_the_nearest_bfloat16_and_the_metadata_stay() throws Exception {
        float above = 1 + 1.5f / 256;
        Adapters.Content rounded = Adapters.rounded(content(1, -2.5f, 1 + 1f / 256, 1 + 3f / 256, above, 0, -0.001f));
        Safetensors file = Safetensors.of(Path.of("x"), MemorySegment.ofArray(rounded.weights()));
        assertThat(file.metadata()).containsEntry(LoraAdapter.BASE_HASH, "abc");
        Tensor tensor = file.tensors().get("a.weight");
        assertThat(tensor.type()).isEqualTo(TensorType.BF16);
        float[] found = new float[7];
        for (int i = 0; i < found.length; i++) {
            short half = tensor.data().get(ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN), 2L * i);
            found[i] = Float.intBitsToFloat(half << 16);
        }
        // A step of bfloat16 at 1 is 1/128; halves go to the even neighbour.
        assertThat(found[0]).isEqualTo(1);
        assertThat(found[1]).isEqualTo(-2.5f);
        assertThat(found[2]).isEqualTo(1);
        assertThat(found[3]).isEqualTo(1 + 4f / 256);
        assertThat(found[4]).isEqualTo(1 + 2f / 256);
        assertThat(found[5]).isZero();
        assertThat(Math.abs(found[6] + 0.001f)).isLessThan(0.001f / 256);
        assertThat(Adapters.rounded(rounded).version())
                .as("rounding again changes nothing")
                .isEqualTo(rounded.version());
    }

    @Test
    void an_adapter_comes_back_from_its_files_with_the_same_version(@TempDir Path folder) throws Exception {
        byte[] noise = new byte[40 << 20];
        new Random(2).nextBytes(noise);
        Adapters.Content large = new Adapters.Content(CONFIG, noise);
        List<String> names = Adapters.save(folder, large);
        assertThat(names).hasSize(3);
        for (String name : names) {
            assertThat(folder.resolve(name).toFile().length()).isLessThanOrEqualTo(15L << 20);
        }
        assertThat(Adapters.read(folder, names).version()).isEqualTo(large.version());
    }
}
