package org.harnesslearning.solver.remote;

import com.openai.errors.OpenAIIoException;
import com.openai.errors.OpenAIServiceException;
import java.net.URI;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.model.ChatRequest;
import org.harnesslearning.contracts.model.ChatResponse;
import org.harnesslearning.contracts.model.ModelInfo;
import org.harnesslearning.llm.chat.ChatMessage;
import org.harnesslearning.solver.inference.Cancellation;
import org.harnesslearning.solver.inference.ChatCall;
import org.harnesslearning.solver.inference.Delta;
import org.harnesslearning.solver.inference.DeltaSink;
import org.harnesslearning.solver.inference.ModelBackend;
import org.jspecify.annotations.Nullable;
import org.springframework.ai.chat.messages.AssistantMessage;
import org.springframework.ai.chat.messages.Message;
import org.springframework.ai.chat.messages.SystemMessage;
import org.springframework.ai.chat.messages.UserMessage;
import org.springframework.ai.chat.model.Generation;
import org.springframework.ai.chat.prompt.Prompt;
import org.springframework.ai.openai.OpenAiChatModel;
import org.springframework.ai.openai.OpenAiChatOptions;

/**
 * A model behind any OpenAI-compatible endpoint. Temperature, top_p, max_tokens, stop, seed, n, the presence and frequency
 * penalties and, as extensions, top_k and min_p are sent as asked; what cannot be passed on is refused; where
 * the endpoint answers fewer choices than n, the rest is asked for again. Failures that may pass (429, 5xx, a lost
 * connection) are repeated with growing pauses, a bounded number of times. Token ids are not to be had.
 */
public final class RemoteBackend implements ModelBackend {
    private final String name;
    private final URI baseUrl;
    private final String upstreamModel;
    private final @Nullable Integer maxModelLen;
    private final OpenAiChatModel model;
    private final Clock clock;
    private final Supplier<String> ids;

