package org.harnesslearning.llm.tokenizer;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;

/**
 * Turns token ids into text as they come. A token may end in the middle of a character: its first bytes are held back
 * until the rest arrives, so that what is returned is always well-formed. The pieces joined, with that of {@link
 * #finish()}, equal {@link Tokenizer#decode} of all ids. Not thread-safe: one per generated sequence.
 */
public final class IncrementalDecoder {
    private final Tokenizer tokenizer;
    private final boolean skipSpecial;
    private final CharsetDecoder utf8 = StandardCharsets.UTF_8
            .newDecoder()
            .onMalformedInput(CodingErrorAction.REPLACE)
            .onUnmappableCharacter(CodingErrorAction.REPLACE);
    private ByteBuffer pending = ByteBuffer.allocate(64);

    IncrementalDecoder(Tokenizer tokenizer, boolean skipSpecial) {
        this.tokenizer = tokenizer;
        this.skipSpecial = skipSpecial;
    }

    /** The text that became complete with this token; empty while a character is still unfinished. */
    public String accept(int id) {
        if (skipSpecial && tokenizer.isSpecial(id)) {
            return "";
        }
        byte[] bytes = tokenizer.bytesOf(id);
        if (pending.remaining() < bytes.length) {
            ByteBuffer larger = ByteBuffer.allocate(2 * (pending.position() + bytes.length));
            larger.put(pending.flip());
            pending = larger;
        }
        pending.put(bytes);
        return drain(false);
    }

    /** The held back bytes of a character that never became complete, as U+FFFD; empty in the ordinary case. */
    public String finish() {
        return drain(true);
    }

    private String drain(boolean last) {
        pending.flip();
        CharBuffer out = CharBuffer.allocate(pending.remaining() + 2);
        CoderResult result = utf8.decode(pending, out, last);
        if (last) {
            result = utf8.flush(out);
            utf8.reset();
            pending.clear();
        } else {
            pending.compact();
        }
        if (result.isOverflow()) {
            throw new IllegalStateException("decoded text is longer than its bytes");
        }
        return out.flip().toString();
    }
}
