package org.harnesslearning.llm.tokenizer;

import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ObjectNode;

/**
 * A checkpoint's own byte-level BPE tokenizer. Merging is done by Hugging Face's {@code tokenizers} library (native, through
 * DJL); decoding is done here, from the bytes of the vocabulary, so that it can be incremental. Thread-safe.
 *
 * <p>Three kinds of entries: ordinary ones; <em>control</em> tokens (GGUF token type 3, {@code special} in a {@code
 * tokenizer.json}), which text stands for only where the caller allows it; and user-defined ones (GGUF type 4, such as
 * {@code <tool_call>}), whose text is always taken whole. No begin-of-sequence token is added here: see {@link
 * #addsBos()}.
 */
public final class Tokenizer implements AutoCloseable {
    static {
        // The native library is in the jar: neither a download of a GPU build nor the library's usage report is wanted.
        setDefault("RUST_FLAVOR", "cpu");
        setDefault("ai.djl.offline", "true");
        setDefault("OPT_OUT_TRACKING", "true");
    }

    private final String name;
    private final HuggingFaceTokenizer all;
    private final HuggingFaceTokenizer plain;
    private final byte[][] bytes;
    private final boolean[] special;
    private final Map<String, Integer> ids;
    private final ControlTokens control;
    private final OptionalInt bosId;
    private final OptionalInt eosId;
    private final OptionalInt paddingId;
    private final boolean addsBos;
    private final Set<Integer> endOfGeneration;

    /** What the readers of the two checkpoint forms know about a vocabulary. */
    record Vocabulary(
            String name,
            ObjectNode document,
            ObjectNode documentWithoutControl,
            byte[][] bytes,
            boolean[] special,
            Map<String, Integer> ids,
            Map<String, Integer> controlIds,
            OptionalInt bosId,
            OptionalInt eosId,
            OptionalInt paddingId,
            boolean addsBos,
            Set<Integer> endOfGeneration) {}

    Tokenizer(Vocabulary vocabulary) {
        this.name = vocabulary.name();
        this.bytes = vocabulary.bytes();
        this.special = vocabulary.special();
        this.ids = Map.copyOf(vocabulary.ids());
        this.control = new ControlTokens(vocabulary.controlIds());
        this.bosId = vocabulary.bosId();
        this.eosId = vocabulary.eosId();
        this.paddingId = vocabulary.paddingId();
        this.addsBos = vocabulary.addsBos();
        this.endOfGeneration = Set.copyOf(vocabulary.endOfGeneration());
        this.all = open(vocabulary.document());
        this.plain = open(vocabulary.documentWithoutControl());
    }

    /**
     * Builds the tokenizer that a GGUF file describes.
     *
     * @param metadata the file's key-value metadata; arrays as lists or Java arrays
     * @param name what to call the checkpoint in messages
     * @throws TokenizerException when the model or its pre-tokenizer is not supported or the metadata contradicts itself
     */
    public static Tokenizer fromGguf(Map<String, ?> metadata, String name) {
        return new Tokenizer(new GgufVocabulary(metadata, name).read());
    }

    /**
     * Builds the tokenizer of a Hugging Face directory from {@code tokenizer.json}, with {@code tokenizer_config.json} and
     * {@code generation_config.json} where there are any.
     *
     * @throws TokenizerException when a file is missing, unreadable or of another kind than byte-level BPE
     */
    public static Tokenizer fromDirectory(Path directory) {
        return new Tokenizer(new DirectoryVocabulary(directory).read());
    }

    /**
     * The token ids of a text.
     *
     * @param parseSpecial whether the text of a control token stands for that token; without it {@code <|im_end|>} is
     *     ordinary text, which is what text from users needs
     */
    public int[] encode(String text, boolean parseSpecial) {
        if (text.isEmpty()) {
            return new int[0];
        }
        return ids(parseSpecial ? all : plain, wellFormed(text));
    }

    /**
     * The token ids of a rendered template in which control tokens of the template's own text count and those that users
     * wrote do not. The caller has put {@code guard} into the latter with {@link #guard}.
     */
    public int[] encodeGuarded(String text, char guard) {
        if (text.indexOf(guard) < 0) {
            return encode(text, true);
        }
        IdBuffer out = new IdBuffer();
        String marker = String.valueOf(guard);
        control.split(text, piece -> out.add(encode(piece.replace(marker, ""), false)), out::add);
        return out.toArray();
    }

    /** Breaks every control token's text inside {@code text} with the character {@code guard}. */
    public String guard(String text, char guard) {
        return control.guarded(text, guard);
    }

    /** Whether the text holds the text of a control token. */
    public boolean mentionsControlToken(String text) {
        return control.appearIn(text);
    }

    /** The number of tokens of an ordinary text. */
    public int count(String text) {
        return encode(text, false).length;
    }

