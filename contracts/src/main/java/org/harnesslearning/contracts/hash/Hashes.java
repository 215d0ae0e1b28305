package org.harnesslearning.contracts.hash;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import org.harnesslearning.contracts.json.Json;

/** SHA-256 content hashes in the form {@code sha256:<64 hex digits>}. */
public final class Hashes {
    private Hashes() {}

    /** Hash of bytes. */
    public static String sha256(byte[] bytes) {
        try {
            return "sha256:"
                    + HexFormat.of()
                            .formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("SHA-256 is part of every Java platform", e);
        }
    }

    /** Hash of a harness: that of its UTF-8 bytes. */
    public static String harness(String source) {
        return sha256(source.getBytes(StandardCharsets.UTF_8));
    }

    /** Hash of an item: that of its question text in UTF-8. */
    public static String item(String question) {
        return sha256(question.getBytes(StandardCharsets.UTF_8));
    }

    /** Hash of a value's canonical JSON. */
    public static String json(Object value) {
        return sha256(Json.canonical(value).getBytes(StandardCharsets.UTF_8));
    }
}
