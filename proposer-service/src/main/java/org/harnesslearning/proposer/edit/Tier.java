package org.harnesslearning.proposer.edit;

/** How loosely a SEARCH had to be compared with the file before it was found; later constants are looser. */
public enum Tier {
    /** Line contents are equal, character for character. */
    EXACT,
    /** Spaces and tabs at the end of lines are ignored. */
    TRAILING_WS,
    /** One uniform shift of indentation is tolerated as well. */
    INDENT,
    /** Look-alike characters are folded as well; only tried when asked for. */
    UNICODE;

    Tier loosest(Tier other) {
        return compareTo(other) >= 0 ? this : other;
    }
}
