package org.harnesslearning.proposer.prompt;

/**
 * One earlier turn that shows the proposer how an edit looks, on another task than its own.
 *
 * @param name the pattern it shows, such as {@code program}; recorded with every candidate that saw it
 * @param family the training family it is about
 * @param task that family's description
 * @param seed the harness before
 * @param report how the seed did, in the form of {@link ReportRenderer}
 * @param reply the edit as SEARCH/REPLACE blocks
 * @param result the harness after, scored as a column of its own in reports
 */
public record Demonstration(
        String name, String family, String task, String seed, String report, String reply, String result) {}
