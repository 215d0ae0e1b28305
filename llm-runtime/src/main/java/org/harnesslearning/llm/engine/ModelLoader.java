package org.harnesslearning.llm.engine;

import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntConsumer;
import org.harnesslearning.llm.Device;
import org.harnesslearning.llm.EngineOptions;
import org.harnesslearning.llm.LanguageModel;
import org.harnesslearning.llm.ModelCard;
import org.harnesslearning.llm.checkpoint.Checkpoint;
import org.harnesslearning.llm.checkpoint.CheckpointException;
import org.harnesslearning.llm.checkpoint.DecoderConfig;
import org.harnesslearning.llm.checkpoint.GenAiFolder;
import org.harnesslearning.llm.checkpoint.TensorType;
import org.harnesslearning.llm.cuda.CudaDevice;
import org.harnesslearning.llm.ggml.Ggml;
import org.harnesslearning.llm.graph.DecoderGraph;
import org.harnesslearning.llm.graph.ElementType;
import org.harnesslearning.llm.graph.ProductKernels;
import org.harnesslearning.llm.vnni.Vnni;
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
            if (!(options.device() instanceof Device.Cpu)) {
                throw new CheckpointException(path, "an ONNX Runtime GenAI folder runs on the processor only");
            }
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
                    numberType(checkpoint, fitted),
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
        int rows = options.slots() + options.spareRows();
        try {
            int headSize = checkpoint.config().headSize();
            if (headSize % HEAD_STEP != 0) {
                throw new CheckpointException(
                        checkpoint.path(),
                        "heads of width " + headSize + " are not supported (multiples of " + HEAD_STEP + " are)");
            }
            DecoderGraph.Options graph = DecoderGraph.Options.of(
                            checkpoint, options.maxSequence(), options.dequantise())
                    .withAdapters(options.maxAdapters() > 0);
            return switch (options.device()) {
                case Device.Cpu cpu ->
                    new OnnxDecoder(
                            checkpoint,
                            rows,
                            options.slots(),
                            options.maxSequence(),
                            options.threads(),
                            onProcessor(checkpoint, options, graph),
                            options.maxAdapters(),
                            options.maxAdapterRank(),
                            new HostMemory(),
                            DecoderPlan.noOperators());
                case Device.Cuda cuda -> CaptureGate.beside(() -> onCuda(checkpoint, options, graph, rows, cuda));
            };
        } catch (RuntimeException | Error e) {
            checkpoint.close();
            throw e;
        }
    }

    private static OnnxDecoder onCuda(
            Checkpoint checkpoint, EngineOptions options, DecoderGraph.Options graph, int rows, Device.Cuda cuda) {
        ElementType type = elementType(checkpoint, options);
        DecoderConfig config = checkpoint.config();
        boolean own = cuda.kernels() && CudaOperators.support(config);
        if (!own && type == ElementType.FLOAT) {
            throw new IllegalArgumentException("a GPU computes in FP32 only with the kernels of this project");
        }
        CudaMemory memory = new CudaMemory(CudaDevice.open(cuda.id()));
        CudaOperators operators;
        DecoderPlan plan;
        try {
            operators = own
                    ? new CudaOperators(
                            memory, config, type, checkpoint.find(0, "attn_q_norm.weight") != null, options.slots())
                    : null;
            plan = own
                    ? DecoderPlan.own(checkpoint, graph, type, cuda.graphs())
                    : DecoderPlan.gpu(checkpoint, graph, type, cuda.graphs());
        } catch (RuntimeException | Error e) {
            memory.close();
            throw e;
        }
        return new OnnxDecoder(
                checkpoint,
                rows,
                options.slots(),
                options.maxSequence(),
                options.threads(),
                plan,
                options.maxAdapters(),
                options.maxAdapterRank(),
                memory,
                operators);
    }

    private static ElementType elementType(Checkpoint checkpoint, EngineOptions options) {
        return switch (options.numberType()) {
            case FP32 -> ElementType.FLOAT;
            case FP16 -> ElementType.FLOAT16;
            case BF16 -> ElementType.BFLOAT16;
            case AUTO ->
                options.dequantise()
                        ? ElementType.FLOAT
                        : checkpoint.commonestType() == TensorType.BF16 ? ElementType.BFLOAT16 : ElementType.FLOAT16;
        };
    }

    /** The {@link ModelCard#numberType()} of a checkpoint that would be loaded with these options. */
    public static String numberType(Checkpoint checkpoint, EngineOptions options) {
        String stored = checkpoint.commonestType().name().toLowerCase(Locale.ROOT);
        return switch (options.device()) {
            case Device.Cpu cpu -> options.dequantise() ? "f32" : stored;
            case Device.Cuda cuda ->
                switch (elementType(checkpoint, options)) {
                    case FLOAT -> "f32";
                    case FLOAT16 -> checkpoint.commonestType() == TensorType.Q4_0 ? stored : "f16";
                    case BFLOAT16 -> checkpoint.commonestType() == TensorType.Q4_0 ? stored : "bf16";
                    case UINT8, INT32, INT64, BOOL -> stored;
                };
        };
    }

    private static DecoderPlan onProcessor(Checkpoint checkpoint, EngineOptions options, DecoderGraph.Options graph) {
        if (options.dequantise()) {
            return DecoderPlan.processor(DecoderGraph.build(checkpoint, graph));
        }
        return switch (options.matrixKernels()) {
            case AUTO -> {
                if (DecoderGraph.needsFineRounding(checkpoint)) {
                    yield DecoderPlan.processor(DecoderGraph.build(checkpoint, graph));
                }
                if (Vnni.available() != null) {
                    yield DecoderPlan.processor(DecoderGraph.build(checkpoint, graph.withKernels(ProductKernels.VNNI)));
                }
                DecoderGraph.Built several = DecoderGraph.build(checkpoint, graph);
                yield Ggml.available() == null
                        ? DecoderPlan.processor(several)
                        : DecoderPlan.processor(
                                several,
                                DecoderGraph.build(
                                        checkpoint,
                                        graph.withKernels(ProductKernels.GGML).withAdapters(false)));
            }
            case VNNI -> DecoderPlan.processor(DecoderGraph.build(checkpoint, graph.withKernels(ProductKernels.VNNI)));
            case GGML -> DecoderPlan.processor(DecoderGraph.build(checkpoint, graph.withKernels(ProductKernels.GGML)));
            case ONNX -> DecoderPlan.processor(DecoderGraph.build(checkpoint, graph));
        };
    }
}
