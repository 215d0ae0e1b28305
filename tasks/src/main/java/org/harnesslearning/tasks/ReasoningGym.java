package org.harnesslearning.tasks;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.ScorerRef;
import org.harnesslearning.contracts.task.Split;

/** Built-in families as tasks: their scorer and their splits. */
public final class ReasoningGym {
    /** Distance of the seeds of two splits. */
    public static final int SEED_STEP = 1000;

    private static final long MAX_SEED = Integer.MAX_VALUE;
    private static final int TRIES_PER_QUESTION = 20;
    private static final int MIN_TRIES = 100;

    private ReasoningGym() {}

    /** The scorer of a family in a configuration. */
    public static ScorerRef scorer(Family family, Map<String, Object> config) {
        return new ScorerRef(
                Scorers.REASONING_GYM,
                Scorers.REASONING_GYM_VERSION,
                Map.of("family", family.name(), "config", config));
    }

    /**
     * The splits of a family: seeds s, s + 1000 and s + 2000 for feedback, dev and held-out questions. A question whose
     * text came before, in an earlier split or in this one, is left out, and the next index of the seed takes its place.
     * The same arguments always give the same items.
     *
     * @param seed 0 to 2³¹ − 1
     * @param source asked for ever higher indices of the three seeds
     * @throws PlatformException INVALID_FIELD for a seed out of range, and for a split that stays too small because the
     *     family in this configuration has too few different questions
     */
    public static TaskItems split(long seed, SplitSizes sizes, ItemSource source) {
        if (seed < 0 || seed > MAX_SEED) {
            throw PlatformException.field(
                    ErrorCode.INVALID_FIELD, "/task/reasoning_gym/seed", "seed must be from 0 to " + MAX_SEED);
        }
        Set<String> seen = new HashSet<>();
        Map<Split, List<Item>> items = new EnumMap<>(Split.class);
        for (Split split : Split.values()) {
            items.put(split, fill(split, seed + (long) SEED_STEP * split.ordinal(), sizes.of(split), source, seen));
        }
        return new TaskItems(get(items, Split.FEEDBACK), get(items, Split.DEV), get(items, Split.HELD_OUT));
    }

    private static List<Item> get(Map<Split, List<Item>> items, Split split) {
        return items.getOrDefault(split, List.of());
    }

    private static List<Item> fill(Split split, long seed, int size, ItemSource source, Set<String> seen) {
        List<Item> chosen = new ArrayList<>(size);
        int limit = Math.max(MIN_TRIES, size * TRIES_PER_QUESTION);
        int next = 0;
        while (chosen.size() < size && next < limit) {
            int count = Math.min(size - chosen.size(), limit - next);
            List<Item> batch = source.items(seed, next, count);
            if (batch.size() != count) {
                throw new IllegalStateException("asked for " + count + " items, got " + batch.size());
            }
            next += count;
            for (Item item : batch) {
                if (seen.add(item.question())) {
                    chosen.add(item);
                }
            }
        }
        if (chosen.size() < size) {
            throw PlatformException.field(
                    ErrorCode.INVALID_FIELD,
                    "/splits/" + split.json(),
                    "the family has too few different questions in this configuration: " + limit + " items gave "
                            + chosen.size() + " new ones, not " + size);
        }
        return chosen;
    }
}
