package org.harnesslearning.solver.local;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import org.harnesslearning.contracts.model.ChatResponse;
import org.harnesslearning.llm.TokenLogprob;
import org.harnesslearning.llm.tokenizer.IncrementalDecoder;
import org.harnesslearning.llm.tokenizer.Tokenizer;
import org.harnesslearning.solver.inference.Decoding;
import org.harnesslearning.solver.inference.Delta;
import org.harnesslearning.solver.inference.DeltaSink;
import org.harnesslearning.solver.inference.StopFilter;
import org.harnesslearning.solver.inference.ToolCalls;
import org.jspecify.annotations.Nullable;

/**
 * The text of one sample as its tokens come; used by the engine thread, then by the caller once the sample has ended.
 *
 * <p>Text that may become a stop string or a tool call is held back from the sink until that is decided.
 */
final class SampleText {
    private final int choice;
    private final Tokenizer tokenizer;
    private final boolean detailed;
    private final DeltaSink sink;
    private final IncrementalDecoder decoder;
    private final StopFilter stops;
    private final @Nullable StopFilter calls;
    private final StringBuilder text = new StringBuilder();
    private final List<Delta.Token> tokens = new ArrayList<>();
    private int decoded;
    private int shown;
    private int told;

    /**
     * Nothing yet.
     *
     * @param callsTools whether the reply may hold tool calls
     */
    SampleText(int choice, Tokenizer tokenizer, Decoding decoding, boolean callsTools, DeltaSink sink) {
        this.choice = choice;
        this.tokenizer = tokenizer;
        this.detailed = decoding.logprobs() || decoding.returnTokenIds();
        this.sink = sink;
        this.decoder = tokenizer.incrementalDecoder(!decoding.ignoreEos());
        this.stops = new StopFilter(decoding.stop());
        this.calls = callsTools ? new StopFilter(List.of(ToolCalls.OPEN)) : null;
    }

    /** Takes a token; false once a stop string is complete. */
    boolean accept(int token, float logprob, List<TokenLogprob> alternatives) {
        if (detailed) {
            List<ChatResponse.TokenLogprob> top = alternatives.stream()
                    .map(other -> described(other.tokenId(), other.logprob(), List.of()))
                    .toList();
            tokens.add(new Delta.Token(token, described(token, logprob, top), decoded));
        }
        String piece = decoder.accept(token);
        decoded += piece.length();
        take(stops.accept(piece));
        return !stops.stopped();
    }

    /** What the sample came to, once no more tokens come. */
    ToolCalls.Reply finish(IntFunction<String> callIds) {
        take(stops.accept(decoder.finish()));
        take(stops.finish());
        ToolCalls.Reply reply = calls == null ? null : ToolCalls.in(text.toString(), callIds);
        if (reply == null) {
            show(text.substring(shown));
            reply = new ToolCalls.Reply(text.toString(), List.of());
        }
        if (told < tokens.size()) {
            tell("");
        }
        return reply;
    }

    /** The sampled tokens, where log-probabilities or token ids are wanted. */
    List<Delta.Token> tokens() {
        return tokens;
    }

    private void take(String piece) {
        if (!piece.isEmpty()) {
            text.append(piece);
            show(calls == null ? piece : calls.accept(piece));
        }
    }

    private void show(String piece) {
        if (!piece.isEmpty()) {
            shown += piece.length();
            tell(piece);
        }
    }

    private void tell(String piece) {
        sink.accept(new Delta(choice, piece, tokens.subList(told, tokens.size())));
        told = tokens.size();
    }

    private ChatResponse.TokenLogprob described(int token, float logprob, List<ChatResponse.TokenLogprob> top) {
        byte[] bytes = tokenizer.tokenBytes(token);
        List<Integer> unsigned = new ArrayList<>(bytes.length);
        for (byte b : bytes) {
            unsigned.add(Byte.toUnsignedInt(b));
        }
        return new ChatResponse.TokenLogprob(new String(bytes, StandardCharsets.UTF_8), logprob, unsigned, top);
    }
}
