package org.harnesslearning.executor.gym;

import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.execution.GenerateRequest;
import org.harnesslearning.contracts.execution.GenerateResponse;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.executor.execution.ItemGenerator;
import org.harnesslearning.executor.sandbox.ContainerSpec;
import org.harnesslearning.executor.sandbox.DockerEngine;
import org.harnesslearning.executor.sandbox.DockerUnavailableException;
import org.harnesslearning.executor.sandbox.ImageBuild;
import org.harnesslearning.executor.sandbox.SandboxFaultException;
import org.harnesslearning.tasks.Families;
import org.harnesslearning.tasks.Score;
import org.harnesslearning.tasks.Scorer;
import org.harnesslearning.tasks.ScorerFactory;
import org.harnesslearning.tasks.Scorers;
import org.harnesslearning.tasks.ScoringException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.JsonNode;

/**
 * Reasoning Gym in a container: the library's own code generates the items and scores the answers, hardened and offline
 * like every sandbox. The container starts with the first request and is replaced when it dies, hangs or grows old; a
 * request that was in it is sent once more. What an answer can do to a scorer is confined inside the container by
 * {@code gym-image/gym_server.py}: one process an answer.
 */
public final class Gym implements ItemGenerator, AutoCloseable {
    /** Most items that one request generates, so that one slow family does not block the container for long. */
    private static final int CHUNK = 16;

    /** The library's data sets end here. */
    private static final int MAX_INDEX = 20_000;

    private static final long MAX_SEED = 0xFFFF_FFFFL - MAX_INDEX;
    private static final int RETRY_AFTER_S = 30;
    private static final Logger LOG = LoggerFactory.getLogger(Gym.class);

    private final DockerEngine engine;
    private final GymSettings settings;
    private final Clock clock;
    private final Semaphore requests;
    private final ReentrantLock lock = new ReentrantLock();
    private final Deque<Instant> starts = new ArrayDeque<>();
    private @Nullable GymSession current;
    private @Nullable String image;
    private boolean closed;

    /** Starts nothing yet. */
    public Gym(DockerEngine engine, GymSettings settings, Clock clock) {
        this.engine = engine;
        this.settings = settings;
        this.clock = clock;
        this.requests = new Semaphore(settings.maxRequests(), true);
    }

    /**
     * Items of a family; the same request always gives the same items.
     *
     * @throws PlatformException UNKNOWN_FAMILY; INVALID_FIELD at {@code /task/reasoning_gym/config} with the library's
     *     own message when it refuses the configuration; INVALID_FIELD for a seed or an index out of range;
     *     SANDBOX_UNAVAILABLE when no container can be had
     */
    @Override
    public GenerateResponse generate(GenerateRequest request) {
        Families.get(request.family());
        if (request.seed() < 0 || request.seed() > MAX_SEED) {
            throw PlatformException.field(
                    ErrorCode.INVALID_FIELD, "/task/reasoning_gym/seed", "seed must be from 0 to " + MAX_SEED);
        }
        if (request.start() < 0 || request.count() < 0 || request.start() > MAX_INDEX - request.count()) {
            throw PlatformException.field(
                    ErrorCode.INVALID_FIELD, "/count", "a seed has the items 0 to " + (MAX_INDEX - 1));
        }
        List<Item> items = new ArrayList<>(request.count());
        while (items.size() < request.count()) {
            int start = request.start() + items.size();
            int count = Math.min(CHUNK, request.count() - items.size());
            JsonNode answer;
            try {
                Map<String, Object> body = body("generate", request.family(), request.config(), request.seed());
                body.put("start", start);
                body.put("count", count);
                answer = call(body);
            } catch (SandboxFaultException e) {
                throw unavailable(String.valueOf(e.getMessage()), e);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw unavailable("The executor is shutting down", e);
            }
            JsonNode error = answer.get("error");
            if (error != null) {
                throw generateError(request, error);
            }
            int index = start;
            for (JsonNode item : answer.path("items")) {
                String question = item.path("question").asString();
                items.add(new Item(
                        Hashes.item(question),
                        question,
                        List.of(item.path("answer").asString()),
                        new Item.Origin(request.seed(), index++)));
            }
            if (index != start + count) {
                throw unavailable("The Reasoning Gym container gave too few items", null);
            }
        }
        return new GenerateResponse(items);
    }

    private static PlatformException generateError(GenerateRequest request, JsonNode error) {
        String code = error.path("code").asString();
        String message = error.path("message").asString();
        boolean ofConfig = code.equals("config")
                || (!request.config().isEmpty() && (code.equals("timeout") || code.equals("memory")));
        return ofConfig
                ? PlatformException.field(
                        ErrorCode.INVALID_FIELD,
                        "/task/reasoning_gym/config",
                        request.family() + " refuses this configuration: " + message)
                : unavailable("Reasoning Gym can't generate " + request.family() + ": " + message, null);
    }

    private static PlatformException unavailable(String detail, @Nullable Throwable cause) {
        return new PlatformException(ErrorCode.SANDBOX_UNAVAILABLE, detail, List.of(), RETRY_AFTER_S, cause);
    }

    /** Makes the scorers named {@code reasoning_gym}; options {@code family} and {@code config}. */
    public ScorerFactory scorerFactory() {
        return new GymScorerFactory();
    }

    /** An answer to an item of this package's own making. */
    record Answer(Item item, String text) {}

