package org.harnesslearning.llm.checkpoint;

/**
 * Shape and constants of a decoder.
 *
 * @param architecture family
 * @param layers number of blocks
 * @param hidden width of the residual stream
 * @param heads query heads
 * @param keyValueHeads key and value heads; divides {@code heads}
 * @param headSize width of a head
 * @param feedForward width of the gated feed-forward layer
 * @param vocabulary number of token ids
 * @param contextLength longest sequence the model was made for, tokens
 * @param normEpsilon added to the mean square in RMS norms
 * @param rope rotary position embedding
 */
public record DecoderConfig(
        Architecture architecture,
        int layers,
        int hidden,
        int heads,
        int keyValueHeads,
        int headSize,
        int feedForward,
        int vocabulary,
        int contextLength,
        float normEpsilon,
        Rope rope) {

    /** Width of all query heads together. */
    public int queryWidth() {
        return heads * headSize;
    }

    /** Width of all key (or value) heads together. */
    public int keyValueWidth() {
        return keyValueHeads * headSize;
    }
}
