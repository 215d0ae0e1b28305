package org.harnesslearning.solver.local;

import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.model.ChatRequest;
import org.harnesslearning.contracts.model.ChatResponse;
import org.harnesslearning.contracts.model.ModelInfo;
import org.harnesslearning.contracts.model.TokenizeResponse;
import org.harnesslearning.llm.AdapterException;
import org.harnesslearning.llm.ContextLengthException;
import org.harnesslearning.llm.EngineStatistics;
import org.harnesslearning.llm.FinishReason;
import org.harnesslearning.llm.Generation;
import org.harnesslearning.llm.GenerationRequest;
import org.harnesslearning.llm.GenerationResult;
import org.harnesslearning.llm.ModelClosedException;
import org.harnesslearning.llm.QueueFullException;
import org.harnesslearning.llm.Sampling;
import org.harnesslearning.llm.Sequence;
import org.harnesslearning.llm.chat.ChatMessage;
import org.harnesslearning.llm.chat.ChatTemplateException;
import org.harnesslearning.llm.checkpoint.CheckpointException;
import org.harnesslearning.llm.checkpoint.LoraAdapter;
import org.harnesslearning.llm.tokenizer.Tokenizer;
import org.harnesslearning.solver.inference.Cancellation;
import org.harnesslearning.solver.inference.ChatCall;
import org.harnesslearning.solver.inference.DeltaSink;
import org.harnesslearning.solver.inference.ModelBackend;
import org.harnesslearning.solver.inference.StopFilter;
import org.jspecify.annotations.Nullable;

/** A model name served by a checkpoint in this process. */
public final class LocalBackend implements ModelBackend {
    private final String name;
    private final LocalCheckpoint checkpoint;
    private final Clock clock;
    private final Supplier<String> ids;
    private final LongSupplier seeds;
    private final @Nullable Adapted adapted;

    /** Which model is adapted, and by what. */
    private record Adapted(String parent, String hash) {}

    public LocalBackend(
            String name, LocalCheckpoint checkpoint, Clock clock, Supplier<String> ids, LongSupplier seeds) {
        this(name, checkpoint, clock, ids, seeds, null);
    }