    /**
     * A back-end.
     *
     * @param apiKey null: the endpoint takes calls without one
     * @param timeout most time for one answer
     * @param maxRetries repetitions after a failure that may pass
     */
    public RemoteBackend(
            String name,
            URI baseUrl,
            @Nullable String apiKey,
            String upstreamModel,
            Duration timeout,
            int maxRetries,
            @Nullable Integer maxModelLen,
            Clock clock,
            Supplier<String> ids) {
        this.name = name;
        this.baseUrl = baseUrl;
        this.upstreamModel = upstreamModel;
        this.maxModelLen = maxModelLen;
        this.clock = clock;
        this.ids = ids;
        OpenAiChatOptions options = OpenAiChatOptions.builder()
                .baseUrl(baseUrl.toString())
                // An endpoint without keys gets a word that is none: the client would else look for one elsewhere.
                .apiKey(apiKey == null || apiKey.isBlank() ? "none" : apiKey)
                .model(upstreamModel)
                .timeout(timeout)
                .maxRetries(maxRetries)
                .build();
        this.model = OpenAiChatModel.builder().options(options).build();
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public ModelInfo info() {
        String identity = Hashes.json(Map.of("kind", "remote", "base_url", baseUrl.toString(), "model", upstreamModel));
        return new ModelInfo(
                name, "model", 0, baseUrl.getHost(), ModelInfo.Kind.REMOTE, identity, null, null, maxModelLen);
    }

    @Override
    public ChatResponse chat(ChatCall call, DeltaSink sink, Cancellation cancellation) {
        refuseWhatCannotBePassedOn(call);
        List<Message> messages =
                call.messages().stream().map(RemoteBackend::message).toList();
        List<ChatResponse.Choice> choices = new ArrayList<>();
        int prompt = 0;
        int completion = 0;
        long start = System.nanoTime();
        while (choices.size() < call.decoding().n()) {
            if (cancellation.isCancelled()) {
                throw new PlatformException(ErrorCode.SOLVER_UNAVAILABLE, "The call was cancelled");
            }
            org.springframework.ai.chat.model.ChatResponse answer = ask(messages, call, choices.size(), cancellation);
            List<Generation> generations = answer.getResults();
            if (generations.isEmpty()) {
                throw new PlatformException(
                        ErrorCode.SOLVER_UNAVAILABLE, "The endpoint of '" + name + "' answered without any choice");
            }
            for (Generation generation : generations) {
                if (choices.size() < call.decoding().n()) {
                    String text = generation.getOutput().getText();
                    String reason = generation.getMetadata().getFinishReason();
                    String content = text == null ? "" : text;
                    sink.accept(new Delta(choices.size(), content, List.of()));
                    choices.add(new ChatResponse.Choice(
                            choices.size(),
                            new ChatRequest.Message("assistant", content),
                            reason == null || reason.isEmpty() ? "stop" : reason.toLowerCase(Locale.ROOT),
                            null,
                            null));
                }
            }
            prompt += count(answer.getMetadata().getUsage().getPromptTokens());
            completion += count(answer.getMetadata().getUsage().getCompletionTokens());
        }
        double took = (System.nanoTime() - start) / 1e6;
        return new ChatResponse(
                ids.get(),
                "chat.completion",
                clock.instant().getEpochSecond(),
                name,
                choices,
                new ChatResponse.Usage(prompt, completion, prompt + completion),
                null,
                null,
                null,
                new ChatResponse.Timings(0, took, took, 0, took > 0 ? completion * 1000.0 / took : 0, null));
    }

    private org.springframework.ai.chat.model.ChatResponse ask(
            List<Message> messages, ChatCall call, int done, Cancellation cancellation) {
        OpenAiChatOptions.Builder options = OpenAiChatOptions.builder();
        options.model(upstreamModel);
        options.temperature(call.decoding().temperature());
        options.topP(call.decoding().topP());
        options.n(call.decoding().n() - done);
        if (call.decoding().maxTokens() != null) {
            options.maxTokens(call.decoding().maxTokens());
        }
        if (!call.decoding().stop().isEmpty()) {
            options.stop(call.decoding().stop());
        }
        Long seed = call.decoding().seeds().isEmpty()
                ? call.decoding().seed()
                : Long.valueOf(call.decoding().seeds().get(done));
        if (seed != null) {
            // The client knows 32-bit seeds only; equal seeds stay equal.
            options.seed((int) (seed + (call.decoding().seeds().isEmpty() ? done : 0)));
        }
        if (call.decoding().presencePenalty() != 0) {
            options.presencePenalty(call.decoding().presencePenalty());
        }
        if (call.decoding().frequencyPenalty() != 0) {
            options.frequencyPenalty(call.decoding().frequencyPenalty());
        }
        Map<String, Object> extensions = new LinkedHashMap<>();
        if (call.decoding().topK() > 0) {
            extensions.put("top_k", call.decoding().topK());
        }
        if (call.decoding().minP() > 0) {
            extensions.put("min_p", call.decoding().minP());
        }
        if (!extensions.isEmpty()) {
            options.extraBody(extensions);
        }
        Interruption interruption = new Interruption(Thread.currentThread());
        cancellation.onCancel(interruption::fire);
        try {
            return model.call(new Prompt(messages, options.build()));
        } catch (RuntimeException e) {
            throw translated(e);
        } finally {
            interruption.disarm();
        }
    }

    /** Interrupts a thread unless its work is over. */
    private static final class Interruption {
        private @Nullable Thread thread;

        Interruption(Thread thread) {
            this.thread = thread;
        }

        synchronized void fire() {
            if (thread != null) {
                thread.interrupt();
            }
        }

        synchronized void disarm() {
            thread = null;
        }
    }

    private static void refuseWhatCannotBePassedOn(ChatCall call) {
        if (call.continueFinalMessage()) {
            throw PlatformException.field(
                    ErrorCode.INVALID_FIELD, "/continue_final_message", "Only local models can continue a message");
        }
        if (call.decoding().logprobs()) {
            throw PlatformException.field(
                    ErrorCode.INVALID_FIELD, "/logprobs", "Only local models return log-probabilities");
        }
        if (!call.tools().isEmpty()) {
            throw PlatformException.field(
                    ErrorCode.INVALID_FIELD, "/tools", "Tools are not passed on to remote models");
        }
        if (call.decoding().repetitionPenalty() != 1) {
            throw PlatformException.field(
                    ErrorCode.INVALID_FIELD, "/repetition_penalty", "Only local models know a repetition penalty");
        }
        if (!call.decoding().stopTokens().isEmpty()) {
            throw PlatformException.field(
                    ErrorCode.INVALID_FIELD, "/stop_token_ids", "Only local models stop at token ids");
        }
        if (call.decoding().ignoreEos()) {
            throw PlatformException.field(
                    ErrorCode.INVALID_FIELD, "/ignore_eos", "Only local models go on after their end token");
        }
    }

    private static Message message(ChatMessage message) {
        String content = message.content() == null ? "" : message.content();
        return switch (message.role()) {
            case "system" -> new SystemMessage(content);
            case "assistant" -> new AssistantMessage(content);
            case "user" -> new UserMessage(content);
            case String role ->
                throw PlatformException.field(
                        ErrorCode.INVALID_FIELD, "/messages", "Role " + role + " is not passed on to remote models");
        };
    }

    private static int count(@Nullable Integer tokens) {
        return tokens == null ? 0 : tokens;
    }

    private PlatformException translated(RuntimeException e) {
        for (Throwable cause = e; cause != null; cause = cause.getCause()) {
            if (cause instanceof OpenAIServiceException service) {
                return ofStatus(service);
            }
            if (cause instanceof OpenAIIoException || cause instanceof java.io.IOException) {
                Throwable root = cause.getCause() == null ? cause : cause.getCause();
                return new PlatformException(
                        ErrorCode.SOLVER_UNAVAILABLE,
                        "The endpoint of '%s' cannot be reached: %s"
                                .formatted(
                                        name,
                                        root.getMessage() == null
                                                ? root.getClass().getSimpleName()
                                                : root.getMessage()),
                        e);
            }
        }
        return new PlatformException(
                ErrorCode.SOLVER_UNAVAILABLE, "The endpoint of '" + name + "' gave an answer that cannot be read", e);
    }

    private PlatformException ofStatus(OpenAIServiceException e) {
        int status = e.statusCode();
        String detail = "The endpoint of '%s' answered %d: %s".formatted(name, status, String.valueOf(e.getMessage()));
        if (status == 429) {
            String after =
                    e.headers().values("retry-after").stream().findFirst().orElse("");
            return new PlatformException(
                    ErrorCode.RATE_LIMITED,
                    detail,
                    List.of(),
                    after.matches("\\d{1,5}") ? Integer.valueOf(after) : 5,
                    e);
        }
        return status == 400 || status == 422
                ? new PlatformException(ErrorCode.INVALID_FIELD, detail, e)
                : new PlatformException(ErrorCode.SOLVER_UNAVAILABLE, detail, e);
    }
}
