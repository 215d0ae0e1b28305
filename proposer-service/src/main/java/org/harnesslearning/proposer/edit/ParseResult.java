package org.harnesslearning.proposer.edit;

import java.util.List;

/** A reply as read, before any block meets the file. */
public sealed interface ParseResult {

    /**
     * The reply's blocks.
     *
     * @param blocks at least one, in reply order
     */
    record Parsed(List<EditBlock> blocks) implements ParseResult {
        public Parsed {
            blocks = List.copyOf(blocks);
        }
    }

    /**
     * A reply without usable blocks.
     *
     * @param code a code of stage {@link EditCode.Stage#PARSE}
     * @param message one sentence for people
     */
    record Unreadable(EditCode code, String message) implements ParseResult {}
}
