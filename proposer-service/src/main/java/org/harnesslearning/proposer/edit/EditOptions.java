package org.harnesslearning.proposer.edit;

import java.util.List;

/**
 * How replies are read and matched.
 *
 * @param firstMatch take the first of several hits instead of {@link EditCode#AMBIGUOUS}
 * @param unicodeTier also try {@link Tier#UNICODE}
 * @param maxReplyBytes largest reply, prefix included, in UTF-8 bytes
 * @param maxResultChars largest file that an edit may make, in chars; a shift of indentation can multiply a small reply
 * @param files paths that blocks may name; with fewer than two different paths no name is needed
 * @param replyPrefix the first characters of the reply that were given to the model, parsed as part of its reply
 */
public record EditOptions(
        boolean firstMatch,
        boolean unicodeTier,
        int maxReplyBytes,
        int maxResultChars,
        List<String> files,
        String replyPrefix) {

    /** One MiB replies, exact to indent tiers, one file, no prefix. */
    public static final EditOptions DEFAULT = new EditOptions(false, false, 1 << 20, 8 << 20, List.of(), "");

    public EditOptions {
        files = List.copyOf(files);
        if (maxReplyBytes < 0 || maxResultChars < 0) {
            throw new IllegalArgumentException("sizes must not be negative");
        }
    }

    /** These options with another {@code firstMatch}. */
    public EditOptions withFirstMatch(boolean value) {
        return new EditOptions(value, unicodeTier, maxReplyBytes, maxResultChars, files, replyPrefix);
    }

    /** These options with another {@code unicodeTier}. */
    public EditOptions withUnicodeTier(boolean value) {
        return new EditOptions(firstMatch, value, maxReplyBytes, maxResultChars, files, replyPrefix);
    }

    /** These options with another {@code maxReplyBytes}. */
    public EditOptions withMaxReplyBytes(int value) {
        return new EditOptions(firstMatch, unicodeTier, value, maxResultChars, files, replyPrefix);
    }

    /** These options with other {@code files}. */
    public EditOptions withFiles(List<String> value) {
        return new EditOptions(firstMatch, unicodeTier, maxReplyBytes, maxResultChars, value, replyPrefix);
    }

    /** These options with another {@code replyPrefix}. */
    public EditOptions withReplyPrefix(String value) {
        return new EditOptions(firstMatch, unicodeTier, maxReplyBytes, maxResultChars, files, value);
    }
}
