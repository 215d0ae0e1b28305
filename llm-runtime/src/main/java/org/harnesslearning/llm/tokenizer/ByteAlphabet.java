package org.harnesslearning.llm.tokenizer;

import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * The reversible mapping of bytes to printable characters of GPT-2's byte-level BPE (Radford et al., 2019, {@code
 * encoder.py}): printable Latin-1 bytes stand for themselves, the other 68 follow from U+0100 in byte order.
 */
final class ByteAlphabet {
    private static final int[] BYTE_OF_CHAR = new int[512];

    static {
        java.util.Arrays.fill(BYTE_OF_CHAR, -1);
        int next = 256;
        for (int b = 0; b < 256; b++) {
            boolean printable = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || (b >= 0xAE && b <= 0xFF);
            BYTE_OF_CHAR[printable ? b : next++] = b;
        }
    }

    private ByteAlphabet() {}

    /** The bytes that a vocabulary entry stands for, or null where it is not written in this alphabet. */
    static byte @Nullable [] bytesOf(String token) {
        byte[] bytes = new byte[token.length()];
        for (int i = 0; i < bytes.length; i++) {
            char c = token.charAt(i);
            int b = c < BYTE_OF_CHAR.length ? BYTE_OF_CHAR[c] : -1;
            if (b < 0) {
                return null;
            }
            bytes[i] = (byte) b;
        }
        return bytes;
    }

    /** As {@link #bytesOf}, and the entry's own UTF-8 where it is not written in the alphabet. */
    static byte[] bytesOrText(String token) {
        byte[] bytes = bytesOf(token);
        return bytes != null ? bytes : token.getBytes(StandardCharsets.UTF_8);
    }
}
