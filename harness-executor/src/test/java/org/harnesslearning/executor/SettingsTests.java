package org.harnesslearning.executor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.harnesslearning.executor.broker.BrokerSettings;
import org.harnesslearning.executor.execution.ExecutionSettings;
import org.harnesslearning.executor.sandbox.Protection;
import org.harnesslearning.executor.sandbox.SandboxSettings;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;

class SettingsTests {
    private static <T> T bind(String prefix, Class<T> type, Map<String, Object> properties) {
        Map<String, Object> named = new HashMap<>();
        properties.forEach((key, value) -> named.put(prefix + "." + key, value));
        return new Binder(new MapConfigurationPropertySource(named)).bindOrCreate(prefix, type);
    }

    @Test
    void sandbox_settings_have_their_defaults_and_every_key() {
        assertThat(bind("executor.sandbox", SandboxSettings.class, Map.of()))
                .isEqualTo(new SandboxSettings(
                        null,
                        null,
                        "harness-executor/sandbox-image/build.sh",
                        Duration.ofMinutes(15),
                        null,
                        "harness-learning",
                        8,
                        1.0,
                        64,
                        null,
                        16,
                        Duration.ofSeconds(30),
                        Duration.ofSeconds(60),
                        Duration.ofSeconds(10),
                        20,
                        Duration.ofHours(6),
                        1 << 20,
                        8192,
                        8 << 20,
                        1 << 16,
                        Duration.ofSeconds(10),
                        Duration.ofSeconds(20),
                        Set.of(),
                        List.of("ctypes", "socket", "multiprocessing", "threading", "signal", "importlib")));
        Map<String, Object> all = Map.ofEntries(
                Map.entry("docker-host", "tcp://h:1"),
                Map.entry("image", "i:1"),
                Map.entry("image-build", "b.sh"),
                Map.entry("image-build-timeout", "1m"),
                Map.entry("runtime", "runsc"),
                Map.entry("owner", "o"),
                Map.entry("max-containers", "9"),
                Map.entry("cpus", "0.5"),
                Map.entry("pids", "99"),
                Map.entry("user-pids", "66"),
                Map.entry("tmp-mib", "7"),
                Map.entry("control-timeout", "1s"),
                Map.entry("start-timeout", "2s"),
                Map.entry("clock-grace", "3s"),
                Map.entry("deadline-factor", "5"),
                Map.entry("max-lifetime", "1h"),
                Map.entry("output-bytes", "11"),
                Map.entry("capture-bytes", "12"),
                Map.entry("channel-bytes", "13"),
                Map.entry("answer-chars", "14"),
                Map.entry("smoke-timeout", "15s"),
                Map.entry("static-timeout", "16s"),
                Map.entry("accepted-gaps", "SECCOMP,swap-limit"),
                Map.entry("forbidden-imports", "pickle,os"));
        assertThat(bind("executor.sandbox", SandboxSettings.class, all))
                .isEqualTo(new SandboxSettings(
                        "tcp://h:1",
                        "i:1",
                        "b.sh",
                        Duration.ofMinutes(1),
                        "runsc",
                        "o",
                        9,
                        0.5,
                        99,
                        66,
                        7,
                        Duration.ofSeconds(1),
                        Duration.ofSeconds(2),
                        Duration.ofSeconds(3),
                        5,
                        Duration.ofHours(1),
                        11,
                        12,
                        13,
                        14,
                        Duration.ofSeconds(15),
                        Duration.ofSeconds(16),
                        Set.of(Protection.SECCOMP, Protection.SWAP_LIMIT),
                        List.of("pickle", "os")));
        assertThatThrownBy(() -> bind("executor.sandbox", SandboxSettings.class, Map.of("max-containers", "0")))
                .hasStackTraceContaining("a limit is too small");
    }

    @Test
    void broker_and_execution_settings_have_their_defaults() {
        assertThat(bind("executor.broker", BrokerSettings.class, Map.of()))
                .isEqualTo(new BrokerSettings(
                        5, Duration.ofMillis(500), Duration.ofSeconds(10), Duration.ofMinutes(15), 8192));
        assertThat(bind("executor.execution", ExecutionSettings.class, Map.of()))
                .isEqualTo(new ExecutionSettings(3, Duration.ofMillis(500), Duration.ofMinutes(2), 64));
    }
}
