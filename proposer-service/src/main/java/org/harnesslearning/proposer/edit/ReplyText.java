package org.harnesslearning.proposer.edit;

import org.jspecify.annotations.Nullable;

/** What all reply forms share: size, truncation, and where the model's own text begins. */
final class ReplyText {
    static final String ASSISTANT = "<|im_start|>assistant";
    static final String THINK = "<think>";
    static final String END_THINK = "</think>";

    private ReplyText() {}

    /** The refusal that needs no look into the reply, or null. */
    static ParseResult.@Nullable Unreadable refuse(String reply, FinishReason finish, EditOptions options, Work work) {
        if (isLargerThan(reply, options.maxReplyBytes(), work)) {
            return new ParseResult.Unreadable(
                    EditCode.TOO_LARGE, "The reply is larger than " + options.maxReplyBytes() + " bytes.");
        }
        if (finish == FinishReason.LENGTH) {
            return new ParseResult.Unreadable(
                    EditCode.TRUNCATED_REPLY, "The reply was cut at the model's token limit.");
        }
        return null;
    }

    /** Where the text behind the last assistant tag begins. */
    static int begin(String reply, Work work) {
        work.add(reply.length());
        int tag = reply.lastIndexOf(ASSISTANT);
        return tag < 0 ? 0 : tag + ASSISTANT.length();
    }

    /** One-based number of the line that holds the char at {@code position}. */
    static int lineNumber(String reply, int position) {
        int line = 1;
        for (int at = reply.indexOf('\n'); at >= 0 && at < position; at = reply.indexOf('\n', at + 1)) {
            line++;
        }
        return line;
    }

    static int skipBlanks(String text, int from, int to) {
        int at = from;
        while (at < to && Marker.isBlank(text.charAt(at))) {
            at++;
        }
        return at;
    }

    static int dropBlanks(String text, int from, int to) {
        int at = to;
        while (at > from && Marker.isBlank(text.charAt(at - 1))) {
            at--;
        }
        return at;
    }

    /** Whether {@code text[from, to)} ends in {@code </think>} and blanks. */
    static boolean closesReasoning(String text, int from, int to) {
        int end = dropBlanks(text, from, to);
        return end - END_THINK.length() >= from && text.startsWith(END_THINK, end - END_THINK.length());
    }

    private static boolean isLargerThan(String reply, int bytes, Work work) {
        if (reply.length() > bytes) {
            return true;
        }
        if (reply.length() <= bytes / 3) {
            return false;
        }
        work.add(reply.length());
        long count = 0;
        for (int at = 0; at < reply.length(); at++) {
            char c = reply.charAt(at);
            if (c < 0x80) {
                count++;
            } else if (c < 0x800) {
                count += 2;
            } else if (Character.isHighSurrogate(c)
                    && at + 1 < reply.length()
                    && Character.isLowSurrogate(reply.charAt(at + 1))) {
                count += 4;
                at++;
            } else {
                count += 3;
            }
        }
        return count > bytes;
    }
}
