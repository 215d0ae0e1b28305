package org.harnesslearning.solver.inference;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.model.ChatResponse;
import org.harnesslearning.contracts.model.ModelInfo;
import org.harnesslearning.contracts.model.ModelList;
import org.harnesslearning.contracts.model.TokenizeResponse;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;

/** The HTTP API: chat completions, models, and the tokenizer. */
@RestController
class InferenceController {
    private static final Logger LOG = LoggerFactory.getLogger(InferenceController.class);

    private final ModelRegistry registry;
    private final Draining draining;
    private final InferenceMetrics metrics;
    private final Disconnects disconnects;
    private final Supplier<String> ids;
    private final Clock clock;

    InferenceController(
            ModelRegistry registry,
            Draining draining,
            InferenceMetrics metrics,
            Disconnects disconnects,
            Supplier<String> chatIds,
            Clock clock) {
        this.registry = registry;
        this.draining = draining;
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
        draining.refuseIfDraining();
        ChatCall call = body.validated();
        ModelBackend backend = registry.get(call.model());
        if (body.streams()) {
            new ChatStream(
                            backend,
                            call,
                            ids.get(),
                            clock.instant().getEpochSecond(),
                            body.streamsUsage(),
                            this::answer)
                    .writeTo(response);
            return null;
        }
        Cancellation cancellation = new Cancellation();
        Disconnects.Watch watch = disconnects.watch(request, cancellation);
        try {
            return answer(backend, call, DeltaSink.NONE, cancellation);
        } finally {
            watch.end();
        }
    }

    private ChatResponse answer(ModelBackend backend, ChatCall call, DeltaSink sink, Cancellation cancellation) {
        long start = System.nanoTime();
        ChatResponse response = backend.chat(call, sink, cancellation);
        metrics.answered(call, response, Duration.ofNanos(System.nanoTime() - start));
        return response;
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
        return new ModelList("list", data);
    }

    @GetMapping("/v1/models/{name}")
    ModelInfo model(@PathVariable String name) {
        return registry.get(name).info();
    }

    /** Either a plain text or a conversation. */
    record TokenizeBody(
            @Nullable String model,
            @Nullable String prompt,
            @Nullable List<ChatBody.Message> messages) {}

    @PostMapping("/tokenize")
    TokenizeResponse tokenize(@RequestBody TokenizeBody body) {
        ModelBackend backend = named(body.model());
        if ((body.prompt() == null) == (body.messages() == null)) {
            throw PlatformException.field(ErrorCode.INVALID_FIELD, "/prompt", "Either prompt or messages is needed");
        }
        if (body.prompt() != null) {
            return backend.tokenize(body.prompt());
        }
        ChatBody.Faults faults = new ChatBody.Faults();
        var turns = ChatBody.turns(body.messages(), "/messages", faults);
        faults.throwIfAny();
        return backend.tokenize(turns);
    }

    record DetokenizeBody(@Nullable String model, @Nullable List<Integer> tokens) {}

    record DetokenizeAnswer(String prompt) {}

    @PostMapping("/detokenize")
    DetokenizeAnswer detokenize(@RequestBody DetokenizeBody body) {
        ModelBackend backend = named(body.model());
        if (body.tokens() == null || body.tokens().contains(null)) {
            throw PlatformException.field(ErrorCode.INVALID_FIELD, "/tokens", "A list of token ids is needed");
        }
        return new DetokenizeAnswer(backend.detokenize(
                body.tokens().stream().mapToInt(Integer::intValue).toArray()));
    }

    private ModelBackend named(@Nullable String model) {
        if (model == null || model.isBlank()) {
            throw PlatformException.field(ErrorCode.INVALID_FIELD, "/model", "A model's name is needed");
        }
        return registry.get(model);
    }
}
