package org.harnesslearning.solver.local;

import org.harnesslearning.llm.tokenizer.IncrementalDecoder;
import org.harnesslearning.solver.inference.DeltaSink;
import org.harnesslearning.solver.inference.StopFilter;

/** The text of one sample as its tokens come; used by the engine thread, then by the caller once the sample has ended. */
final class SampleText {
    private final int choice;
    private final IncrementalDecoder decoder;
    private final StopFilter filter;
    private final DeltaSink sink;
    private final StringBuilder text = new StringBuilder();

    SampleText(int choice, IncrementalDecoder decoder, StopFilter filter, DeltaSink sink) {
        this.choice = choice;
        this.decoder = decoder;
        this.filter = filter;
        this.sink = sink;
    }

    /** Takes a token; false once a stop string is complete. */
    boolean accept(int token) {
        show(filter.accept(decoder.accept(token)));
        return !filter.stopped();
    }

    /** The whole text. */
    String finish() {
        show(filter.accept(decoder.finish()));
        show(filter.finish());
        return text.toString();
    }

    private void show(String piece) {
        if (!piece.isEmpty()) {
            text.append(piece);
            sink.accept(choice, piece);
        }
    }
}
