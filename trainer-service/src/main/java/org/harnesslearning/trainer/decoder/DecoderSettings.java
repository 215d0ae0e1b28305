package org.harnesslearning.trainer.decoder;

/**
 * How a decoder computes.
 *
 * @param device where
 * @param precision number type of the base and of products
 * @param gradientCheckpointing whether only each block's input is kept for the backward pass, which then computes the
 *     block again: a third more work, a fraction of the memory
 * @param tokensPerMicroBatch tokens of prompts and completions that are computed at once; a longer sequence is computed
 *     alone
 * @param threads threads of operations on the processor, of the whole process; 0: half of the processors it has, at
 *     least one. More than there are idle cores is much slower than one, since the threads wait for each other by
 *     spinning
 */
public record DecoderSettings(
        Device device, Precision precision, boolean gradientCheckpointing, int tokensPerMicroBatch, int threads) {

    /** Checks. */
    public DecoderSettings {
        if (tokensPerMicroBatch < 1) {
            throw new IllegalArgumentException(
                    "tokensPerMicroBatch is " + tokensPerMicroBatch + ", it must be positive");
        }
        if (threads < 0 || threads > 1024) {
            throw new IllegalArgumentException("threads is " + threads + ", 0 to 1024 are possible");
        }
    }

    /** On the processor, fp32, with checkpointing, 4,096 tokens at once. */
    public static DecoderSettings onProcessor() {
        return new DecoderSettings(Device.cpu(), Precision.FP32, true, 4096, 0);
    }

    /** On a GPU, bf16, with checkpointing, 8,192 tokens at once. */
    public static DecoderSettings onGpu(int id) {
        return new DecoderSettings(Device.cuda(id), Precision.BF16, true, 8192, 0);
    }

    /** The same with or without checkpointing. */
    public DecoderSettings withGradientCheckpointing(boolean on) {
        return new DecoderSettings(device, precision, on, tokensPerMicroBatch, threads);
    }

    /** The same with so many tokens at once. */
    public DecoderSettings withTokensPerMicroBatch(int tokens) {
        return new DecoderSettings(device, precision, gradientCheckpointing, tokens, threads);
    }

    /** The same with so many threads. */
    public DecoderSettings withThreads(int count) {
        return new DecoderSettings(device, precision, gradientCheckpointing, tokensPerMicroBatch, count);
    }

    /** The same in this number type. */
    public DecoderSettings withPrecision(Precision type) {
        return new DecoderSettings(device, type, gradientCheckpointing, tokensPerMicroBatch, threads);
    }

    int effectiveThreads() {
        return threads > 0 ? threads : Math.max(1, Runtime.getRuntime().availableProcessors() / 2);
    }
}
