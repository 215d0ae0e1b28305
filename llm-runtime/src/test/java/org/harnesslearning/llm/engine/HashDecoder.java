package org.harnesslearning.llm.engine;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.harnesslearning.llm.checkpoint.LoraAdapter;
import org.harnesslearning.llm.sampling.Candidates;
import org.jspecify.annotations.Nullable;

/**
 * A decoder whose logits are a hash of all tokens in the row, so that any cell that is wrong, missing or in the wrong
 * row changes what comes out. Its cells really are moved and copied.
 */
final class HashDecoder implements Decoder {

    static final int VOCABULARY = 40;
    private static final int TOP = 8;

    private final int[][] cells;
    private final AtomicInteger computed = new AtomicInteger();
    private final AtomicInteger stepsUntilFailure = new AtomicInteger(Integer.MAX_VALUE);
    private volatile @Nullable Throwable failure;
    private volatile boolean moveFails;
    private volatile boolean preparationFails;
    private final Map<Integer, String> adapters = new ConcurrentHashMap<>();
    private volatile boolean closed;

    HashDecoder(int rows, int maxSequence) {
        cells = new int[rows][maxSequence];
        for (int[] row : cells) {
            Arrays.fill(row, -1);
        }
    }

    /** Tokens computed so far, prompts and completions together. */
    int computed() {
        return computed.get();
    }

    /** Makes the step after so many more fail, once. */
    void failAfter(int steps) {
        failAfter(steps, new IllegalStateException("the device gave up"));
    }

    /** The same with a failure of one's own; null: the step succeeds, but its logits are not numbers. */
    void failAfter(int steps, @Nullable Throwable how) {
        failure = how;
        stepsUntilFailure.set(steps);
    }

    /** Makes the next move of a row fail. */
    void failNextMove() {
        moveFails = true;
    }

    /** Makes the preparation fail. */
    HashDecoder withoutPreparation() {
        preparationFails = true;
        return this;
    }

    @Override
    public void prepare() {
        if (preparationFails) {
            throw new IllegalStateException("the device does not capture");
        }
    }

    boolean closed() {
        return closed;
    }

    @Override
    public int rows() {
        return cells.length;
    }

    @Override
    public int maxSequence() {
        return cells[0].length;
    }

    @Override
    public Candidates extend(int row, int past, int[] tokens, Shaping shaping) {
        boolean undefined = failIfDue(row, past);
        for (int i = 0; i < tokens.length; i++) {
            cells[row][past + i] = cell(tokens[i], adapter(shaping));
        }
        computed.addAndGet(tokens.length);
        Candidates candidates = candidates(Arrays.copyOf(cells[row], past + tokens.length), adapter(shaping), shaping);
        return undefined ? undefined(candidates) : candidates;
    }

    @Override
    public List<Candidates> step(int[] pasts, int[] tokens, List<Shaping> shapings) {
        boolean undefined = failIfDue(0, pasts[0]);
        List<Candidates> result = new ArrayList<>();
        for (int row = 0; row < pasts.length; row++) {
            String adapter = adapter(shapings.get(row));
            cells[row][pasts[row]] = cell(tokens[row], adapter);
            computed.incrementAndGet();
            result.add(candidates(Arrays.copyOf(cells[row], pasts[row] + 1), adapter, shapings.get(row)));
        }
        if (undefined) {
            result.set(0, undefined(result.getFirst()));
        }
        return result;
    }

    /** @return whether the first row's logits are to be no numbers */
    private boolean failIfDue(int row, int past) {
        if (stepsUntilFailure.getAndDecrement() != 0) {
            return false;
        }
        cells[row][past] = -7; // half-written
        switch (failure) {
            case RuntimeException e -> throw e;
            case Error e -> throw e;
            case null, default -> {
                return true;
            }
        }
    }

    private static Candidates undefined(Candidates candidates) {
        float[] logits = candidates.topLogits().clone();
        Arrays.fill(logits, Float.NaN);
        return new Candidates(logits, candidates.topTokens(), Float.NaN, candidates.allLogits());
    }

    /** What this model says after a text. */
    static Candidates candidates(int[] text, Shaping shaping) {
        return candidates(text, "", shaping);
    }

    /** What this model says after a text, with an adapter. */
    static Candidates adapted(int[] text, String adapterHash, Shaping shaping) {
        return candidates(
                Arrays.stream(text).map(token -> cell(token, adapterHash)).toArray(), adapterHash, shaping);
    }

    /** Keys and values of a token depend on the adapter. */
    private static int cell(int token, String adapter) {
        return token + 1000 * adapter.hashCode();
    }

    private String adapter(Shaping shaping) {
        if (shaping.adapter() == Shaping.NO_ADAPTER) {
            return "";
        }
        String hash = adapters.get(shaping.adapter());
        if (hash == null) {
            throw new AssertionError("slot " + shaping.adapter() + " is empty");
        }
        return hash;
    }

    @Override
    public void checkAdapter(LoraAdapter adapter) {}

    @Override
    public void writeAdapter(int slot, LoraAdapter adapter) {
        if (adapters.putIfAbsent(slot, adapter.hash()) != null) {
            throw new AssertionError("slot " + slot + " is not empty");
        }
    }

    @Override
    public void clearAdapter(int slot) {
        adapters.remove(slot);
    }

    private static Candidates candidates(int[] text, String adapterHash, Shaping shaping) {
        int hash = Arrays.hashCode(text) + 31 * adapterHash.hashCode();
        float[] logits = new float[VOCABULARY];
        for (int token = 0; token < VOCABULARY; token++) {
            int mixed = (hash + token * 0x9E3779B9) * 0x85EBCA6B;
            logits[token] = ((mixed ^ mixed >>> 15) >>> 8) / (float) (1 << 24) * 8 - 4;
        }
        for (int i = 0; i < shaping.penalised().length; i++) {
            int token = shaping.penalised()[i];
            logits[token] = logits[token] > 0 ? logits[token] / shaping.penalty() : logits[token] * shaping.penalty();
            logits[token] -= shaping.offsets()[i];
        }
        double sum = 0;
        for (int token = 0; token < VOCABULARY; token++) {
            logits[token] *= shaping.inverseTemperature();
            sum += Math.exp(logits[token]);
        }
        int[] top = IntStream.range(0, VOCABULARY)
                .boxed()
                .sorted(Comparator.comparing((Integer token) -> -logits[token]))
                .limit(TOP)
                .mapToInt(Integer::intValue)
                .toArray();
        float[] topLogits = new float[TOP];
        for (int i = 0; i < TOP; i++) {
            topLogits[i] = logits[top[i]];
        }
        return new Candidates(topLogits, top, (float) Math.log(sum), logits::clone);
    }

    @Override
    public void copy(int from, int to, int count) {
        System.arraycopy(cells[from], 0, cells[to], 0, count);
    }

    @Override
    public void swap(int first, int firstCells, int second, int secondCells) {
        if (moveFails) {
            moveFails = false;
            throw new IllegalStateException("the copy failed");
        }
        int[] kept = Arrays.copyOf(cells[first], firstCells);
        System.arraycopy(cells[second], 0, cells[first], 0, secondCells);
        System.arraycopy(kept, 0, cells[second], 0, firstCells);
    }

    @Override
    public void close() {
        closed = true;
    }
}
