package org.harnesslearning.standalone;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class OptionsTest {
    private static Options of(String... arguments) {
        return Options.of(arguments, Map.of("HARNESS_DATA", "/data"));
    }

    @Test
    void defaults_listen_on_loopback_only() {
        Options options = of();
        assertThat(options.host()).isEqualTo("127.0.0.1");
        assertThat(options.port()).isEqualTo(8080);
        assertThat(options.data()).isEqualTo(Path.of("/data"));
        assertThat(options.training()).isFalse();
        assertThat(options.properties()).isEmpty();
    }

    @Test
    void options_win_over_the_environment() {
        Options options = Options.of(
                new String[] {"--port=9", "--host", "0.0.0.0", "--data", "/other", "--set", "a.b=c", "--set=d=e"},
                Map.of("HARNESS_PORT", "8", "HARNESS_DATA", "/data"));
        assertThat(options.port()).isEqualTo(9);
        assertThat(options.host()).isEqualTo("0.0.0.0");
        assertThat(options.data()).isEqualTo(Path.of("/other"));
        assertThat(options.properties()).containsExactly("a.b=c", "d=e");
    }

    @Test
    void a_property_that_is_given_replaces_the_platforms_own() {
        Options options =
                of("--set", "trainer.checkpoints[a]=/given", "--set", "list=1", "--set", "list=2", "--set", "flag");
        assertThat(options.over(
                        List.of("--trainer.checkpoints[a]=/cache", "--trainer.checkpoints[ab]=/other", "--flag=x")))
                .containsExactly(
                        "--trainer.checkpoints[ab]=/other",
                        "--trainer.checkpoints[a]=/given",
                        "--list=1",
                        "--list=2",
                        "--flag");
    }

    @Test
    void wrong_options_are_named() {
        assertThatThrownBy(() -> of("--port", "x")).hasMessageContaining("'x'");
        assertThatThrownBy(() -> of("--port", "70000")).hasMessageContaining("70000");
        assertThatThrownBy(() -> of("--what=1")).hasMessageContaining("--what");
        assertThatThrownBy(() -> of("--port")).hasMessageContaining("--port");
    }
}
