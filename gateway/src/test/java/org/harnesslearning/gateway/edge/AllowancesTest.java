package org.harnesslearning.gateway.edge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import org.harnesslearning.contracts.error.FieldError;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.store.key.KeyLimits;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.util.unit.DataSize;

class AllowancesTest {
    private static final RateSettings RATES = new RateSettings(20, 100, null, null);
    private static final BodySettings BODIES = new BodySettings(DataSize.ofMegabytes(4), DataSize.ofMegabytes(16));

    private final Allowances allowances = new Allowances(RATES, BODIES);

    private static <T> T bound(String prefix, Class<T> type, Map<String, String> properties) {
        return new Binder(new MapConfigurationPropertySource(properties)).bindOrCreate(prefix, type);
    }

    @Test
    void every_setting_has_its_default_and_its_key() {
        assertThat(bound("gateway.rate", RateSettings.class, Map.of())).isEqualTo(RATES);
        assertThat(RATES.mostPerSecond()).isEqualTo(200);
        assertThat(RATES.mostBurst()).isEqualTo(1000);
        assertThat(bound(
                        "gateway.rate",
                        RateSettings.class,
                        Map.of(
                                "gateway.rate.per-second", "1",
                                "gateway.rate.burst", "2",
                                "gateway.rate.max-per-second", "3",
                                "gateway.rate.max-burst", "4")))
                .isEqualTo(new RateSettings(1, 2, 3.0, 4));
        assertThat(bound("gateway.body", BodySettings.class, Map.of()))
                .isEqualTo(new BodySettings(DataSize.ofMegabytes(64), DataSize.ofMegabytes(64)));
        assertThat(bound(
                        "gateway.body",
                        BodySettings.class,
                        Map.of("gateway.body.limit", "1KB", "gateway.body.max-limit", "2KB")))
                .isEqualTo(new BodySettings(DataSize.ofKilobytes(1), DataSize.ofKilobytes(2)));
    }

    @Test
    void a_maximum_below_the_default_stops_the_start() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new RateSettings(20, 100, 19.0, null))
                .withMessageContaining("gateway.rate.max-per-second");
        assertThatIllegalArgumentException().isThrownBy(() -> new RateSettings(20, 100, null, 99));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new BodySettings(DataSize.ofMegabytes(2), DataSize.ofMegabytes(1)))
                .withMessageContaining("gateway.body.max-limit");
    }

    @Test
    void a_key_has_its_own_limit_or_that_of_all_and_never_more_than_the_maximum() {
        assertThat(allowances.of(KeyLimits.NONE)).isEqualTo(new KeyLimits(20.0, 100, 4L << 20));
        assertThat(allowances.of(new KeyLimits(0.5, 1, 1000L))).isEqualTo(new KeyLimits(0.5, 1, 1000L));
        assertThat(allowances.of(new KeyLimits(5000.0, 5000, 1L << 40)))
                .as("made before the operator lowered the maximum")
                .isEqualTo(new KeyLimits(200.0, 1000, 16L << 20));
    }

    @Test
    void refuses_limits_above_the_maximum_and_below_what_lets_anything_through() {
        assertThatCode(() -> allowances.check(new KeyLimits(200.0, 1000, 16L << 20)))
                .doesNotThrowAnyException();
        assertThatCode(() -> allowances.check(KeyLimits.NONE)).doesNotThrowAnyException();
        for (KeyLimits wrong : new KeyLimits[] {
            new KeyLimits(200.5, 1001, (16L << 20) + 1),
            new KeyLimits(0.0, 0, 0L),
            new KeyLimits(-1.0, -1, -1L),
            new KeyLimits(Double.NaN, Integer.MIN_VALUE, Long.MIN_VALUE)
        }) {
            assertThatThrownBy(() -> allowances.check(wrong))
                    .as("%s", wrong)
                    .isInstanceOfSatisfying(
                            PlatformException.class,
                            e -> assertThat(e.errors())
                                    .extracting(FieldError::pointer)
                                    .containsExactly("/rate_per_second", "/rate_burst", "/max_body_bytes"));
        }
    }
}