    private LocalBackend(
            String name,
            LocalCheckpoint checkpoint,
            Clock clock,
            Supplier<String> ids,
            LongSupplier seeds,
            @Nullable Adapted adapted) {
        this.name = name;
        this.checkpoint = checkpoint;
        this.clock = clock;
        this.ids = ids;
        this.seeds = seeds;
        this.adapted = adapted;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public ModelInfo info() {
        LocalCheckpoint.Facts facts = checkpoint.facts();
        String weights = adapted == null ? facts.weightsHash() : facts.weightsHash() + "+" + adapted.hash();
        String identity =
                Hashes.json(Map.of("kind", "local", "weights_hash", weights, "number_type", facts.numberType()));
        return new ModelInfo(
                name,
                "model",
                0,
                "local",
                ModelInfo.Kind.LOCAL,
                identity,
                weights,
                facts.numberType(),
                checkpoint.maxSequence(),
                adapted == null ? null : adapted.parent());
    }

    @Override
    public boolean takesAdapters() {
        return adapted == null && checkpoint.takesAdapters();
    }

    @Override
    public LocalBackend load(String adapterName, LoraAdapter adapter) {
        if (!takesAdapters()) {
            throw PlatformException.field(
                    ErrorCode.INVALID_FIELD, "/base_model_name", "'" + name + "' takes no adapters");
        }
        try {
            checkpoint.get().engine().loadAdapter(adapterName, adapter);
        } catch (CheckpointException e) {
            throw PlatformException.field(
                    ErrorCode.INVALID_FIELD,
                    "/lora_path",
                    "The adapter does not suit '" + name + "': it " + e.reason());
        } catch (AdapterException e) {
            throw new PlatformException(ErrorCode.INVALID_STATE, String.valueOf(e.getMessage()), e);
        } catch (ModelClosedException e) {
            throw new PlatformException(ErrorCode.DRAINING, "The model is being closed", e);
        }
        return new LocalBackend(adapterName, checkpoint, clock, ids, seeds, new Adapted(name, adapter.hash()));
    }

    @Override
    public void unload() {
        if (adapted == null) {
            throw new IllegalStateException(name + " is no adapter");
        }
        try {
            checkpoint.get().engine().unloadAdapter(name);
        } catch (AdapterException e) {
            throw PlatformException.field(ErrorCode.NOT_FOUND, "/lora_name", String.valueOf(e.getMessage()));
        } catch (ModelClosedException e) {
            throw new PlatformException(ErrorCode.DRAINING, "The model is being closed", e);
        }
    }

    @Override
    public void warmUp() {
        checkpoint.warmUp();
    }

    @Override
    public @Nullable EngineStatistics statistics() {
        return checkpoint.statistics();
    }

    @Override
    public ChatResponse chat(ChatCall call, DeltaSink sink, Cancellation cancellation) {
        LoadedModel model = checkpoint.get();
        int[] prompt = encode(model, call.messages(), call.tools(), call.continueFinalMessage());
        int maxTokens = maxTokens(call, prompt.length, model.engine().options().maxSequence());

        List<SampleText> texts = new ArrayList<>();
        for (int i = 0; i < call.n(); i++) {
            texts.add(new SampleText(
                    i, model.encoder().tokenizer().incrementalDecoder(true), new StopFilter(call.stop()), sink));
        }
        GenerationResult result = run(model, request(call, prompt, maxTokens, texts), cancellation);
        return response(call, model, prompt, result, texts);
    }

    private GenerationRequest request(ChatCall call, int[] prompt, int maxTokens, List<SampleText> texts) {
        Sampling sampling = new Sampling(call.temperature(), call.topP(), call.topK(), call.repetitionPenalty());
        GenerationRequest request = GenerationRequest.of(
                        prompt, maxTokens, sampling, call.seed() == null ? seeds.getAsLong() : call.seed())
                .withSamples(call.n())
                .withAdapter(adapted == null ? null : name)
                .withTopLogprobs(call.topLogprobs())
                .withListener((sample, token, logprob, alternatives) ->
                        texts.get(sample).accept(token));
        return call.seeds().isEmpty() ? request : request.withSampleSeeds(call.seeds());
    }

    private static GenerationResult run(LoadedModel model, GenerationRequest request, Cancellation cancellation) {
        try {
            Generation generation = model.engine().submit(request);
            cancellation.onCancel(generation::cancel);
            return generation.result().join();
        } catch (QueueFullException e) {
            throw new PlatformException(ErrorCode.QUEUE_FULL, String.valueOf(e.getMessage()), List.of(), 2, e);
        } catch (AdapterException e) {
            throw PlatformException.field(ErrorCode.UNKNOWN_MODEL, "/model", String.valueOf(e.getMessage()));
        } catch (ContextLengthException | IllegalArgumentException e) {
            throw new PlatformException(ErrorCode.INVALID_FIELD, String.valueOf(e.getMessage()), e);
        } catch (IllegalStateException e) {
            throw new PlatformException(ErrorCode.DRAINING, "The model is being closed", e);
        } catch (CompletionException e) {
            if (e.getCause() instanceof ModelClosedException) {
                throw new PlatformException(
                        ErrorCode.DRAINING, "The model was closed before the reply was complete", e);
            }
            throw new PlatformException(
                    ErrorCode.SOLVER_UNAVAILABLE, "The engine failed: " + String.valueOf(e.getCause()), e);
        }
    }

    private static int maxTokens(ChatCall call, int prompt, int context) {
        int left = context - prompt;
        if (left < 1) {
            throw PlatformException.field(
                    ErrorCode.INVALID_FIELD,
                    "/messages",
                    "The prompt has %d tokens, the context holds %d".formatted(prompt, context));
        }
        Integer asked = call.maxTokens();
        if (asked == null) {
            return left;
        }
        if (asked > left) {
            throw PlatformException.field(
                    ErrorCode.INVALID_FIELD,
                    "/max_tokens",
                    "The prompt has %d tokens and max_tokens is %d; the context holds %d"
                            .formatted(prompt, asked, context));
        }
        return asked;
    }

    private ChatResponse response(
            ChatCall call, LoadedModel model, int[] prompt, GenerationResult result, List<SampleText> texts) {
        Tokenizer tokenizer = model.encoder().tokenizer();
        List<Sequence> sequences = result.sequences();
        List<ChatResponse.Choice> choices = new ArrayList<>();
        int completion = 0;
        for (int i = 0; i < sequences.size(); i++) {
            Sequence sequence = sequences.get(i);
            completion += sequence.tokenIds().length;
            choices.add(new ChatResponse.Choice(
                    i,
                    new ChatRequest.Message("assistant", texts.get(i).finish()),
                    reason(sequence.reason()),
                    call.logprobs() ? logprobs(tokenizer, sequence) : null,
                    call.returnTokenIds() ? list(sequence.tokenIds()) : null));
        }
        return new ChatResponse(
                ids.get(),
                "chat.completion",
                clock.instant().getEpochSecond(),
                name,
                choices,
                new ChatResponse.Usage(prompt.length, completion, prompt.length + completion),
                call.returnTokenIds() ? list(prompt) : null,
                call.returnTokenIds() ? result.weightsVersion() : null,
                null,
                timings(result, completion));
    }

    private static String reason(FinishReason reason) {
        return switch (reason) {
            case STOP -> "stop";
            case LENGTH -> "length";
            case CANCELLED -> "cancelled";
            case ERROR -> "error";
        };
    }

    private static ChatResponse.Logprobs logprobs(Tokenizer tokenizer, Sequence sequence) {
        List<ChatResponse.TokenLogprob> content = new ArrayList<>();
        for (int i = 0; i < sequence.tokenIds().length; i++) {
            List<ChatResponse.TokenLogprob> top = i < sequence.topLogprobs().size()
                    ? sequence.topLogprobs().get(i).stream()
                            .map(other -> logprob(tokenizer, other.tokenId(), other.logprob(), List.of()))
                            .toList()
                    : List.of();
            content.add(logprob(tokenizer, sequence.tokenIds()[i], sequence.logprobs()[i], top));
        }
        return new ChatResponse.Logprobs(content);
    }

    private static ChatResponse.TokenLogprob logprob(
            Tokenizer tokenizer, int token, float logprob, List<ChatResponse.TokenLogprob> top) {
        byte[] bytes = tokenizer.tokenBytes(token);
        List<Integer> unsigned = new ArrayList<>(bytes.length);
        for (byte b : bytes) {
            unsigned.add(Byte.toUnsignedInt(b));
        }
        return new ChatResponse.TokenLogprob(new String(bytes, StandardCharsets.UTF_8), logprob, unsigned, top);
    }

    private static ChatResponse.Timings timings(GenerationResult result, int completion) {
        double decode = millis(result.decode());
        int most = result.sequences().stream()
                .mapToInt(sequence -> sequence.tokenIds().length)
                .max()
                .orElse(0);
        return new ChatResponse.Timings(
                millis(result.queued()),
                millis(result.queued().plus(result.prefill())),
                decode,
                most > 1 ? decode / (most - 1) : 0,
                decode > 0 ? completion * 1000.0 / decode : 0,
                result.cachedPromptTokens());
    }

    private static double millis(Duration duration) {
        return duration.toNanos() / 1e6;
    }

    @Override
    public TokenizeResponse tokenize(String text) {
        return tokens(checkpoint.get().encoder().tokenizer().encode(text, false));
    }

    @Override
    public TokenizeResponse tokenize(List<ChatMessage> messages) {
        return tokens(encode(checkpoint.get(), messages, List.of(), false));
    }

    @Override
    public String detokenize(int[] tokens) {
        return checkpoint.get().encoder().tokenizer().decode(tokens, false);
    }

    private TokenizeResponse tokens(int[] tokens) {
        return new TokenizeResponse(list(tokens), tokens.length, checkpoint.maxSequence());
    }

    private static int[] encode(
            LoadedModel model, List<ChatMessage> messages, List<Map<String, Object>> tools, boolean continues) {
        try {
            return model.encoder().encode(messages, tools, continues);
        } catch (ChatTemplateException e) {
            throw PlatformException.field(ErrorCode.INVALID_FIELD, "/messages", String.valueOf(e.getMessage()));
        }
    }

    private static List<Integer> list(int[] values) {
        return Arrays.stream(values).boxed().toList();
    }
}
