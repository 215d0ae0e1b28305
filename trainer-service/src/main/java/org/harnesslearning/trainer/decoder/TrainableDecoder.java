package org.harnesslearning.trainer.decoder;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.AutoGradMode;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.harnesslearning.llm.checkpoint.Checkpoint;
import org.harnesslearning.llm.checkpoint.DecoderConfig;
import org.jspecify.annotations.Nullable;

/**
 * A decoder with a trainable low-rank adapter on a frozen base, of the families and file formats that llm-runtime serves.
 *
 * <p>It is used by one thread at a time. {@link #close} frees its weights; tensors handed out are dead afterwards.
 */
public final class TrainableDecoder implements AutoCloseable {

    private final org.bytedeco.pytorch.Device device;
    private final DecoderSettings settings;
    private final BaseWeights base;
    private final Adapter adapter;
    private final Network network;
    private final Head head;
    private final @Nullable GpuKernels kernels;
    private final PeftFiles files;
    private final CompletableFuture<String> baseHash;

    /**
     * Loads a checkpoint and starts a new adapter, which has no effect until it is trained.
     *
     * @param checkpoint a GGUF file or a Hugging Face directory
     * @param seed decides the adapter's random start
     * @throws org.harnesslearning.llm.checkpoint.CheckpointException if the checkpoint is damaged or unsupported
     * @throws NonFiniteException if weights of the checkpoint are no numbers
     * @throws IllegalStateException if the device cannot be used
     */
    public static TrainableDecoder open(Path checkpoint, LoraSettings lora, DecoderSettings settings, long seed) {
        ScalarType type = switch (settings.precision()) {
            case FP32 -> ScalarType.Float;
            case BF16 -> ScalarType.BFloat16;
        };
        return new TrainableDecoder(checkpoint, lora, settings, type, ScalarType.Float, seed);
    }

    /** With fp64 throughout, for checks of gradients. */
    static TrainableDecoder inDoublePrecision(Path checkpoint, LoraSettings lora, DecoderSettings settings, long seed) {
        return new TrainableDecoder(checkpoint, lora, settings, ScalarType.Double, ScalarType.Double, seed);
    }

    @SuppressWarnings("try") // scopes and guards act by being open
    private TrainableDecoder(
            Path path, LoraSettings lora, DecoderSettings settings, ScalarType type, ScalarType wideType, long seed) {
        this.settings = settings;
        this.device = Torch.keep(Torch.open(settings));
        try (Checkpoint checkpoint = Checkpoint.open(path);
                PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            base = new BaseWeights(checkpoint, type, device);
            adapter = new Adapter(base.config(), lora, type, wideType, device, seed);
            kernels = GpuKernels.of(settings.device(), type);
            network = new Network(base, adapter, device, type, settings.gradientCheckpointing(), kernels);
            head = new Head(base.head(), type, wideType, device, kernels);
            baseHash = CompletableFuture.supplyAsync(checkpoint::weightsHash);
            files = new PeftFiles(path, checkpoint.name(), base.config(), adapter);
        }
    }

    /** Shape of the base. */
    public DecoderConfig config() {
        return base.config();
    }

    /** The adapter's form. */
    public LoraSettings lora() {
        return adapter.settings();
    }

    /** How it computes. */
    public DecoderSettings settings() {
        return settings;
    }

    /** {@code sha256:<hex>} of the checkpoint's weights, as llm-runtime knows it. */
    public String baseHash() {
        return baseHash.join();
    }

    /** The adapter's factors, in a fixed order. */
    public List<AdapterParameter> parameters() {
        return adapter.parameters();
    }

    /** All master weights as one vector, whose layout follows from base and settings alone; the decoder's own. */
    public Tensor values() {
        return adapter.values();
    }

    /** All gradients as one vector of the same layout; the decoder's own, never null, zero at first. */
    public Tensor gradients() {
        return adapter.gradients();
    }

