package org.harnesslearning.proposer.run;

/** Seeds derived from a run's seed: the same place of the same seed always gets the same one. */
public final class Seeds {
    private Seeds() {}

    /** Sampling seed of a candidate; at most 53 bits, so that it survives every JSON reader. */
    public static long candidate(long seed, int round, int candidate) {
        return mix(mix(mix(seed) + round) + candidate) >>> 11;
    }

    /** Finalizer of SplitMix64 (Steele, Lea, Flood, Fast splittable pseudorandom number generators, 2014). */
    private static long mix(long value) {
        long z = value + 0x9e3779b97f4a7c15L;
        z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
        z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
        return z ^ (z >>> 31);
    }
}
