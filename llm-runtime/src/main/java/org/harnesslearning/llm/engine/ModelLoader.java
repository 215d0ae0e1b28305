package org.harnesslearning.llm.engine;

import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntConsumer;
import org.harnesslearning.llm.EngineOptions;
import org.harnesslearning.llm.LanguageModel;
import org.harnesslearning.llm.ModelCard;
import org.harnesslearning.llm.checkpoint.Checkpoint;
import org.harnesslearning.llm.checkpoint.CheckpointException;
import org.harnesslearning.llm.checkpoint.GenAiFolder;
import org.harnesslearning.llm.graph.DecoderGraph;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Opens a checkpoint and starts an engine on it. */
public final class ModelLoader {

    private static final Logger LOG = LoggerFactory.getLogger(ModelLoader.class);

    /** The attention operator's demand on the width of a head. */
    private static final int HEAD_STEP = 16;

    private ModelLoader() {}

    /** See {@link LanguageModel#load}. */
    public static LanguageModel load(Path path, EngineOptions options, IntConsumer turns) {
        if (GenAiFolder.isOne(path)) {
            return genAi(GenAiFolder.open(path), options, turns);
        }
        long start = System.nanoTime();
        Checkpoint checkpoint = Checkpoint.open(path);
        CompletableFuture<String> hash = CompletableFuture.supplyAsync(checkpoint::weightsHash);
        EngineOptions fitted = options.withMaxSequence(
                Math.min(options.maxSequence(), checkpoint.config().contextLength()));
        OnnxDecoder decoder = decoder(checkpoint, fitted);
        try {
            ModelCard card = new ModelCard(
                    checkpoint.name(),
                    checkpoint.config().architecture().id(),
                    hash.join(),
                    fitted.dequantise()
                            ? "f32"
                            : checkpoint.commonestType().name().toLowerCase(Locale.ROOT),
                    checkpoint.config().contextLength(),
                    checkpoint.config().vocabulary(),
                    checkpoint.parameters(),
                    checkpoint.endTokens());
            LOG.info(
                    "loaded {} ({}, {} parameters) in {} ms",
                    card.name(),
                    card.numberType(),
                    card.parameters(),
                    (System.nanoTime() - start) / 1_000_000);
            return new Engine(decoder, card, fitted, turns);
        } catch (RuntimeException | Error e) {
            decoder.close();
            throw e;
        }
    }

    private static LanguageModel genAi(GenAiFolder folder, EngineOptions options, IntConsumer turns) {
        CompletableFuture<String> hash = CompletableFuture.supplyAsync(folder::weightsHash);
        EngineOptions fitted = options.withMaxSequence(Math.min(options.maxSequence(), folder.contextLength()));
        GenAiDecoder decoder = new GenAiDecoder(
                folder, fitted.slots() + fitted.spareRows(), fitted.slots(), fitted.maxSequence(), fitted.threads());
        try {
            ModelCard card = new ModelCard(
                    folder.name(),
                    folder.type(),
                    hash.join(),
                    GenAiFolder.NUMBER_TYPE,
                    folder.contextLength(),
                    folder.vocabulary(),
                    0,
                    folder.endTokens());
            return new Engine(decoder, card, fitted, turns);
        } catch (RuntimeException | Error e) {
            decoder.close();
            throw e;
        }
    }

    private static OnnxDecoder decoder(Checkpoint checkpoint, EngineOptions options) {
        try {
            int headSize = checkpoint.config().headSize();
            if (headSize % HEAD_STEP != 0) {
                throw new CheckpointException(
                        checkpoint.path(),
                        "heads of width " + headSize + " are not supported (multiples of " + HEAD_STEP + " are)");
            }
            return new OnnxDecoder(
                    checkpoint,
                    options.slots() + options.spareRows(),
                    options.slots(),
                    options.maxSequence(),
                    options.threads(),
                    DecoderGraph.build(
                            checkpoint,
                            DecoderGraph.Options.of(checkpoint, options.maxSequence(), options.dequantise())
                                    .withAdapters(options.maxAdapters() > 0)),
                    options.maxAdapters(),
                    options.maxAdapterRank());
        } catch (RuntimeException | Error e) {
            checkpoint.close();
            throw e;
        }
    }
}
