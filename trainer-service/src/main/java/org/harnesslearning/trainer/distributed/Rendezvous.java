package org.harnesslearning.trainer.distributed;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.javacpp.SizeTPointer;
import org.bytedeco.javacpp.chrono.Milliseconds;
import org.bytedeco.pytorch.StringVector;
import org.bytedeco.pytorch.TCPStore;
import org.bytedeco.pytorch.TCPStoreOptions;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The store of rank 0 that all ranks reach: they find each other, pass texts, and say that they live. A rank whose
 * signs of life stop, or whose store is gone, makes every wait end with an exception that names it.
 */
@SuppressWarnings("try") // scopes free what is made inside
final class Rendezvous implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Rendezvous.class);
    private static final long SHORTEST_NAP_NS = 200_000;
    private static final long LONGEST_NAP_NS = 10_000_000;

    private final RankEnvironment place;
    private final DistributedSettings settings;
    private final TCPStore store;
    private final TCPStore signs;
    private final Thread heart;
    private final long[] beats;
    private final long[] seenAt;
    private final List<Runnable> alarms = new ArrayList<>();
    private @Nullable String lost;
    private boolean closed;

    private Rendezvous(RankEnvironment place, DistributedSettings settings, TCPStore store, TCPStore signs) {
        this.place = place;
        this.settings = settings;
        this.store = store;
        this.signs = signs;
        this.beats = new long[place.size()];
        this.seenAt = new long[place.size()];
        this.heart = Thread.ofPlatform().daemon().name("rank-heartbeat").unstarted(this::beat);
    }

    /**
     * Serves the store at rank 0, reaches it at the others.
     *
     * @throws DistributedException when rank 0 can't be reached within the join time-out or the port is taken
     */
    static Rendezvous open(RankEnvironment place, DistributedSettings settings) {
        TCPStore store = connect(place, place.leads(), settings.joinTimeout());
        TCPStore signs;
        try {
            signs = connect(place, false, settings.joinTimeout());
        } catch (DistributedException e) {
            store.releaseReference();
            throw e;
        }
        Rendezvous rendezvous = new Rendezvous(place, settings, store, signs);
        rendezvous.heart.start();
        return rendezvous;
    }

    private static TCPStore connect(RankEnvironment place, boolean serve, Duration timeout) {
        try (PointerScope scope = new PointerScope()) {
            TCPStoreOptions options = new TCPStoreOptions()
                    .port((short) place.masterPort())
                    .isServer(serve)
                    .waitWorkers(false)
                    .numWorkers(new SizeTPointer(1).put(place.size()))
                    .timeout(new Milliseconds(timeout.toMillis()));
            TCPStore store = new TCPStore(place.masterAddress(), options);
            // Outlives the scope, and any scope of the caller.
            store.retainReference();
            return store;
        } catch (RuntimeException e) {
            throw new DistributedException(
                    serve
                            ? "rank 0 can't listen on port " + place.masterPort() + ": " + Natives.firstLine(e)
                            : "rank " + place.rank() + " can't reach rank 0 at " + place.masterAddress() + ":"
                                    + place.masterPort() + " within " + timeout.toSeconds() + " s: "
                                    + Natives.firstLine(e),
                    e);
        }
    }

    RankEnvironment place() {
        return place;
    }

    DistributedSettings settings() {
        return settings;
    }

    TCPStore store() {
        return store;
    }

    void set(String key, String value) {
        guarded(() -> {
            store.set(key, value);
            return 0;
        });
    }

    void delete(String key) {
        guarded(() -> store.deleteKey(key));
    }

    /** Adds to a counter; its value then. */
    long add(String key, long value) {
        return guarded(() -> store.add(key, value));
    }

    /** The text under a key, waiting for it. */
    String await(String key, Duration patience, String what) {
        String value = poll(key, patience);
        if (value == null) {
            throw new DistributedException(
                    "rank " + place.rank() + " waited " + patience.toSeconds() + " s for " + what);
        }
        return value;
    }

    /** The text under a key, waiting for it; null when it did not come. */
    @Nullable
    String poll(String key, Duration patience) {
        long begin = System.nanoTime();
        long nap = SHORTEST_NAP_NS;
        while (!guarded(() -> has(key))) {
            String gone = lost();
            if (gone != null) {
                throw new DistributedException(gone);
            }
            if (System.nanoTime() - begin > patience.toNanos()) {
                return null;
            }
            if (Thread.interrupted()) {
                Thread.currentThread().interrupt();
                throw new DistributedException("interrupted");
            }
            LockSupport.parkNanos(nap);
            nap = Math.min(LONGEST_NAP_NS, nap * 2);
        }
        return guarded(() -> store.get_to_str(key));
    }

    private boolean has(String key) {
        try (PointerScope scope = new PointerScope();
                StringVector keys = new StringVector(key)) {
            return store.check(keys);
        }
    }

    /** What to run, on another thread, when a rank is lost. */
    void onLost(Runnable alarm) {
        synchronized (beats) {
            alarms.add(alarm);
        }
    }

    void forget(Runnable alarm) {
        synchronized (beats) {
            alarms.remove(alarm);
        }
    }

    /** Starts to count anew, for ranks that may have come back. */
    void expectAll() {
        synchronized (beats) {
            java.util.Arrays.fill(seenAt, 0);
            lost = null;
        }
    }

    /** Which rank is lost, in words; null when none is known to be. */
    @Nullable
    String lost() {
        synchronized (beats) {
            return lost;
        }
    }

    /** After a fault that names no rank: waits until the signs of life say who is gone, at most as long as that takes. */
    @Nullable
    String explain() {
        long end = System.nanoTime()
                + settings.lostAfter().plus(settings.heartbeat()).toNanos();
        while (lost() == null
                && System.nanoTime() < end
                && !Thread.currentThread().isInterrupted()) {
            LockSupport.parkNanos(LONGEST_NAP_NS);
        }
        return lost();
    }

    private void beat() {
        while (true) {
            synchronized (beats) {
                if (closed) {
                    return;
                }
            }
            String gone = null;
            try {
                signs.add("beat/" + place.rank(), 1);
                gone = look();
            } catch (RuntimeException e) {
                LOG.debug("no sign of life could be given", e);
                gone = place.leads()
                        ? "the store of rank 0 failed: " + Natives.firstLine(e)
                        : "rank 0 is lost: its store at " + place.masterAddress() + ":" + place.masterPort()
                                + " is gone";
            }
            if (gone != null) {
                raise(gone);
            }
            LockSupport.parkNanos(settings.heartbeat().toNanos());
        }
    }

    private @Nullable String look() {
        long now = System.nanoTime();
        for (int rank = 0; rank < place.size(); rank++) {
            if (rank == place.rank()) {
                continue;
            }
            long beat = signs.add("beat/" + rank, 0);
            synchronized (beats) {
                if (beat != beats[rank]) {
                    beats[rank] = beat;
                    seenAt[rank] = now;
                } else if (seenAt[rank] != 0
                        && now - seenAt[rank] > settings.lostAfter().toNanos()) {
                    return "rank " + rank + " is lost: no sign of life for "
                            + settings.lostAfter().toSeconds() + " s";
                }
            }
        }
        return null;
    }

    private void raise(String gone) {
        List<Runnable> run;
        synchronized (beats) {
            if (closed || lost != null) {
                return;
            }
            lost = gone;
            run = List.copyOf(alarms);
        }
        LOG.warn("{}", gone);
        run.forEach(Runnable::run);
    }

    private interface Call<T> {
        T run();
    }

    private <T> T guarded(Call<T> call) {
        try {
            return call.run();
        } catch (DistributedException e) {
            throw e;
        } catch (RuntimeException e) {
            throw new DistributedException(
                    place.leads()
                            ? "the store of rank 0 failed: " + Natives.firstLine(e)
                            : "rank 0 is lost: its store does not answer (" + Natives.firstLine(e) + ")",
                    e);
        }
    }

    @Override
    public void close() {
        synchronized (beats) {
            if (closed) {
                return;
            }
            closed = true;
        }
        LockSupport.unpark(heart);
        try {
            heart.join(settings.lostAfter());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        signs.releaseReference();
        store.releaseReference();
    }
}
