package org.harnesslearning.contracts.hash;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.harnesslearning.contracts.task.Item;
import org.junit.jupiter.api.Test;

class HashesTest {
    @Test
    void a_text_hash_is_sha_256_of_its_utf_8_bytes() {
        assertThat(Hashes.item("abc"))
                .isEqualTo("sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assertThat(Hashes.harness("é")).isEqualTo(Hashes.sha256(new byte[] {(byte) 0xc3, (byte) 0xa9}));
    }

    @Test
    void an_item_with_a_foreign_hash_is_refused() {
        assertThatThrownBy(() -> new Item(Hashes.item("other"), "q", List.of("a"), null))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
