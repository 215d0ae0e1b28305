package org.harnesslearning.llm.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tools.jackson.databind.JsonNode;

class DequantiserTest {

    @ParameterizedTest
    @EnumSource(value = TensorType.class, names = "F32", mode = EnumSource.Mode.EXCLUDE)
    void readsBlocksAsTheGgufPackageDoes(TensorType type) {
        JsonNode golden = Goldens.json("blocks").get(type.name());
        float[] expected = Goldens.floats(golden.get("values"));
        byte[] bytes = HexFormat.of().parseHex(golden.get("bytes").asString());

        float[] values = Dequantiser.all(
                new Tensor("blocks", type, List.of((long) expected.length), MemorySegment.ofArray(bytes)));

        assertThat(values).hasSameSizeAs(expected);
        for (int i = 0; i < values.length; i++) {
            assertThat(values[i])
                    .isCloseTo(expected[i], org.assertj.core.data.Offset.offset(1e-6f * (1 + Math.abs(expected[i]))));
        }
    }
}