    /**
     * Scores answers to items of one data set, each on its own.
     *
     * @return one score an answer, in order
     * @throws ScoringException when one of them could not be scored
     */
    List<Score> score(String family, Map<String, Object> config, List<Answer> answers) {
        Item.Origin first = origin(answers.getFirst().item());
        List<Map<String, Object>> items = new ArrayList<>();
        for (Answer answer : answers) {
            Item.Origin origin = origin(answer.item());
            if (origin.seed() != first.seed()) {
                throw new IllegalArgumentException("the answers belong to different data sets");
            }
            String hash = answer.item().hash();
            items.add(Map.of(
                    "index", origin.index(),
                    "question", hash.substring(hash.indexOf(':') + 1),
                    "answer", answer.text()));
        }
        JsonNode reply;
        try {
            Map<String, Object> body = body("score", family, config, first.seed());
            body.put("items", items);
            reply = call(body);
        } catch (SandboxFaultException e) {
            throw new ScoringException(String.valueOf(e.getMessage()), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ScoringException("The executor is shutting down", e);
        }
        JsonNode error = reply.get("error");
        if (error != null) {
            throw new ScoringException("Reasoning Gym can't score " + family + ": "
                    + error.path("message").asString());
        }
        List<Score> scores = new ArrayList<>();
        for (JsonNode one : reply.path("scores")) {
            JsonNode value = one.get("score");
            if (value == null || !value.isNumber()) {
                throw new ScoringException("Reasoning Gym can't score " + family + ": "
                        + one.path("error").asString("no score"));
            }
            scores.add(new Score(value.doubleValue()));
        }
        if (scores.size() != answers.size()) {
            throw new ScoringException("The Reasoning Gym container gave too few scores");
        }
        return scores;
    }

    private static Item.Origin origin(Item item) {
        Item.Origin origin = item.origin();
        if (origin == null) {
            throw new IllegalArgumentException("the item " + item.hash() + " was not generated");
        }
        return origin;
    }

    private static Map<String, Object> body(String op, String family, Map<String, Object> config, long seed) {
        Map<String, Object> body = new LinkedHashMap<>();
        body.put("op", op);
        body.put("family", family);
        body.put("config", config);
        body.put("seed", seed);
        return body;
    }

    private JsonNode call(Map<String, Object> body) throws InterruptedException {
        if (!requests.tryAcquire(settings.requestTimeout().toMillis(), TimeUnit.MILLISECONDS)) {
            throw new SandboxFaultException("The Reasoning Gym container is overloaded", null);
        }
        try {
            try {
                return session().request(body, settings.requestTimeout());
            } catch (GymSession.LostException e) {
                LOG.warn("a Reasoning Gym container is replaced: {}", e.getMessage());
                return session().request(body, settings.requestTimeout());
            }
        } catch (GymSession.LostException e) {
            throw new SandboxFaultException(String.valueOf(e.getMessage()), e);
        } finally {
            requests.release();
        }
    }

    /** The running container, or a new one. */
    private GymSession session() throws InterruptedException {
        long patience = settings.imageBuildTimeout().plusMinutes(2).toMillis();
        if (!lock.tryLock(patience, TimeUnit.MILLISECONDS)) {
            throw new SandboxFaultException("No Reasoning Gym container came up in time", null);
        }
        try {
            if (closed) {
                throw new SandboxFaultException("The executor is shutting down", null);
            }
            GymSession session = current;
            Instant now = clock.instant();
            if (session != null && session.usable()) {
                if (now.isBefore(session.started().plus(settings.maxAge()))) {
                    return session;
                }
                session.retire();
            }
            current = null;
            while (!starts.isEmpty() && starts.getFirst().isBefore(now.minus(settings.startWindow()))) {
                starts.removeFirst();
            }
            if (starts.size() >= settings.maxStarts()) {
                throw new SandboxFaultException(
                        "Reasoning Gym containers keep ending: " + starts.size() + " were started within "
                                + settings.startWindow().toSeconds() + " s",
                        null);
            }
            starts.addLast(now);
            session = new GymSession(
                    engine.start(
                            new ContainerSpec(image(), "gym", settings.memoryMib(), Map.of("PYTHONHASHSEED", "0"))),
                    now);
            current = session;
            return session;
        } finally {
            lock.unlock();
        }
    }

    private String image() {
        String name = image;
        if (name == null) {
            try {
                name = ImageBuild.resolve(
                        engine,
                        settings.image(),
                        Path.of(settings.imageBuild()),
                        settings.imageBuildTimeout(),
                        "executor.gym.image");
            } catch (DockerUnavailableException e) {
                throw new SandboxFaultException(String.valueOf(e.getMessage()), e);
            }
            image = name;
        }
        return name;
    }

    /** Id of the running container; null when none runs. */
    @Nullable
    String containerId() {
        lock.lock();
        try {
            return current == null ? null : current.containerId();
        } finally {
            lock.unlock();
        }
    }

    /** Removes the container. */
    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            if (current != null) {
                current.close();
                current = null;
            }
        } finally {
            lock.unlock();
        }
    }

    private final class GymScorerFactory implements ScorerFactory {
        @Override
        public String name() {
            return Scorers.REASONING_GYM;
        }

        @Override
        public String version() {
            return Scorers.REASONING_GYM_VERSION;
        }

        @Override
        public Scorer create(Map<String, Object> options) {
            for (String option : options.keySet()) {
                if (!option.equals("family") && !option.equals("config")) {
                    throw new InvalidOptionException(option, "known options are family and config");
                }
            }
            if (!(options.get("family") instanceof String family)
                    || Families.find(family).isEmpty()) {
                throw new InvalidOptionException("family", "family must be one of the known families");
            }
            Map<String, Object> config = new LinkedHashMap<>();
            if (!(options.getOrDefault("config", Map.of()) instanceof Map<?, ?> given)) {
                throw new InvalidOptionException("config", "config must be a JSON object");
            }
            given.forEach((key, value) -> config.put(String.valueOf(key), value));
            return (item, answer) ->
                    score(family, config, List.of(new Answer(item, answer))).getFirst();
        }
    }
}
