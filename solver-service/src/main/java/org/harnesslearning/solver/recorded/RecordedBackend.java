package org.harnesslearning.solver.recorded;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.model.ChatRequest;
import org.harnesslearning.contracts.model.ChatResponse;
import org.harnesslearning.contracts.model.ModelInfo;
import org.harnesslearning.solver.inference.Cancellation;
import org.harnesslearning.solver.inference.ChatCall;
import org.harnesslearning.solver.inference.Delta;
import org.harnesslearning.solver.inference.DeltaSink;
import org.harnesslearning.solver.inference.ModelBackend;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;

/**
 * Replies from a file of JSON lines {@code {"position": "1/0", "reply": "…"}}; a call names its positions (round/candidate)
 * in {@code metadata.positions}, one for each choice, separated by commas. Every answer says {@code "recorded": true}.
 */
public final class RecordedBackend implements ModelBackend {
    private final String name;
    private final Map<String, Reply> replies = new HashMap<>();
    private final String identity;
    private final @Nullable Integer maxModelLen;
    private final Duration delay;
    private final Clock clock;
    private final Supplier<String> ids;

    /**
     * One line of the file.
     *
     * @param finishReason default {@code stop}
     * @param promptTokens as counted when it was recorded; default: characters / 4
     * @param completionTokens as {@code promptTokens}
     */
    record Reply(
            String position,
            String reply,
            @Nullable String finishReason,
            @Nullable Integer promptTokens,
            @Nullable Integer completionTokens) {}

    /**
     * Reads the file.
     *
     * @throws IllegalArgumentException naming file and line, when it cannot be used
     */
    public RecordedBackend(
            String name, Path file, @Nullable Integer maxModelLen, Duration delay, Clock clock, Supplier<String> ids) {
        this.name = name;
        this.maxModelLen = maxModelLen;
        this.delay = delay;
        this.clock = clock;
        this.ids = ids;
        try {
            this.identity = Hashes.json(Map.of("kind", "recorded", "file", Hashes.sha256(Files.readAllBytes(file))));
            int number = 0;
            for (String line : Files.readAllLines(file)) {
                number++;
                if (!line.isBlank()) {
                    add(line, file + ", line " + number);
                }
            }
        } catch (IOException e) {
            throw new IllegalArgumentException(
                    "recorded model '%s': %s cannot be read: %s".formatted(name, file, e.getMessage()), e);
        }
    }

    @SuppressWarnings("NullAway") // records of JSON may hold nulls where a line lacks a field
    private void add(String line, String where) {
        Reply reply;
        try {
            reply = Json.read(line, Reply.class);
        } catch (JacksonException e) {
            throw new IllegalArgumentException(where + ": " + e.getOriginalMessage(), e);
        }
        if (reply.position() == null || reply.reply() == null) {
            throw new IllegalArgumentException(where + ": position and reply are needed");
        }
        if (replies.putIfAbsent(reply.position(), reply) != null) {
            throw new IllegalArgumentException(where + ": position " + reply.position() + " occurs twice");
        }
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public ModelInfo info() {
        return new ModelInfo(name, "model", 0, "recorded", ModelInfo.Kind.RECORDED, identity, null, null, maxModelLen);
    }

    @Override
    public ChatResponse chat(ChatCall call, DeltaSink sink, Cancellation cancellation) {
        String positions = call.metadata().getOrDefault("positions", "");
        List<String> wanted = List.of(positions.split(",", -1));
        if (positions.isBlank() || wanted.size() != call.decoding().n()) {
            throw PlatformException.field(
                    ErrorCode.INVALID_FIELD,
                    "/metadata/positions",
                    "A recorded model needs one position for each of the %d choices"
                            .formatted(call.decoding().n()));
        }
        pause();
        List<ChatResponse.Choice> choices = new ArrayList<>();
        int characters = call.messages().stream()
                .mapToInt(message ->
                        message.content() == null ? 0 : message.content().length())
                .sum();
        int prompt = (characters + 3) / 4;
        int completion = 0;
        for (int i = 0; i < wanted.size(); i++) {
            Reply reply = replies.get(wanted.get(i).strip());
            if (reply == null) {
                throw new PlatformException(
                        ErrorCode.NOT_FOUND,
                        "Recorded model '%s' has no reply at %s"
                                .formatted(name, wanted.get(i).strip()));
            }
            prompt = reply.promptTokens() == null ? prompt : reply.promptTokens();
            completion +=
                    reply.completionTokens() == null ? (reply.reply().length() + 3) / 4 : reply.completionTokens();
            String reason = reply.finishReason() == null ? "stop" : reply.finishReason();
            sink.accept(new Delta(i, reply.reply(), List.of()));
            choices.add(new ChatResponse.Choice(
                    i, new ChatRequest.Message("assistant", reply.reply()), reason, null, null));
        }
        return new ChatResponse(
                ids.get(),
                "chat.completion",
                clock.instant().getEpochSecond(),
                name,
                choices,
                new ChatResponse.Usage(prompt, completion, prompt + completion),
                null,
                null,
                true,
                null);
    }

    private void pause() {
        try {
            Thread.sleep(delay);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new PlatformException(ErrorCode.DRAINING, "Recorded model '%s' was interrupted".formatted(name), e);
        }
    }
}
