package org.harnesslearning.solver.inference;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.util.function.BooleanSupplier;

/** Waits for something to become true. */
final class Await {
    private Await() {}

    /** Fails after 30 seconds. */
    static void until(BooleanSupplier condition) {
        Instant end = Instant.now().plus(Duration.ofSeconds(30));
        while (!condition.getAsBoolean()) {
            assertThat(Instant.now()).as("time until it is so").isBefore(end);
            try {
                Thread.sleep(5);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
