package org.harnesslearning.doubles;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.execution.CheckRequest;
import org.harnesslearning.contracts.execution.CheckResult;
import org.harnesslearning.contracts.execution.ExecutionRequest;
import org.harnesslearning.contracts.execution.ExecutionStatus;
import org.harnesslearning.contracts.execution.ExecutorApi;
import org.harnesslearning.contracts.execution.GenerateRequest;
import org.harnesslearning.contracts.execution.GenerateResponse;
import org.harnesslearning.contracts.execution.HarnessError;
import org.harnesslearning.contracts.execution.QuestionCode;
import org.harnesslearning.contracts.execution.QuestionResult;
import org.harnesslearning.contracts.execution.SandboxKit;
import org.harnesslearning.contracts.execution.SandboxOffer;
import org.harnesslearning.contracts.execution.Usage;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.store.execution.ModelCalls;
import org.harnesslearning.store.execution.QuestionResults;
import org.harnesslearning.store.execution.ResultKey;
import org.jspecify.annotations.Nullable;
import org.springframework.web.bind.annotation.RestController;

/**
 * An executor without sandboxes: same stores, same idempotence, but what a harness does is written in its comments.
 *
 * <p>{@code # level: 0.5}: questions named {@code … k/n} with k below half of n score 1, the others 0. {@code # calls: 3}:
 * solver calls a question. {@code # ends: TIMEOUT}: every question ends so. {@code # check: SYNTAX_ERROR}: the check fails.
 * {@code # fault: SANDBOX_FAULT}: every execution fails. {@code # gap: SWAP_LIMIT}: the host lacks that protection.
 */
@RestController
public class DoubleExecutor implements ExecutorApi {
    private static final Pattern PLACE = Pattern.compile("(\\d+)/(\\d+)$");

    private final QuestionResults results;
    private final ModelCalls calls;
    private final Map<String, Work> works = new ConcurrentHashMap<>();
    /** Every question that was computed, as harness/item/repeat. */
    final Queue<String> computed = new ConcurrentLinkedQueue<>();

    private volatile Predicate<String> gate = id -> false;
    private volatile CountDownLatch reached = new CountDownLatch(1);
    private volatile CountDownLatch open = new CountDownLatch(0);
    private volatile @Nullable PlatformException outage;
    private volatile Predicate<String> away = id -> false;
    private volatile SandboxOffer offer = new SandboxOffer(List.of(), List.of(), 100);
    /** Kits of executions, in order. */
    final Queue<SandboxKit> kits = new ConcurrentLinkedQueue<>();

    /** Kits of checks, in order. */
    final Queue<SandboxKit> checkedKits = new ConcurrentLinkedQueue<>();

    private final AtomicInteger refusals = new AtomicInteger();

    DoubleExecutor(QuestionResults results, ModelCalls calls) {
        this.results = results;
        this.calls = calls;
    }

    private static final class Work {
        volatile ExecutionStatus.State state = ExecutionStatus.State.RUNNING;
        volatile boolean stop;
        volatile boolean crashed;
        volatile @Nullable OutcomeCode failure;
        int cached;
        final Map<String, QuestionResult> done = new LinkedHashMap<>();
        final CountDownLatch ended = new CountDownLatch(1);
    }

    /**
     * Holds executions whose "id#number of committed questions" fits, after the call and before the commit; and checks, where
     * "check " with the source fits.
     */
    void hold(Predicate<String> place) {
        reached = new CountDownLatch(1);
        open = new CountDownLatch(1);
        gate = place;
    }

    /** Waits until an execution is held. */
    void awaitHeld() throws InterruptedException {
        if (!reached.await(60, TimeUnit.SECONDS)) {
            throw new AssertionError("no execution came to the gate");
        }
    }

    /** Lets held executions go on. */
    void release() {
        gate = id -> false;
        open.countDown();
    }

