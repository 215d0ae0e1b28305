package org.harnesslearning.solver.inference;

import com.fasterxml.jackson.annotation.JsonInclude;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.time.Clock;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.model.ChatResponse;
import org.harnesslearning.contracts.model.ModelInfo;
import org.harnesslearning.contracts.model.ModelList;
import org.harnesslearning.contracts.web.RequestIdFilter;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

/** The HTTP API: chat and text completions, their cancelling, models, and the tokenizer. */
@RestController
class InferenceController {
    private static final Logger LOG = LoggerFactory.getLogger(InferenceController.class);

    private final ModelRegistry registry;
    private final RunningCalls calls;
    private final InferenceMetrics metrics;
    private final Disconnects disconnects;
    private final Supplier<String> ids;
    private final Clock clock;

    InferenceController(
            ModelRegistry registry,
            RunningCalls calls,
            InferenceMetrics metrics,
            Disconnects disconnects,
            Supplier<String> chatIds,
            Clock clock) {
        this.registry = registry;
        this.calls = calls;
        this.metrics = metrics;
        this.disconnects = disconnects;
        this.ids = chatIds;
        this.clock = clock;
    }

    /** Answers the completion, or null once it has been streamed. */
    @PostMapping("/v1/chat/completions")
    @Nullable
    ChatResponse chat(@RequestBody ChatBody body, HttpServletRequest request, HttpServletResponse response)
            throws IOException {
        ChatCall call = body.validated();
        ModelBackend backend = registry.get(call.model());
        EventStream.Producer<ChatResponse> producer = (sink, cancellation) -> metrics.measured(
                backend, call.decoding(), () -> backend.chat(call, sink, cancellation), InferenceMetrics.Facts::of);
        if (!body.streams()) {
            return whole(request, producer);
        }
        stream(new ChatChunks(call.decoding()), call.model(), body.streamsUsage(), request, response, producer);
        return null;
    }

    /** Answers the completion, or null once it has been streamed. */
    @PostMapping("/v1/completions")
    @Nullable
    TextCompletion complete(@RequestBody CompletionBody body, HttpServletRequest request, HttpServletResponse response)
            throws IOException {
        CompletionCall call = body.validated();
        ModelBackend backend = registry.get(call.model());
        EventStream.Producer<TextCompletion> producer = (sink, cancellation) -> metrics.measured(
                backend, call.decoding(), () -> backend.complete(call, sink, cancellation), InferenceMetrics.Facts::of);
        if (!body.streams()) {
            return whole(request, producer);
        }
        stream(new TextChunks(call.decoding()), call.model(), body.streamsUsage(), request, response, producer);
        return null;
    }

    private <R> R whole(HttpServletRequest request, EventStream.Producer<R> producer) {
        try (RunningCalls.Call call = calls.begin(RequestIdFilter.requestId(request))) {
            Disconnects.Watch watch = disconnects.watch(request, call.cancellation());
            try {
                R answer = producer.run(DeltaSink.NONE, call.cancellation());
                calls.refuseIfAborted();
                return answer;
            } finally {
                watch.end();
            }
        }
    }

    private <R> void stream(
            EventStream.Form<R> form,
            String model,
            boolean withUsage,
            HttpServletRequest request,
            HttpServletResponse response,
            EventStream.Producer<R> producer)
            throws IOException {
        try (RunningCalls.Call call = calls.begin(RequestIdFilter.requestId(request))) {
            Disconnects.Watch watch = disconnects.watch(request, call.cancellation());
            try {
                new EventStream<>(
                                form,
                                ids.get(),
                                clock.instant().getEpochSecond(),
                                model,
                                withUsage,
                                EventStream.HEARTBEAT)
                        .write(response, call.cancellation(), producer);
            } finally {
                watch.end();
            }
        }
    }

    /** Ends the completions with a request id; their answers say {@code cancelled}. */
    @PostMapping("/v1/requests/{id}/cancel")
    @ResponseStatus(HttpStatus.ACCEPTED)
    Map<String, Boolean> cancel(@PathVariable String id) {
        if (!calls.cancel(id)) {
            throw new PlatformException(ErrorCode.NOT_FOUND, "No running request has the id " + id);
        }
        return Map.of("cancelled", true);
    }