    /** Sets all gradients to zero. */
    @SuppressWarnings("try")
    public void zeroGradients() {
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            adapter.gradients().zero_();
        }
    }

    /**
     * Log-probabilities ln softmax(logits / temperature) of each completion token, without dropout.
     *
     * @return for each sequence as many as its completion has tokens
     * @throws IllegalArgumentException if a token is outside the vocabulary, a sequence longer than the context, or the
     *     temperature not positive
     * @throws NonFiniteException if a weight of the adapter or a result is no number
     */
    public List<float[]> logprobs(List<Sequence> batch, double temperature) {
        return score(batch, temperature, true);
    }

    /** The same of the base, without the adapter. */
    public List<float[]> referenceLogprobs(List<Sequence> batch, double temperature) {
        return score(batch, temperature, false);
    }

    /**
     * Computes the loss of a batch and adds its gradient to {@link #gradients()}, in micro-batches of consecutive
     * sequences.
     *
     * @param dropoutSeed decides what is dropped where the adapter has dropout; the same seed and batch give the same
     * @return the sum of the objective's values
     * @throws IllegalArgumentException as {@link #logprobs}
     * @throws NonFiniteException if a weight of the adapter, a log-probability or the loss is no number; gradients of
     *     earlier micro-batches have been added
     */
    public double accumulate(List<Sequence> batch, double temperature, long dropoutSeed, Objective objective) {
        check(batch, temperature);
        adapter.refresh();
        double loss = 0;
        int first = 0;
        for (int end : Packing.split(batch, settings.tokensPerMicroBatch())) {
            loss += train(batch, first, end, temperature, Network.mix(dropoutSeed ^ Network.mix(first)), objective);
            first = end;
        }
        return loss;
    }

    /** The adapter in PEFT's form, in fp32: reading it back gives the same weights, bit for bit. */
    public LoraFiles adapter() {
        return files.write(baseHash(), Precision.FP32);
    }

    /** The adapter in PEFT's form in the given number type; bf16 halves the file and rounds the weights. */
    public LoraFiles adapter(Precision precision) {
        return files.write(baseHash(), precision);
    }

    /**
     * Takes over an adapter's weights; gradients stay as they are.
     *
     * @throws org.harnesslearning.llm.checkpoint.CheckpointException if it is damaged, was made for another base, or has
     *     another form than this decoder's
     */
    @SuppressWarnings("try")
    public void load(LoraFiles adapterFiles) {
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            files.read(adapterFiles, baseHash());
        }
    }

    @Override
    public void close() {
        head.close();
        network.close();
        adapter.close();
        base.close();
        if (kernels != null) {
            kernels.close();
        }
        device.close();
    }

    /** Logits after the last of some tokens, for comparison with other implementations. */
    @SuppressWarnings("try")
    float[] logits(int[] tokens, boolean adapted) {
        Sequence sequence = new Sequence(tokens, new int[] {tokens[0]});
        check(List.of(sequence), 1);
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            if (adapted) {
                adapter.refresh();
            }
            Packing packing = Packing.of(List.of(sequence));
            try (Network.Forward forward = network.forward(packing, adapted, null, false)) {
                Tensor last = forward.output().narrow(0, tokens.length - 1, 1);
                return Torch.download(network.norm(last, base.finalNorm(), null)
                        .output()
                        .mm(base.head().t()));
            }
        }
    }

    @SuppressWarnings("try")
    private List<float[]> score(List<Sequence> batch, double temperature, boolean adapted) {
        check(batch, temperature);
        List<float[]> results = new ArrayList<>();
        int first = 0;
        for (int end : Packing.split(batch, settings.tokensPerMicroBatch())) {
            List<Sequence> part = batch.subList(first, end);
            Packing packing = Packing.of(part);
            try (PointerScope scope = new PointerScope();
                    NoGradGuard guard = new NoGradGuard()) {
                if (adapted) {
                    adapter.refresh();
                }
                try (Network.Forward forward = network.forward(packing, adapted, null, false)) {
                    Tensor rows = forward.output().index_select(0, Torch.upload(packing.rows(), device));
                    Tensor hidden = network.norm(rows, base.finalNorm(), null).output();
                    Tensor targets = Torch.upload(packing.targets(), device);
                    float[] all = Torch.download(
                            head.scores(hidden, targets, temperature, false).logprobs());
                    results.addAll(divide(all, part, first));
                }
            }
            first = end;
        }
        return results;
    }

    /** One micro-batch: forward, objective, backward. */
    @SuppressWarnings("try")
    private double train(
            List<Sequence> batch, int first, int end, double temperature, long dropoutSeed, Objective objective) {
        Packing packing = Packing.of(batch.subList(first, end));
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard();
                Keeper record = new Keeper();
                Network.Forward forward = network.forward(packing, true, dropoutSeed, true)) {
            Tensor rows = Torch.upload(packing.rows(), device);
            Segment norm = network.norm(forward.output().index_select(0, rows), base.finalNorm(), record);
            Tensor targets = Torch.upload(packing.targets(), device);
            Head.Scores scores = head.scores(norm.output(), targets, temperature, true);
            divide(Torch.download(scores.logprobs()), batch.subList(first, end), first);

            Tensor logprobs = scores.logprobs().detach();
            logprobs.set_requires_grad(true);
            Tensor entropies = scores.entropies().detach();
            entropies.set_requires_grad(true);
            Tensor loss;
            double value;
            TensorVector slopes;
            try (AutoGradMode recording = new AutoGradMode(true)) {
                loss = objective.loss(first, end, logprobs, entropies);
                value = loss.item_double();
                if (!Double.isFinite(value)) {
                    throw new NonFiniteException("the loss of the sequences " + first + " to " + (end - 1) + " is "
                            + value + "; their gradients are not added");
                }
                if (!loss.requires_grad()) {
                    return value;
                }
                slopes = torch.grad(
                        new TensorVector(loss),
                        new TensorVector(logprobs, entropies),
                        new TensorVector(),
                        null,
                        false,
                        true);
            }
            Tensor direction = scores.direction();
            if (direction == null) {
                throw new IllegalStateException("no gradient was asked for");
            }
            Tensor hiddenGradient =
                    slopes.get(0).defined() ? direction.mul_(slopes.get(0).unsqueeze(1)) : direction.zero_();
            if (slopes.get(1).defined()) {
                head.addEntropyGradient(hiddenGradient, norm.output(), slopes.get(1), temperature);
            }
            Tensor gradient = torch.zeros_like(forward.output());
            gradient.index_copy_(0, rows, norm.backward(hiddenGradient));
            forward.pass().backward(gradient);
            return value;
        }
    }

    private List<float[]> divide(float[] all, List<Sequence> part, int first) {
        List<float[]> results = new ArrayList<>();
        int at = 0;
        for (int i = 0; i < part.size(); i++) {
            float[] own = new float[part.get(i).completion().length];
            for (int token = 0; token < own.length; token++, at++) {
                own[token] = all[at];
                if (!Float.isFinite(own[token])) {
                    throw new NonFiniteException("the log-probability of completion token " + token + " of sequence "
                            + (first + i) + " is " + own[token] + ": the adapter's weights are too large");
                }
            }
            results.add(own);
        }
        return results;
    }

    private void check(List<Sequence> batch, double temperature) {
        if (!(temperature > 0) || Double.isInfinite(temperature)) {
            throw new IllegalArgumentException("the temperature is " + temperature + ", it must be positive");
        }
        DecoderConfig config = base.config();
        for (int i = 0; i < batch.size(); i++) {
            Sequence sequence = batch.get(i);
            if (sequence.length() > config.contextLength()) {
                throw new IllegalArgumentException("sequence " + i + " has " + sequence.length()
                        + " tokens, the context has " + config.contextLength());
            }
            for (int at = 0; at < sequence.length(); at++) {
                int token = sequence.token(at);
                if (token < 0 || token >= config.vocabulary()) {
                    throw new IllegalArgumentException("token " + token + " of sequence " + i
                            + " is outside the vocabulary of " + config.vocabulary());
                }
            }
        }
    }
}
