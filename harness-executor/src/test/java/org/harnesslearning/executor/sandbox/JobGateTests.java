package org.harnesslearning.executor.sandbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.harnesslearning.executor.sandbox.Admission.Decision;
import org.harnesslearning.executor.sandbox.Admission.Demand;
import org.junit.jupiter.api.Test;

class JobGateTests {
    private static final Demand ONE = new Demand(256, 1);
    private final SimpleMeterRegistry metrics = new SimpleMeterRegistry();
    private final JobGate gate = new JobGate(new Admission(1, 1024, 8, 2), metrics);

    @Test
    void jobs_pass_in_the_order_of_their_coming_and_the_queue_is_bounded() throws Exception {
        List<Integer> order = new CopyOnWriteArrayList<>();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            JobGate.Place first = gate.enter(ONE);
            for (int i = 0; i < 2; i++) {
                int number = i;
                assertThat(gate.decision(ONE)).isEqualTo(new Decision.Queue());
                threads.submit(() -> {
                    JobGate.Place place = gate.enter(ONE);
                    order.add(number);
                    place.close();
                    return place;
                });
                await().atMost(10, TimeUnit.SECONDS).until(() -> gate.load().queued() == number + 1);
            }
            assertThat(gate.decision(ONE)).isInstanceOf(Decision.Refuse.class);
            assertThat(metrics.get("executor.queue.length").gauge().value()).isEqualTo(2);
            assertThat(metrics.get("executor.jobs.running").gauge().value()).isEqualTo(1);
            first.close();
            first.close();
        }
        assertThat(order).containsExactly(0, 1);
        assertThat(gate.load()).isEqualTo(Admission.Load.NONE);
        assertThat(metrics.get("executor.queue.wait").timer().count()).isEqualTo(3);
    }

    @Test
    void who_stops_waiting_leaves_the_queue() throws Exception {
        JobGate.Place first = gate.enter(ONE);
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<JobGate.Place> waiting = threads.submit(() -> gate.enter(ONE));
            await().atMost(10, TimeUnit.SECONDS).until(() -> gate.load().queued() == 1);
            threads.shutdownNow();
            assertThatThrownBy(waiting::get)
                    .isInstanceOf(ExecutionException.class)
                    .hasCauseInstanceOf(InterruptedException.class);
        }
        first.close();
        assertThat(gate.load()).isEqualTo(Admission.Load.NONE);
        gate.enter(ONE).close();
    }
}
