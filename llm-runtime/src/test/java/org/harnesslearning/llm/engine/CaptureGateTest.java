package org.harnesslearning.llm.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

class CaptureGateTest {

    @Test
    void aCaptureWaitsForOtherWorkAndOtherWorkForTheCapture() throws InterruptedException {
        List<String> order = new CopyOnWriteArrayList<>();
        CountDownLatch working = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        Thread loading = Thread.ofPlatform()
                .start(() -> CaptureGate.beside(() -> {
                    working.countDown();
                    awaited(goOn);
                    order.add("loaded");
                }));
        working.await();
        // Others are not kept out by one that works.
        CaptureGate.beside(() -> order.add("stepped"));
        CountDownLatch capturing = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        Thread capture = Thread.ofPlatform()
                .start(() -> CaptureGate.alone(() -> {
                    order.add("captured");
                    capturing.countDown();
                    awaited(end);
                    order.add("capture ended");
                }));
        untilItWaits(capture);
        goOn.countDown();
        capturing.await();
        Thread after = Thread.ofPlatform().start(() -> CaptureGate.beside(() -> order.add("stepped again")));
        untilItWaits(after);
        end.countDown();
        for (Thread thread : List.of(loading, capture, after)) {
            thread.join();
        }
        assertThat(order).containsExactly("stepped", "loaded", "captured", "capture ended", "stepped again");
    }

    @Test
    void aCaptureWithinOtherWorkIsRefusedInsteadOfWaitingForItself() {
        CaptureGate.beside(() -> assertThatThrownBy(() -> CaptureGate.alone(() -> {}))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("captured"));
        CaptureGate.alone(() -> CaptureGate.beside(() -> {}));
    }

    private static void untilItWaits(Thread thread) {
        while (thread.getState() != Thread.State.WAITING && thread.getState() != Thread.State.TERMINATED) {
            Thread.onSpinWait();
        }
    }

    private static void awaited(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
