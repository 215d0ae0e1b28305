package org.harnesslearning.tasks;

/**
 * One built-in family of questions of Reasoning Gym.
 *
 * @param name the library's name, such as {@code chain_sum}
 * @param category the library's category, such as {@code arithmetic}
 * @param role what the platform uses it for
 */
public record Family(String name, String category, Role role) {
    /** What a family serves; any may be adapted by a user. */
    public enum Role {
        /** Training, prompts, demonstrations, early stopping. */
        TRAIN,
        /** A training family kept out of training: promotion decisions are made on it. */
        WITHHELD,
        /** Never used to make or choose anything; run only for final tables. */
        UNSEEN
    }
}
