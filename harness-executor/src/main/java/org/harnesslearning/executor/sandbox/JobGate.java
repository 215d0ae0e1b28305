package org.harnesslearning.executor.sandbox;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** Lets jobs through as {@link Admission} decides, in the order of their coming. */
final class JobGate {
    private static final double FIRST_GUESS_S = 5;
    private static final double WEIGHT = 0.2;

    private final Admission admission;
    private final Timer waits;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final ArrayDeque<Turn> queue = new ArrayDeque<>();
    private Admission.Load load = Admission.Load.NONE;
    private double meanJobS = FIRST_GUESS_S;

    JobGate(Admission admission, MeterRegistry metrics) {
        this.admission = admission;
        this.waits = Timer.builder("executor.queue.wait")
                .description("Time that jobs waited for their turn")
                .serviceLevelObjectives(
                        Duration.ofMillis(10),
                        Duration.ofMillis(100),
                        Duration.ofSeconds(1),
                        Duration.ofSeconds(5),
                        Duration.ofSeconds(15),
                        Duration.ofSeconds(60),
                        Duration.ofSeconds(300))
                .register(metrics);
        Gauge.builder("executor.queue.length", this, gate -> gate.load().queued())
                .description("Jobs that wait for their turn")
                .register(metrics);
        Gauge.builder("executor.queue.age", this, JobGate::ageS)
                .description("How long the first job of the queue has waited")
                .baseUnit("seconds")
                .register(metrics);
        Gauge.builder("executor.jobs.running", this, gate -> gate.load().running())
                .description("Jobs that hold a container")
                .register(metrics);
    }

    /** A job in the queue; two are never equal. */
    private static final class Turn {
        private final long since;

        private Turn(long since) {
            this.since = since;
        }
    }

    private double ageS() {
        lock.lock();
        try {
            Turn first = queue.peek();
            return first == null ? 0 : (System.nanoTime() - first.since) / 1e9;
        } finally {
            lock.unlock();
        }
    }

    /** A job's place; closing it more than once does nothing more. */
    final class Place implements AutoCloseable {
        private final Admission.Demand demand;
        private final long since = System.nanoTime();
        private boolean open = true;

        private Place(Admission.Demand demand) {
            this.demand = demand;
        }

        @Override
        public void close() {
            lock.lock();
            try {
                if (open) {
                    open = false;
                    load = load.ended(demand);
                    double seconds = (System.nanoTime() - since) / 1e9;
                    meanJobS += WEIGHT * (seconds - meanJobS);
                    changed.signalAll();
                }
            } finally {
                lock.unlock();
            }
        }
    }

    Admission.Load load() {
        lock.lock();
        try {
            return load;
        } finally {
            lock.unlock();
        }
    }

    /** What would become of a job that came now. */
    Admission.Decision decision(Admission.Demand demand) {
        lock.lock();
        try {
            return admission.decide(load, demand, meanJobS);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits for a job's turn. Whoever asks here was admitted before: the queue's length refuses nobody.
     *
     * @throws InterruptedException when the caller's thread is interrupted; the job has no place then
     */
    Place enter(Admission.Demand demand) throws InterruptedException {
        long start = System.nanoTime();
        lock.lockInterruptibly();
        try {
            Turn turn = new Turn(start);
            queue.add(turn);
            count();
            try {
                while (!Objects.equals(queue.peek(), turn) || !admission.fits(load, demand)) {
                    changed.await();
                }
                load = load.started(demand);
            } finally {
                queue.remove(turn);
                count();
                changed.signalAll();
            }
            return new Place(demand);
        } finally {
            lock.unlock();
            waits.record(Duration.ofNanos(System.nanoTime() - start).toNanos(), TimeUnit.NANOSECONDS);
        }
    }

    private void count() {
        load = load.queued(queue.size());
    }
}