    /** Loses all running executions with their uncommitted questions, as a killed executor does. */
    void crash() {
        works.values().forEach(work -> {
            work.crashed = true;
            work.stop = true;
        });
        works.clear();
        release();
    }

    /** Every call fails so, until null. */
    void outage(@Nullable PlatformException failure) {
        outage = failure;
    }

    /** The solver is away for questions of executions whose "id#number of committed questions" fits. */
    void solverAway(Predicate<String> place) {
        away = place;
    }

    /** So many calls find the queue full. */
    void full(int times) {
        refusals.set(times);
    }

    @Override
    public ExecutionStatus execute(ExecutionRequest request, int waitS) {
        failIfOut();
        if (request.kit() != null) {
            kits.add(request.kit());
        }
        Work work = works.compute(request.id(), (id, known) -> {
            // As the real one: only what failed or ran out of budget may be begun again under its id.
            if (known != null
                    && known.state != ExecutionStatus.State.FAILED
                    && known.state != ExecutionStatus.State.BUDGET) {
                return known;
            }
            Work begun = new Work();
            Thread.ofVirtual().start(() -> run(request, begun));
            return begun;
        });
        try {
            work.ended.await(Math.max(waitS, 1) * 1000L, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        List<QuestionResult> inOrder = new ArrayList<>();
        synchronized (work) {
            request.items().forEach(item -> {
                QuestionResult result = work.done.get(item.hash());
                if (result != null) {
                    inOrder.add(result);
                }
            });
        }
        String gap = comment(request.source(), "gap");
        return new ExecutionStatus(
                request.id(),
                work.state,
                inOrder,
                work.cached,
                work.failure,
                null,
                gap == null ? List.of() : List.of(gap));
    }

    private void run(ExecutionRequest request, Work work) {
        try {
            work.state = all(request, work);
        } catch (RuntimeException e) {
            work.failure = OutcomeCode.SANDBOX_FAULT;
            work.state = ExecutionStatus.State.FAILED;
        } finally {
            work.ended.countDown();
        }
    }

    private ExecutionStatus.State all(ExecutionRequest request, Work work) {
        String fault = comment(request.source(), "fault");
        if (fault != null) {
            work.failure = OutcomeCode.valueOf(fault);
            return ExecutionStatus.State.FAILED;
        }
        for (Item item : request.items()) {
            if (work.stop) {
                return ExecutionStatus.State.CANCELLED;
            }
            ResultKey key = new ResultKey(
                    Hashes.harness(request.source()),
                    item.hash(),
                    request.repeat(),
                    request.solverHash(),
                    Hashes.json(request.scorer()));
            QuestionResult result = results.find(key).orElse(null);
            if (result != null) {
                results.use(
                        request.runId(),
                        key.harnessHash(),
                        request.repeat(),
                        request.solverHash(),
                        key.scorerHash(),
                        List.of(item.hash()));
                work.cached++;
            } else {
                result = compute(request, work, item, key);
                if (result == null) {
                    if (work.failure != null) {
                        return ExecutionStatus.State.FAILED;
                    }
                    return work.stop ? ExecutionStatus.State.CANCELLED : ExecutionStatus.State.BUDGET;
                }
            }
            synchronized (work) {
                work.done.put(item.hash(), result);
            }
        }
        return ExecutionStatus.State.DONE;
    }

    private @Nullable QuestionResult compute(ExecutionRequest request, Work work, Item item, ResultKey key) {
        if (away.test(request.id() + "#" + work.done.size())) {
            work.failure = OutcomeCode.SOLVER_UNAVAILABLE;
            return null;
        }
        UUID attempt = UUID.randomUUID();
        String perQuestion = comment(request.source(), "calls");
        int count = perQuestion == null ? 1 : Integer.parseInt(perQuestion);
        for (int call = 0; call < count; call++) {
            UUID id = UUID.randomUUID();
            if (!calls.begin(id, request.runId(), attempt, key)) {
                return null;
            }
            if (gate.test(request.id() + "#" + work.done.size())) {
                reached.countDown();
                await();
            }
            if (work.crashed) {
                return null;
            }
            calls.end(id, true, 10, 5, 1);
        }
        QuestionResult result = judge(request.source(), item, request.repeat(), count);
        computed.add(key.harnessHash() + "/" + key.itemHash() + "/" + key.repeat());
        results.commit(key, request.runId(), attempt, result);
        return result;
    }

    private void await() {
        try {
            open.await(120, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static QuestionResult judge(String source, Item item, int repeat, int calls) {
        Usage usage = new Usage(calls, 10L * calls, 5L * calls, calls);
        String ends = comment(source, "ends");
        if (ends != null) {
            QuestionCode code = QuestionCode.valueOf(ends);
            HarnessError error = code == QuestionCode.ERROR ? new HarnessError("ValueError", "bad", List.of()) : null;
            return new QuestionResult(
                    item.hash(), repeat, code, 0, false, null, error, QuestionResult.Trace.EMPTY, usage);
        }
        String level = comment(source, "level");
        Matcher place = PLACE.matcher(item.question());
        if (!place.find()) {
            throw new IllegalArgumentException("a question of these tests ends with k/n: " + item.question());
        }
        boolean right = !place.group(1).equals(comment(source, "wrong"))
                && Integer.parseInt(place.group(1))
                        < Double.parseDouble(level == null ? "0" : level) * Integer.parseInt(place.group(2));
        String answer = right ? item.answers().getFirst() : "something else";
        return new QuestionResult(
                item.hash(),
                repeat,
                QuestionCode.OK,
                right ? 1 : 0,
                right,
                answer,
                null,
                QuestionResult.Trace.EMPTY,
                usage);
    }

    private static @Nullable String comment(String source, String name) {
        Matcher matcher = Pattern.compile("# " + name + ": (\\S+)").matcher(source);
        return matcher.find() ? matcher.group(1) : null;
    }

    @Override
    public SandboxOffer offer() {
        failIfOut();
        return offer;
    }

    /** What is on offer from now on. */
    void offer(SandboxOffer next) {
        offer = next;
    }

    @Override
    public void cancel(String id) {
        Work work = works.get(id);
        if (work != null) {
            work.stop = true;
        }
    }

    @Override
    public CheckResult check(CheckRequest request) {
        if (gate.test("check " + request.source())) {
            reached.countDown();
            await();
        }
        failIfOut();
        if (request.kit() != null) {
            checkedKits.add(request.kit());
        }
        String code = comment(request.source(), "check");
        if (code != null) {
            return new CheckResult(OutcomeCode.valueOf(code), "line 2 is wrong", 2);
        }
        return request.source().contains("def run(")
                ? CheckResult.PASSED
                : new CheckResult(OutcomeCode.MISSING_ENTRY_POINT, "there is no run(question, env)", null);
    }

    @Override
    public GenerateResponse generate(GenerateRequest request) {
        failIfOut();
        if (request.config().containsKey("broken")) {
            throw new PlatformException(ErrorCode.INVALID_FIELD, "the family does not know the option broken");
        }
        List<Item> items = new ArrayList<>();
        for (int i = request.start(); i < request.start() + request.count(); i++) {
            String question = request.family() + " " + request.seed() + " question " + i + "/" + request.count();
            items.add(new Item(
                    Hashes.item(question), question, List.of("gold " + i), new Item.Origin(request.seed(), i)));
        }
        return new GenerateResponse(items);
    }

    private void failIfOut() {
        PlatformException failure = outage;
        if (failure != null) {
            throw failure;
        }
        if (refusals.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
            throw new PlatformException(ErrorCode.QUEUE_FULL, "the queue is full");
        }
    }

    /** Whether an id is that of a held-out execution. */
    static boolean heldOut(String id) {
        return id.contains("/" + Split.HELD_OUT.json() + "/");
    }
}
