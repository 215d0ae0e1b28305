package org.harnesslearning.llm.engine;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntConsumer;
import org.harnesslearning.llm.AdapterCard;
import org.harnesslearning.llm.AdapterException;
import org.harnesslearning.llm.ModelClosedException;
import org.harnesslearning.llm.checkpoint.LoraAdapter;
import org.jspecify.annotations.Nullable;

/**
 * Which adapters are resident, under which names, and how many requests use each. Thread-safe.
 *
 * <p>An adapter is loading, ready, leaving (unloaded or replaced, but requests still use it), gone. Its slot is free again
 * only when it is gone.
 */
final class Adapters {

    private final @Nullable Resident[] slots;
    private final Map<String, Resident> byName = new LinkedHashMap<>(); // ready ones
    private final Set<String> loading = new HashSet<>();

    /** One slot's adapter. */
    static final class Resident {

        private final String name;
        private final String hash;
        private final int rank;
        private final int slot;
        private final CompletableFuture<Void> gone = new CompletableFuture<>();
        private boolean leaving;
        private int requests;

        private Resident(String name, LoraAdapter adapter, int slot) {
            this.name = name;
            this.hash = adapter.hash();
            this.rank = adapter.rank();
            this.slot = slot;
        }

        String hash() {
            return hash;
        }

        int slot() {
            return slot;
        }
    }

    Adapters(int slots) {
        this.slots = new Resident[slots];
    }

    /**
     * Reserves a slot; null if the name has this content already.
     *
     * @param replace whether the name may have other content now
     * @throws AdapterException if the name is taken or no slot is free
     */
    synchronized @Nullable Resident reserve(String name, LoraAdapter adapter, boolean replace) {
        if (loading.contains(name)) {
            throw new AdapterException("an adapter '" + name + "' is being loaded");
        }
        Resident present = byName.get(name);
        if (present != null && present.hash.equals(adapter.hash())) {
            return null;
        }
        if (present != null && !replace) {
            throw new AdapterException("an adapter '" + name + "' is loaded with other content");
        }
        for (int slot = 0; slot < slots.length; slot++) {
            if (slots[slot] == null) {
                Resident resident = new Resident(name, adapter, slot);
                slots[slot] = resident;
                loading.add(name);
                return resident;
            }
        }
        throw new AdapterException("all " + slots.length + " adapters that may be resident are loaded or in use");
    }

    /**
     * Gives a loaded adapter its name, and takes it from the one that had it before.
     *
     * @param clear is told to empty that one's slot if no request uses it
     */
    void loaded(Resident resident, IntConsumer clear) {
        Resident before;
        boolean idle;
        synchronized (this) {
            loading.remove(resident.name);
            before = byName.put(resident.name, resident);
            idle = before != null && leave(before);
        }
        if (before != null && idle) {
            clear.accept(before.slot);
        }
    }

    /** @return whether no request uses it */
    private static boolean leave(Resident resident) {
        resident.leaving = true;
        return resident.requests == 0;
    }

    /** Gives up a reservation. */
    synchronized void failed(Resident resident) {
        loading.remove(resident.name);
        slots[resident.slot] = null;
    }

    /**
     * Counts a request that uses an adapter.
     *
     * @throws AdapterException if none of this name is ready
     */
    synchronized Resident acquire(String name) {
        Resident resident = byName.get(name);
        if (resident == null) {
            throw new AdapterException("no adapter '" + name + "' is loaded");
        }
        resident.requests++;
        return resident;
    }

    /**
     * Uncounts a request.
     *
     * @param clear is told to empty the slot if this was the last request of an unloaded adapter
     */
    void release(Resident resident, IntConsumer clear) {
        boolean last;
        synchronized (this) {
            last = --resident.requests == 0 && resident.leaving;
        }
        if (last) {
            clear.accept(resident.slot);
        }
    }

    /**
     * Takes an adapter's name away; requests that use it go on.
     *
     * @param clear is told to empty the slot if no request uses it
     * @return completes when the slot is free
     * @throws AdapterException if none of this name is ready
     */
    CompletableFuture<Void> leave(String name, IntConsumer clear) {
        Resident resident;
        boolean idle;
        synchronized (this) {
            resident = byName.remove(name);
            if (resident == null) {
                throw new AdapterException("no adapter '" + name + "' is loaded");
            }
            idle = leave(resident);
        }
        if (idle) {
            clear.accept(resident.slot);
        }
        return resident.gone;
    }

    /** Says that a slot has been emptied. */
    void cleared(int slot) {
        Resident resident;
        synchronized (this) {
            resident = slots[slot];
            slots[slot] = null;
        }
        if (resident != null) {
            resident.gone.complete(null);
        }
    }

    synchronized List<AdapterCard> cards() {
        return byName.values().stream()
                .map(resident -> new AdapterCard(resident.name, resident.hash, resident.rank, resident.requests))
                .toList();
    }

    /** Ends the waiting for slots that will not be emptied any more. */
    void close() {
        Collection<Resident> left = new ArrayList<>();
        synchronized (this) {
            for (Resident resident : slots) {
                if (resident != null) {
                    left.add(resident);
                }
            }
        }
        left.forEach(resident -> resident.gone.completeExceptionally(new ModelClosedException("the model was closed")));
    }
}
