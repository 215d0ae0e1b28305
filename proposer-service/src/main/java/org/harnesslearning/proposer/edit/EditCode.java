package org.harnesslearning.proposer.edit;

/** What became of a reply. The constants stand in the order in which they are checked; the first that holds counts. */
public enum EditCode {
    /** The reply (or what it would make of the file) is larger than allowed. */
    TOO_LARGE(Stage.PARSE),
    /** The model was cut at its token limit. */
    TRUNCATED_REPLY(Stage.PARSE),
    /** A block is closed before its divider. */
    MISSING_DIVIDER(Stage.PARSE),
    /** A marker stands where it may not. */
    MALFORMED_MARKERS(Stage.PARSE),
    /** The reply ends inside a block. */
    UNCLOSED_BLOCK(Stage.PARSE),
    /** The reply holds no block. */
    NO_BLOCK(Stage.PARSE),
    /** There are several files, and a block names none of them. */
    UNKNOWN_FILE(Stage.APPLY),
    /** SEARCH is blank although the file has lines. */
    EMPTY_SEARCH(Stage.APPLY),
    /** SEARCH is nowhere in the file. */
    SEARCH_NOT_FOUND(Stage.APPLY),
    /** SEARCH fits more than one place. */
    AMBIGUOUS(Stage.APPLY),
    /** Reserved for regions that must not be edited. */
    PROTECTED_REGION(Stage.APPLY),
    /** Everything applied, and the result is the source. */
    NO_CHANGE(Stage.APPLY),
    /** Applied. */
    OK(Stage.APPLY);

    /** The step that decides a code: reading the reply, or changing the file. */
    public enum Stage {
        PARSE,
        APPLY
    }

    private final Stage stage;

    EditCode(Stage stage) {
        this.stage = stage;
    }

    /** The step that decides this code. */
    public Stage stage() {
        return stage;
    }
}
