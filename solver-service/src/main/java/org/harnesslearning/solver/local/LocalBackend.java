package org.harnesslearning.solver.local;

import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.function.IntConsumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.model.ChatRequest;
import org.harnesslearning.contracts.model.ChatResponse;
import org.harnesslearning.contracts.model.ModelInfo;
import org.harnesslearning.llm.AdapterCard;
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
import org.harnesslearning.llm.chat.ChatTemplateException;
import org.harnesslearning.llm.checkpoint.CheckpointException;
import org.harnesslearning.llm.checkpoint.LoraAdapter;
import org.harnesslearning.llm.tokenizer.Tokenizer;
import org.harnesslearning.solver.inference.Cancellation;
import org.harnesslearning.solver.inference.ChatCall;
import org.harnesslearning.solver.inference.CompletionCall;
import org.harnesslearning.solver.inference.Decoding;
import org.harnesslearning.solver.inference.Delta;
import org.harnesslearning.solver.inference.DeltaSink;
import org.harnesslearning.solver.inference.ModelBackend;
import org.harnesslearning.solver.inference.Prompt;
import org.harnesslearning.solver.inference.TextCompletion;
import org.harnesslearning.solver.inference.Tokenized;
import org.harnesslearning.solver.inference.ToolCalls;
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
        return adapted == null ? info(name, null, null) : info(name, adapted.hash(), adapted.parent());
    }

    @Override
    public ModelInfo infoWith(String adapterName, String adapterHash) {
        return info(adapterName, adapterHash, name);
    }

    private ModelInfo info(String id, @Nullable String adapter, @Nullable String parent) {
        LocalCheckpoint.Facts facts = checkpoint.facts();
        String weights = adapter == null ? facts.weightsHash() : facts.weightsHash() + "+" + adapter;
        String identity =
                Hashes.json(Map.of("kind", "local", "weights_hash", weights, "number_type", facts.numberType()));
        return new ModelInfo(
                id,
                "model",
                0,
                "local",
                ModelInfo.Kind.LOCAL,
                identity,
                weights,
                facts.numberType(),
                checkpoint.maxSequence(),
                parent);
    }

    @Override
    public boolean takesAdapters() {
        return adapted == null && checkpoint.takesAdapters();
    }

    @Override
    public LocalBackend load(String adapterName, LoraAdapter adapter, boolean replace) {
        if (!takesAdapters()) {
            throw PlatformException.field(
                    ErrorCode.INVALID_FIELD, "/base_model_name", "'" + name + "' takes no adapters");
        }
        try {
            checkpoint.get().engine().loadAdapter(adapterName, adapter, replace);
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
    public int adapterRequests() {
        return checkpoint.adapters().stream()
                .filter(card -> card.name().equals(name))
                .mapToInt(AdapterCard::requests)
                .sum();
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
    public Object engine() {
        return checkpoint;
    }

    @Override
    public @Nullable EngineStatistics statistics() {
        return checkpoint.statistics();
    }

    @Override
    public void observeTurns(IntConsumer observer) {
        checkpoint.observeTurns(observer);
    }

    @Override
    public ChatResponse chat(ChatCall call, DeltaSink sink, Cancellation cancellation) {
        LoadedModel model = checkpoint.get();
        String template = model.encoder().template().source();
        if (!call.tools().isEmpty() && !template.contains("tools")) {
            throw PlatformException.field(
                    ErrorCode.INVALID_FIELD, "/tools", "The chat template of '" + name + "' has no place for tools");
        }
        Prompt prompt = new Prompt.Chat(
                call.messages(), call.tools(), !call.continueFinalMessage(), call.continueFinalMessage());
        boolean callsTools = !call.tools().isEmpty() && ToolCalls.taughtBy(template);
        Replies replies = replies(model, prompt, call.decoding(), callsTools, sink, cancellation);
        String id = ids.get();
        List<ChatResponse.Choice> choices = new ArrayList<>();
        for (int i = 0; i < call.decoding().n(); i++) {
            int index = i;
            ToolCalls.Reply reply = replies.texts()
                    .get(i)
                    .finish(number -> "call_%s_%d_%d".formatted(id.substring(id.indexOf('-') + 1), index, number));
            Sequence sequence = replies.result().sequences().get(i);
            boolean calls = !reply.calls().isEmpty() && sequence.reason() == FinishReason.STOP;
            choices.add(new ChatResponse.Choice(
                    i,
                    new ChatRequest.Message(
                            "assistant", reply.content(), reply.calls().isEmpty() ? null : reply.calls()),
                    calls ? "tool_calls" : reason(sequence.reason()),
                    call.decoding().logprobs()
                            ? new ChatResponse.Logprobs(replies.texts().get(i).tokens().stream()
                                    .map(Delta.Token::logprob)
                                    .toList())
                            : null,
                    call.decoding().returnTokenIds() ? list(sequence.tokenIds()) : null));
        }
        return new ChatResponse(
                id,
                "chat.completion",
                clock.instant().getEpochSecond(),
                name,
                choices,
                replies.usage(),
                call.decoding().returnTokenIds() ? list(replies.prompt()) : null,
                call.decoding().returnTokenIds() ? replies.result().weightsVersion() : null,
                null,
                replies.timings());
    }

    @Override
    public TextCompletion complete(CompletionCall call, DeltaSink sink, Cancellation cancellation) {
        LoadedModel model = checkpoint.get();
        Replies replies = replies(model, call.prompt(), call.decoding(), false, sink, cancellation);
        List<TextCompletion.Choice> choices = new ArrayList<>();
        for (int i = 0; i < call.decoding().n(); i++) {
            SampleText text = replies.texts().get(i);
            Sequence sequence = replies.result().sequences().get(i);
            String content = text.finish(String::valueOf).content();
            choices.add(new TextCompletion.Choice(
                    i,
                    content,
                    reason(sequence.reason()),
                    call.decoding().logprobs() ? TextCompletion.Logprobs.of(text.tokens()) : null,
                    call.decoding().returnTokenIds() ? list(sequence.tokenIds()) : null));
        }
        return new TextCompletion(
                ids.get().replaceFirst("^chatcmpl-", "cmpl-"),
                "text_completion",
                clock.instant().getEpochSecond(),
                name,
                choices,
                replies.usage(),
                call.decoding().returnTokenIds() ? list(replies.prompt()) : null,
                call.decoding().returnTokenIds() ? replies.result().weightsVersion() : null,
                replies.timings());
    }

    /** What the engine made of a prompt. */
    private record Replies(int[] prompt, GenerationResult result, List<SampleText> texts) {
        ChatResponse.Usage usage() {
            int completion = completion();
            return new ChatResponse.Usage(prompt.length, completion, prompt.length + completion);
        }

        ChatResponse.Timings timings() {
            return LocalBackend.timings(result, completion());
        }

        private int completion() {
            return result.sequences().stream()
                    .mapToInt(sequence -> sequence.tokenIds().length)
                    .sum();
        }
    }

    private Replies replies(
            LoadedModel model,
            Prompt wanted,
            Decoding decoding,
            boolean callsTools,
            DeltaSink sink,
            Cancellation cancellation) {
        int[] prompt = encode(model, wanted);
        int maxTokens = maxTokens(
                wanted, decoding, prompt.length, model.engine().options().maxSequence());
        List<SampleText> texts = new ArrayList<>();
        for (int i = 0; i < decoding.n(); i++) {
            texts.add(new SampleText(i, model.encoder().tokenizer(), decoding, callsTools, sink));
        }
        GenerationRequest request = request(decoding, prompt, maxTokens)
                .withListener((sample, token, logprob, alternatives) ->
                        texts.get(sample).accept(token, logprob, alternatives));
        return new Replies(prompt, run(model, request, cancellation), texts);
    }

    private GenerationRequest request(Decoding decoding, int[] prompt, int maxTokens) {
        Sampling sampling = new Sampling(
                decoding.temperature(),
                decoding.topP(),
                decoding.topK(),
                decoding.repetitionPenalty(),
                decoding.minP(),
                decoding.presencePenalty(),
                decoding.frequencyPenalty());
        Long seed = decoding.seed();
        GenerationRequest request = GenerationRequest.of(
                        prompt, maxTokens, sampling, seed == null ? seeds.getAsLong() : seed)
                .withSamples(decoding.n())
                .withAdapter(adapted == null ? null : name)
                .withStopTokens(decoding.stopTokens())
                .withIgnoreEndTokens(decoding.ignoreEos())
                .withTopLogprobs(decoding.topLogprobs());
        return decoding.seeds().isEmpty() ? request : request.withSampleSeeds(decoding.seeds());
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
            Throwable cause = e.getCause() == null ? e : e.getCause();
            throw new PlatformException(ErrorCode.SOLVER_UNAVAILABLE, "The engine failed: " + cause.getMessage(), e);
        }
    }

    private static int maxTokens(Prompt wanted, Decoding decoding, int prompt, int context) {
        int left = context - prompt;
        if (left < 1) {
            throw PlatformException.field(
                    ErrorCode.INVALID_FIELD,
                    wanted instanceof Prompt.Chat ? "/messages" : "/prompt",
                    "The prompt has %d tokens, the context holds %d".formatted(prompt, context));
        }
        Integer asked = decoding.maxTokens();
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

    private static String reason(FinishReason reason) {
        return switch (reason) {
            case STOP -> "stop";
            case LENGTH -> "length";
            case CANCELLED -> "cancelled";
            case ERROR -> "error";
        };
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
    public Tokenized tokenize(Prompt prompt) {
        LoadedModel model = checkpoint.get();
        int[] tokens = encode(model, prompt);
        List<String> texts = Arrays.stream(tokens)
                .mapToObj(token -> new String(model.encoder().tokenizer().tokenBytes(token), StandardCharsets.UTF_8))
                .toList();
        return new Tokenized(list(tokens), texts, checkpoint.maxSequence());
    }

    @Override
    public String detokenize(List<Integer> tokens) {
        LoadedModel model = checkpoint.get();
        checkVocabulary(model, tokens, "/tokens");
        return model.encoder()
                .tokenizer()
                .decode(tokens.stream().mapToInt(Integer::intValue).toArray(), false);
    }

    private static int[] encode(LoadedModel model, Prompt prompt) {
        Tokenizer tokenizer = model.encoder().tokenizer();
        return switch (prompt) {
            case Prompt.Chat chat -> {
                try {
                    yield model.encoder()
                            .encode(
                                    chat.messages(),
                                    chat.tools(),
                                    chat.addGenerationPrompt(),
                                    chat.continueFinalMessage());
                } catch (ChatTemplateException e) {
                    throw PlatformException.field(ErrorCode.INVALID_FIELD, "/messages", String.valueOf(e.getMessage()));
                }
            }
            case Prompt.Tokens tokens -> {
                checkVocabulary(model, tokens.ids(), "/prompt");
                yield tokens.ids().stream().mapToInt(Integer::intValue).toArray();
            }
            case Prompt.Text text -> {
                int[] tokens = tokenizer.encode(text.text(), true);
                boolean begins = text.addSpecialTokens() && tokenizer.addsBos();
                int[] ids = begins
                        ? IntStream.concat(IntStream.of(tokenizer.bosId().getAsInt()), Arrays.stream(tokens))
                                .toArray()
                        : tokens;
                if (ids.length == 0) {
                    throw PlatformException.field(ErrorCode.INVALID_FIELD, "/prompt", "The prompt has no tokens");
                }
                yield ids;
            }
        };
    }

    private static void checkVocabulary(LoadedModel model, List<Integer> tokens, String pointer) {
        int size = model.engine().card().vocabularySize();
        for (int token : tokens) {
            if (token < 0 || token >= size) {
                throw PlatformException.field(
                        ErrorCode.INVALID_FIELD,
                        pointer,
                        "Token %d is outside the vocabulary of %d".formatted(token, size));
            }
        }
    }

    private static List<Integer> list(int[] values) {
        return Arrays.stream(values).boxed().toList();
    }
}
