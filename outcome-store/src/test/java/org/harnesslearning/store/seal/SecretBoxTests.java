package org.harnesslearning.store.seal;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.security.SecureRandom;
import org.junit.jupiter.api.Test;

class SecretBoxTests {
    private final SecureRandom random = new SecureRandom();
    private final SecretBox box = new SecretBox("installation", "tests", random);

    @Test
    void opens_what_it_sealed_and_never_seals_the_same_way_twice() {
        byte[] plain = "whsec_abc".getBytes(UTF_8);
        byte[] sealed = box.seal(plain);
        assertThat(box.open(sealed)).isEqualTo(plain);
        assertThat(box.seal(plain)).isNotEqualTo(sealed);
        assertThat(new String(sealed, UTF_8)).doesNotContain("whsec");
    }

    @Test
    void another_secret_another_purpose_and_a_changed_value_open_nothing() {
        byte[] sealed = box.seal("text".getBytes(UTF_8));
        assertThatThrownBy(() -> new SecretBox("other", "tests", random).open(sealed))
                .isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> new SecretBox("installation", "else", random).open(sealed))
                .isInstanceOf(IllegalStateException.class);
        sealed[sealed.length - 1] ^= 1;
        assertThatThrownBy(() -> box.open(sealed)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> box.open(new byte[3])).isInstanceOf(IllegalStateException.class);
    }
}
