package org.harnesslearning.doubles;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.model.ChatRequest;
import org.harnesslearning.contracts.model.ChatResponse;
import org.harnesslearning.contracts.model.ModelApi;
import org.harnesslearning.contracts.model.ModelInfo;
import org.harnesslearning.contracts.model.ModelList;
import org.harnesslearning.contracts.model.TokenizeRequest;
import org.harnesslearning.contracts.model.TokenizeResponse;
import org.jspecify.annotations.Nullable;
import org.springframework.web.bind.annotation.RestController;

/** A model endpoint whose models reply from scripts by place ("round/candidate"), one script a model name. */
@RestController
public class DoubleModel implements ModelApi {
    private final Map<String, Script> scripts = new ConcurrentHashMap<>();
    /** Places asked for, each time they were. */
    final Queue<String> asked = new ConcurrentLinkedQueue<>();
    /** Requests in order. */
    final Queue<ChatRequest> requests = new ConcurrentLinkedQueue<>();

    /** Names of the model registry, with the version that each stands for. */
    private final Map<String, String> names = new ConcurrentHashMap<>();

    private volatile String gate = "";
    private volatile CountDownLatch reached = new CountDownLatch(1);
    private volatile CountDownLatch open = new CountDownLatch(0);
    private volatile int failures;

    /** Replies of one model. */
    record Script(ModelInfo.Kind kind, Map<String, String> replies) {}

    DoubleModel() {
        add("solver", ModelInfo.Kind.LOCAL, Map.of());
    }

    /** Adds a model. */
    void add(String model, ModelInfo.Kind kind, Map<String, String> replies) {
        scripts.put(model, new Script(kind, replies));
    }

    /** Has a name of the model registry stand for a version, whose replies are those of {@code name@version}. */
    void serve(String name, String version) {
        names.put(name, version);
    }

    /** Holds the call that has this place. */
    void hold(String place) {
        reached = new CountDownLatch(1);
        open = new CountDownLatch(1);
        gate = place;
    }

    void awaitHeld() throws InterruptedException {
        if (!reached.await(60, TimeUnit.SECONDS)) {
            throw new AssertionError("no call came to the gate");
        }
    }

    void release() {
        gate = "";
        open.countDown();
    }

    /** The next calls fail. */
    void fail(int calls) {
        failures = calls;
    }

    @Override
    public synchronized ModelList models() {
        List<ModelInfo> models = new ArrayList<>();
        scripts.forEach((name, script) -> {
            if (!name.contains("@")) {
                models.add(info(name, script.kind(), null));
            }
        });
        names.forEach((name, version) -> models.add(info(name, ModelInfo.Kind.LOCAL, version)));
        return new ModelList("list", models);
    }

    private static ModelInfo info(String name, ModelInfo.Kind kind, @Nullable String version) {
        String identity = Hashes.json(Map.of("model", version == null ? name : version));
        String parent = version == null ? null : "solver";
        return new ModelInfo(name, "model", 0, "tests", kind, identity, null, null, 8192, parent, version);
    }

    @Override
    public ModelInfo model(String name) {
        if (!scripts.containsKey(name)) {
            throw new PlatformException(ErrorCode.UNKNOWN_MODEL, "no model " + name);
        }
        return info(name, ModelInfo.Kind.LOCAL, name.substring(name.indexOf('@') + 1));
    }

    @Override
    public ChatResponse chat(ChatRequest request) {
        requests.add(request);
        List<String> places =
                List.of((request.metadata() == null ? "" : request.metadata().get("positions")).split(","));
        asked.addAll(places);
        synchronized (this) {
            if (failures > 0) {
                failures--;
                throw new PlatformException(ErrorCode.SOLVER_UNAVAILABLE, "the model is away");
            }
        }
        if (places.contains(gate)) {
            reached.countDown();
            try {
                open.await(120, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
        Script script = scripts.get(request.model());
        if (script == null) {
            throw new PlatformException(ErrorCode.UNKNOWN_MODEL, "no model " + request.model());
        }
        List<ChatResponse.Choice> choices = new ArrayList<>();
        for (int i = 0; i < places.size(); i++) {
            String reply = script.replies().getOrDefault(places.get(i), "I have no idea.");
            boolean cut = reply.startsWith("[cut]");
            choices.add(new ChatResponse.Choice(
                    i,
                    new ChatRequest.Message("assistant", reply),
                    cut ? "length" : "stop",
                    new ChatResponse.Logprobs(List.of(new ChatResponse.TokenLogprob("x", -0.5, null, null))),
                    List.of(1, 2, 3)));
        }
        return new ChatResponse(
                "c",
                "chat.completion",
                0,
                request.model(),
                choices,
                new ChatResponse.Usage(100, 20 * places.size(), 100 + 20 * places.size()),
                List.of(7, 8, 9),
                "w1",
                script.kind() == ModelInfo.Kind.RECORDED ? true : null,
                null);
    }

    @Override
    public TokenizeResponse tokenize(TokenizeRequest request) {
        int count = request.prompt() == null ? 0 : (request.prompt().length() + 3) / 4;
        return new TokenizeResponse(List.of(), count, 8192);
    }
}
