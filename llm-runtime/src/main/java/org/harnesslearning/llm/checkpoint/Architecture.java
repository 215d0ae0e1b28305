package org.harnesslearning.llm.checkpoint;

import java.util.Locale;

/** Decoder families this runtime builds graphs for. */
public enum Architecture {
    LLAMA,
    /** Llama with biases on the query, key and value projections. */
    QWEN2,
    /** Llama with RMS norms over each query and key head. */
    QWEN3;

    /** The name GGUF and {@code model_type} give it. */
    public String id() {
        return name().toLowerCase(Locale.ROOT);
    }
}
