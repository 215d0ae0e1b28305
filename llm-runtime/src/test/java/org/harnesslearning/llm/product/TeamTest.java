package org.harnesslearning.llm.product;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.atomic.AtomicIntegerArray;
import org.junit.jupiter.api.Test;

class TeamTest {

    @Test
    void everyPartOfEveryTaskIsDoneExactlyOnceBeforeTheTaskReturns() {
        try (Team team = new Team(3)) {
            for (int round = 0; round < 2000; round++) {
                int parts = round % 40;
                AtomicIntegerArray done = new AtomicIntegerArray(40);
                team.run(parts, (worker, part) -> done.incrementAndGet(part));
                for (int part = 0; part < 40; part++) {
                    assertThat(done.get(part)).isEqualTo(part < parts ? 1 : 0);
                }
            }
        }
    }

    @Test
    void noTwoThreadsHaveTheSameNumberAtOnce() {
        try (Team team = new Team(4)) {
            AtomicIntegerArray inside = new AtomicIntegerArray(4);
            team.run(10_000, (worker, part) -> {
                if (inside.incrementAndGet(worker) != 1) {
                    throw new IllegalStateException("two threads are number " + worker);
                }
                inside.decrementAndGet(worker);
            });
        }
    }

    @Test
    void aPartThatFailsFailsTheTaskAfterAllOthersAreDone() {
        try (Team team = new Team(2)) {
            AtomicIntegerArray done = new AtomicIntegerArray(10);
            assertThatThrownBy(() -> team.run(10, (worker, part) -> {
                        if (part == 4) {
                            throw new IllegalArgumentException("four");
                        }
                        done.incrementAndGet(part);
                    }))
                    .hasRootCauseMessage("four");
            for (int part = 0; part < 10; part++) {
                assertThat(done.get(part)).isEqualTo(part == 4 ? 0 : 1);
            }
            team.run(10, (worker, part) -> done.incrementAndGet(part));
            assertThat(done.get(4)).isEqualTo(1);
        }
    }
}
