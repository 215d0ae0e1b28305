package org.harnesslearning.trainer.rollout;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * Which state comes when: a pure function of the settings and a number, so that a resumed run goes on with the same
 * states.
 *
 * <p>All families come once before any comes again, each time in another order; the starting harnesses take turns. Every
 * group has questions of its own: its item seed is 3,000 above its predecessor's, since a task takes its three splits from
 * the seeds s, s + 1000 and s + 2000. They begin at 1,000,000, far from the seeds of demonstrations and final tables.
 *
 * @param families names, not empty
 * @param harnesses sources of the starting harnesses, not empty
 * @param familyHarnesses those of families that have their own
 * @param seed of the order
 */
public record Curriculum(
        List<String> families, List<String> harnesses, Map<String, List<String>> familyHarnesses, long seed) {
    private static final long FIRST_ITEM_SEED = 1_000_000;
    private static final long STRIDE = 3_000;
    private static final long ITEM_SEEDS = (Integer.MAX_VALUE - FIRST_ITEM_SEED) / STRIDE - 1;

    public Curriculum {
        families = List.copyOf(families);
        harnesses = List.copyOf(harnesses);
        familyHarnesses = Map.copyOf(familyHarnesses);
        if (families.isEmpty() || harnesses.isEmpty()) {
            throw new IllegalArgumentException("a curriculum has families and harnesses");
        }
    }

    /** The same starting harnesses for all families. */
    public Curriculum(List<String> families, List<String> harnesses, long seed) {
        this(families, harnesses, Map.of(), seed);
    }

    /** A state to begin from. */
    public record Start(String family, String harness) {}

    /** State number {@code index}, from 0. */
    public Start start(long index) {
        long epoch = index / families.size();
        List<String> order = new ArrayList<>(families);
        Collections.shuffle(order, new Random(seed * 0x9e3779b97f4a7c15L + epoch));
        String family = order.get((int) (index % families.size()));
        List<String> own = familyHarnesses.getOrDefault(family, harnesses);
        return new Start(family, own.get((int) (epoch % own.size())));
    }

    /** Seed of the questions of group number {@code number}, from 1; never two of one run alike. */
    public long itemSeed(long number) {
        if (number < 1 || number > ITEM_SEEDS) {
            throw new IllegalArgumentException("a run has groups 1 to " + ITEM_SEEDS);
        }
        return FIRST_ITEM_SEED + number * STRIDE + Math.floorMod(seed, 1000);
    }

    /** Seed of the samples of group number {@code number}; never two of one run alike. */
    public long samplingSeed(long number) {
        return Math.floorMod(seed * 1_000_003 + number, (long) Integer.MAX_VALUE);
    }
}