    /** The text of the ids; bytes that are not UTF-8 become U+FFFD. */
    public String decode(int[] tokens, boolean skipSpecial) {
        java.io.ByteArrayOutputStream out = new java.io.ByteArrayOutputStream(4 * tokens.length);
        for (int token : tokens) {
            if (!(skipSpecial && isSpecial(token))) {
                out.writeBytes(bytesOf(token));
            }
        }
        return out.toString(StandardCharsets.UTF_8);
    }

    /** A decoder for one sequence that comes token by token. */
    public IncrementalDecoder incrementalDecoder(boolean skipSpecial) {
        return new IncrementalDecoder(this, skipSpecial);
    }

    /** The bytes of one token; empty for an id without an entry (rows that pad the embedding). Not a copy. */
    byte[] bytesOf(int id) {
        return id >= 0 && id < bytes.length ? bytes[id] : new byte[0];
    }

    /** The bytes of one token, a part of a UTF-8 text; empty for an id without an entry. */
    public byte[] tokenBytes(int id) {
        return bytesOf(id).clone();
    }

    /** Whether the id is a control token. */
    public boolean isSpecial(int id) {
        return id >= 0 && id < special.length && special[id];
    }

    /** The id of a control or user-defined token by its text, such as {@code <|im_end|>}. */
    public OptionalInt idOf(String token) {
        Integer id = ids.get(token);
        return id == null ? OptionalInt.empty() : OptionalInt.of(id);
    }

    /** The number of ids, padding rows included. */
    public int size() {
        return bytes.length;
    }

    /** The text of the begin-of-sequence token, or empty where there is none; templates use it. */
    public String bosText() {
        return text(bosId);
    }

    /** The text of the end-of-sequence token, or empty where there is none. */
    public String eosText() {
        return text(eosId);
    }

    /** The begin-of-sequence token. */
    public OptionalInt bosId() {
        return bosId;
    }

    /** The end-of-sequence token. */
    public OptionalInt eosId() {
        return eosId;
    }

    /** The padding token. */
    public OptionalInt paddingId() {
        return paddingId;
    }

    /** Whether the checkpoint wants the begin-of-sequence token before plain prompts (never before rendered chats). */
    public boolean addsBos() {
        return addsBos && bosId.isPresent();
    }

    /** All tokens that end a reply: the end-of-sequence token and the end-of-turn tokens of the family. */
    public Set<Integer> endOfGeneration() {
        return endOfGeneration;
    }

    @Override
    public void close() {
        all.close();
        plain.close();
    }

    @Override
    public String toString() {
        return "Tokenizer[" + name + ", " + size() + " tokens]";
    }

    private String text(OptionalInt id) {
        return id.isPresent() ? new String(bytesOf(id.getAsInt()), StandardCharsets.UTF_8) : "";
    }

    private HuggingFaceTokenizer open(ObjectNode document) {
        Map<String, String> options = new HashMap<>();
        options.put("addSpecialTokens", "false");
        options.put("truncation", "false");
        options.put("padding", "false");
        byte[] json = document.toString().getBytes(StandardCharsets.UTF_8);
        try {
            return HuggingFaceTokenizer.newInstance(new ByteArrayInputStream(json), options);
        } catch (IOException | RuntimeException e) {
            throw new TokenizerException("%s: the tokenizer cannot be built: %s".formatted(name, e.getMessage()), e);
        }
    }

    private static int[] ids(HuggingFaceTokenizer tokenizer, String text) {
        long[] wide = tokenizer.encode(text, false, false).getIds();
        int[] narrow = new int[wide.length];
        for (int i = 0; i < wide.length; i++) {
            narrow[i] = Math.toIntExact(wide[i]);
        }
        return narrow;
    }

    /** A lone surrogate has no UTF-8 form: it becomes U+FFFD. */
    private static String wellFormed(String text) {
        for (int i = 0; i < text.length(); i++) {
            if (Character.isSurrogate(text.charAt(i))) {
                byte[] utf8 = replaceLoneSurrogates(text).getBytes(StandardCharsets.UTF_8);
                return new String(utf8, StandardCharsets.UTF_8);
            }
        }
        return text;
    }

    private static String replaceLoneSurrogates(String text) {
        StringBuilder out = new StringBuilder(text.length());
        text.codePoints().forEach(c -> out.appendCodePoint(c >= 0xD800 && c <= 0xDFFF ? 0xFFFD : c));
        return out.toString();
    }

    private static void setDefault(String key, String value) {
        if (System.getProperty(key) == null && System.getenv(key) == null) {
            System.setProperty(key, value);
        }
    }

    /** Control tokens that end a turn in the supported families, beside the declared end-of-sequence token. */
    static Set<Integer> endOfGeneration(Map<String, Integer> controlIds, @Nullable Integer... declared) {
        Set<Integer> found = new LinkedHashSet<>();
        for (Integer id : declared) {
            if (id != null) {
                found.add(id);
            }
        }
        for (String text : new TreeSet<>(Set.of(
                "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|end|>", "</s>"))) {
            Integer id = controlIds.get(text);
            if (id != null) {
                found.add(id);
            }
        }
        return found;
    }
}