    @GetMapping("/v1/models")
    ModelList models() {
        List<ModelInfo> data = new ArrayList<>();
        for (ModelBackend backend : registry.all()) {
            try {
                data.add(backend.info());
            } catch (PlatformException e) {
                LOG.warn("model {} is left out of the list: {}", backend.name(), e.getMessage());
            }
        }
        data.addAll(registry.named());
        return new ModelList("list", data);
    }

    @GetMapping("/v1/models/{*name}")
    ModelInfo model(@PathVariable String name) {
        return registry.info(name.substring(1)); // a path, since names may hold slashes
    }

    /**
     * Either a text or a conversation.
     *
     * @param addSpecialTokens whether a text gets the checkpoint's begin-of-sequence token; default true
     * @param addGenerationPrompt whether a conversation gets the opening of a reply; default true
     * @param returnTokenStrs whether the text of each token is wanted
     */
    record TokenizeBody(
            @Nullable String model,
            @Nullable String prompt,
            @Nullable List<ChatBody.Message> messages,
            @Nullable List<Map<String, Object>> tools,
            @Nullable Boolean addSpecialTokens,
            @Nullable Boolean addGenerationPrompt,
            @Nullable Boolean continueFinalMessage,
            @Nullable Boolean returnTokenStrs) {
        Prompt validated() {
            Faults faults = new Faults();
            if ((prompt == null) == (messages == null)) {
                faults.add("/prompt", "Either prompt or messages is needed");
            }
            if (prompt != null) {
                faults.throwIfAny();
                return new Prompt.Text(prompt, !Boolean.FALSE.equals(addSpecialTokens));
            }
            var turns = ChatBody.turns(messages, "/messages", faults);
            var offered = ChatBody.tools(tools, faults);
            boolean continues = Boolean.TRUE.equals(continueFinalMessage);
            if (continues && Boolean.TRUE.equals(addGenerationPrompt)) {
                faults.add("/add_generation_prompt", "A reply is either begun or continued, not both");
            }
            if (Boolean.TRUE.equals(addSpecialTokens)) {
                faults.add("/add_special_tokens", "The chat template of a conversation adds its own");
            }
            faults.throwIfAny();
            return new Prompt.Chat(turns, offered, !continues && !Boolean.FALSE.equals(addGenerationPrompt), continues);
        }
    }

    @JsonInclude(JsonInclude.Include.NON_NULL)
    record TokenizeAnswer(
            int count,
            int maxModelLen,
            List<Integer> tokens,
            @Nullable List<String> tokenStrs) {}

    @PostMapping("/tokenize")
    TokenizeAnswer tokenize(@RequestBody TokenizeBody body) {
        ModelBackend backend = named(body.model());
        Tokenized tokenized = backend.tokenize(body.validated());
        return new TokenizeAnswer(
                tokenized.tokens().size(),
                tokenized.maxModelLen(),
                tokenized.tokens(),
                Boolean.TRUE.equals(body.returnTokenStrs()) ? tokenized.texts() : null);
    }

    record DetokenizeBody(@Nullable String model, @Nullable List<Integer> tokens) {}

    record DetokenizeAnswer(String prompt) {}

    @PostMapping("/detokenize")
    DetokenizeAnswer detokenize(@RequestBody DetokenizeBody body) {
        ModelBackend backend = named(body.model());
        if (body.tokens() == null || body.tokens().contains(null)) {
            throw PlatformException.field(ErrorCode.INVALID_FIELD, "/tokens", "A list of token ids is needed");
        }
        return new DetokenizeAnswer(backend.detokenize(body.tokens()));
    }

    private ModelBackend named(@Nullable String model) {
        if (model == null || model.isBlank()) {
            throw PlatformException.field(ErrorCode.INVALID_FIELD, "/model", "A model's name is needed");
        }
        return registry.get(model);
    }
}
