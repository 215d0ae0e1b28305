package org.harnesslearning.tasks;

import java.util.List;
import org.harnesslearning.contracts.task.Item;

/** Generates items of one family in one configuration, as harness-executor does. */
@FunctionalInterface
public interface ItemSource {
    /**
     * The items {@code start} to {@code start + count} (exclusive) of a seed, in order; always the same ones.
     *
     * @throws org.harnesslearning.contracts.error.PlatformException when the family refuses the configuration
     */
    List<Item> items(long seed, int start, int count);
}
