package org.harnesslearning.tasks;

import java.util.List;
import java.util.stream.Stream;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.Split;

/** The items of a task in their three splits, disjoint by question text; each in a fixed order. */
public record TaskItems(List<Item> feedback, List<Item> dev, List<Item> heldOut) {
    public TaskItems {
        feedback = List.copyOf(feedback);
        dev = List.copyOf(dev);
        heldOut = List.copyOf(heldOut);
    }

    /** Items of one split. */
    public List<Item> of(Split split) {
        return switch (split) {
            case FEEDBACK -> feedback;
            case DEV -> dev;
            case HELD_OUT -> heldOut;
        };
    }

    /** All items of the task, feedback first: what a leak lint and its statistics of template text look at. */
    public List<Item> all() {
        return Stream.of(feedback, dev, heldOut).flatMap(List::stream).toList();
    }

    /** The first items of each split, at most as many as {@code sizes} says. */
    public TaskItems limit(SplitSizes sizes) {
        return new TaskItems(
                feedback.stream().limit(sizes.feedback()).toList(),
                dev.stream().limit(sizes.dev()).toList(),
                heldOut.stream().limit(sizes.heldOut()).toList());
    }
}
