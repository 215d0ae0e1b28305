package org.harnesslearning.llm.engine;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntConsumer;
import org.harnesslearning.llm.AdapterCard;
import org.harnesslearning.llm.AdapterException;
import org.harnesslearning.llm.ContextLengthException;
import org.harnesslearning.llm.EngineOptions;
import org.harnesslearning.llm.EngineStatistics;
import org.harnesslearning.llm.FinishReason;
import org.harnesslearning.llm.Generation;
import org.harnesslearning.llm.GenerationException;
import org.harnesslearning.llm.GenerationRequest;
import org.harnesslearning.llm.LanguageModel;
import org.harnesslearning.llm.ModelCard;
import org.harnesslearning.llm.ModelClosedException;
import org.harnesslearning.llm.QueueFullException;
import org.harnesslearning.llm.checkpoint.LoraAdapter;
import org.harnesslearning.llm.sampling.Candidates;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Continuous batching over a {@link Decoder}.
 *
 * <p>One platform thread owns the decoder and does, turn by turn: drop what was cancelled; admit waiting requests in
 * order while rows are free; process one chunk of the current prompt; decode one token of every running sample. The
 * other samples of a request start from a copy of the first one's row and of its prompt's logits.
 */
final class Engine implements LanguageModel {

    private static final Logger LOG = LoggerFactory.getLogger(Engine.class);

    private final Decoder decoder;
    private final ModelCard card;
    private final EngineOptions options;
    private final IntConsumer turns;
    private final Set<Integer> endTokens;
    private final Rows rows;
    private final Adapters adapters;
    private final Thread thread;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition work = lock.newCondition();
    private final Deque<Job> waiting = new ArrayDeque<>(); // guarded by lock
    private final Deque<Errand> errands = new ArrayDeque<>(); // guarded by lock
    private boolean closed; // guarded by lock

    private final AtomicLong promptTokens = new AtomicLong();
    private final AtomicLong cachedPromptTokens = new AtomicLong();
    private final AtomicLong generationTokens = new AtomicLong();
    private final AtomicLong prefillSteps = new AtomicLong();
    private final AtomicLong decodeSteps = new AtomicLong();
    private final AtomicLong failedSteps = new AtomicLong();
    private volatile int runningNow;
    private volatile long cellsNow;
    private volatile boolean resting = true;
    private volatile long turnBegan = System.nanoTime();

    // Engine thread only.
    private final List<Sample> running = new ArrayList<>();
    private @Nullable Job current;
    private @Nullable Row promptRow;
    private @Nullable Candidates promptCandidates;
    private int startedSamples;

    /** Something that only the engine thread may do, between two steps. */
    private record Errand(Runnable action, CompletableFuture<Void> done) {}

    Engine(Decoder decoder, ModelCard card, EngineOptions options) {
        this(decoder, card, options, tokens -> {});
    }

    /**
     * An engine.
     *
     * @param turns sees the tokens of each turn that took a model step: those of the prompt and one a running sample
     */
    Engine(Decoder decoder, ModelCard card, EngineOptions options, IntConsumer turns) {
        this.decoder = decoder;
        this.turns = turns;
        this.card = card;
        this.options = options;
        this.endTokens = card.endTokens();
        this.rows = new Rows(decoder, options.reusePrefixes());
        this.adapters = new Adapters(options.maxAdapters());
        this.thread = Thread.ofPlatform()
                .name("llm-engine-" + card.name())
                .daemon(true)
                .start(this::run);
    }

    @Override
    public ModelCard card() {
        return card;
    }

    @Override
    public EngineOptions options() {
        return options;
    }

    @Override
    public Generation submit(GenerationRequest request) {
        long length = (long) request.promptTokens().length + request.maxTokens();
        if (length > options.maxSequence()) {
            throw new ContextLengthException("prompt (" + request.promptTokens().length + " tokens) and completion ("
                    + request.maxTokens() + ") are longer than " + options.maxSequence() + " tokens");
        }
        for (int token : request.promptTokens()) {
            if (token < 0 || token >= card.vocabularySize()) {
                throw new IllegalArgumentException(
                        "token " + token + " is outside the vocabulary of " + card.vocabularySize());
            }
        }
        Job job;
        lock.lock();
        try {
            if (closed) {
                throw new IllegalStateException("the model is closed");
            }
            if (waiting.size() >= options.maxQueue()) {
                throw new QueueFullException(waiting.size() + " requests are waiting");
            }
            job = newJob(request);
            waiting.addLast(job);
            work.signal();
        } finally {
            lock.unlock();
        }
        promptTokens.addAndGet(request.promptTokens().length);
        return job;
    }

    private Job newJob(GenerationRequest request) {
        String name = request.adapter();
        if (name == null) {
            return new Job(request, endTokens, card.weightsHash(), null, () -> {}, System.nanoTime());
        }
        Adapters.Resident adapter = adapters.acquire(name);
        Runnable ended = () -> adapters.release(adapter, this::clearAdapter);
        return new Job(request, endTokens, card.weightsHash(), adapter, ended, System.nanoTime());
    }

    @Override
    public AdapterCard loadAdapter(String name, LoraAdapter adapter, boolean replace) {
        if (options.maxAdapters() == 0) {
            throw new AdapterException("this model was loaded without room for adapters (maxAdapters is 0)");
        }
        adapter.checkRank(options.maxAdapterRank());
        adapter.checkBase(card.weightsHash());
        decoder.checkAdapter(adapter);
        Adapters.Resident resident = adapters.reserve(name, adapter, replace);
        if (resident != null) {
            try {
                await(onEngineThread(() -> write(resident.slot(), adapter)));
            } catch (RuntimeException e) {
                adapters.failed(resident);
                throw e;
            }
            adapters.loaded(resident, this::clearAdapter);
        }
        return new AdapterCard(name, adapter.hash(), adapter.rank(), 0);
    }

    private void write(int slot, LoraAdapter adapter) {
        try {
            decoder.writeAdapter(slot, adapter);
        } catch (RuntimeException e) {
            decoder.clearAdapter(slot); // of what was written
            throw e;
        }
    }

    @Override
    public void unloadAdapter(String name) {
        await(adapters.leave(name, this::clearAdapter));
    }

    private void clearAdapter(int slot) {
        onEngineThread(() -> {
                    decoder.clearAdapter(slot);
                    adapters.cleared(slot);
                })
                .exceptionally(e -> {
                    LOG.warn("adapter slot {} was not emptied: {}", slot, e.getMessage());
                    return null;
                });
    }

    @Override
    public List<AdapterCard> adapters() {
        return adapters.cards();
    }

    private CompletableFuture<Void> onEngineThread(Runnable action) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        lock.lock();
        try {
            if (closed) {
                done.completeExceptionally(new ModelClosedException("the model is closed"));
            } else {
                errands.addLast(new Errand(action, done));
                work.signal();
            }
        } finally {
            lock.unlock();
        }
        return done;
    }

    private static void await(CompletableFuture<Void> done) {
        try {
            done.join();
        } catch (CompletionException e) {
            throw e.getCause() instanceof RuntimeException cause ? cause : e;
        }
    }

    @Override
    public EngineStatistics statistics() {
        int queued;
        lock.lock();
        try {
            queued = waiting.size();
        } finally {
            lock.unlock();
        }
        return new EngineStatistics(
                runningNow,
                queued,
                options.slots(),
                (double) cellsNow / ((long) options.slots() * options.maxSequence()),
                promptTokens.get(),
                cachedPromptTokens.get(),
                generationTokens.get(),
                prefillSteps.get(),
                decodeSteps.get(),
                failedSteps.get(),
                thread.isAlive(),
                resting ? Duration.ZERO : Duration.ofNanos(System.nanoTime() - turnBegan));
    }

    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            work.signal();
        } finally {
            lock.unlock();
        }
        if (Thread.currentThread() == thread) {
            return; // from a listener: the thread ends after this turn
        }
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void run() {
        try {
            prepare();
            while (awaitWork()) {
                try {
                    turn();
                } catch (RuntimeException | Error e) {
                    LOG.error("a turn of the engine of {} failed", card.name(), e);
                    failEverything(e);
                }
            }
        } finally {
            shutDown();
        }
    }

    /** What fails here is tried again by the first request that needs it, and fails that one with its cause. */
    private void prepare() {
        try {
            decoder.prepare();
        } catch (RuntimeException | Error e) {
            LOG.error("the engine of {} could not be prepared", card.name(), e);
        }
    }

    /** @return false once the model is closed */
    private boolean awaitWork() {
        lock.lock();
        try {
            while (!closed && waiting.isEmpty() && errands.isEmpty() && current == null && running.isEmpty()) {
                resting = true;
                work.awaitUninterruptibly();
            }
            turnBegan = System.nanoTime();
            resting = false;
            return !closed;
        } finally {
            lock.unlock();
        }
    }

    private void turn() {
        runErrands();
        dropCancelled();
        admit();
        int tokens = processPrompt() + decode();
        if (tokens > 0) {
            turns.accept(tokens);
        }
        runningNow = running.size();
        cellsNow = running.stream().mapToLong(sample -> sample.row().length()).sum();
    }

    private void runErrands() {
        for (Errand errand = nextErrand(); errand != null; errand = nextErrand()) {
            try {
                errand.action().run();
                errand.done().complete(null);
            } catch (RuntimeException | Error e) {
                errand.done().completeExceptionally(e);
            }
        }
    }

    private @Nullable Errand nextErrand() {
        lock.lock();
        try {
            return errands.pollFirst();
        } finally {
            lock.unlock();
        }
    }

    private void dropCancelled() {
        List<Job> dropped = new ArrayList<>();
        lock.lock();
        try {
            waiting.removeIf(job -> job.cancelled() && dropped.add(job));
        } finally {
            lock.unlock();
        }
        for (Job job : dropped) {
            job.endAll(FinishReason.CANCELLED);
            job.completeIfDone(System.nanoTime());
        }
        if (current != null && current.cancelled()) {
            Job job = current;
            leavePrompt();
            job.endAll(FinishReason.CANCELLED);
            job.completeIfDone(System.nanoTime());
        }
        for (Sample sample : List.copyOf(running)) {
            if (sample.job().cancelled()) {
                sample.job().endAll(FinishReason.CANCELLED);
                retire(sample);
            }
        }
    }

    private void admit() {
        while (running.size() + (promptRow == null ? 0 : 1) < options.slots() && rows.anyFree()) {
            if (current == null) {
                current = nextWaiting();
                if (current == null) {
                    return;
                }
            }
            if (promptRow != null) {
                return; // its prompt is being processed
            }
            int[] prompt = current.request().promptTokens();
            if (promptCandidates == null) {
                Row row = rows.take(prompt, prompt.length - 1, current.adapterHash());
                promptRow = row;
                if (startedSamples == 0) {
                    current.start(System.nanoTime(), row.length());
                    cachedPromptTokens.addAndGet(row.length());
                }
                return;
            }
            Row copy = rows.takeCopy(prompt, current.adapterHash());
            if (copy == null) {
                promptCandidates = null; // the prompt was overwritten meanwhile: process it again
            } else {
                startSample(current, copy, promptCandidates);
            }
        }
    }

    private @Nullable Job nextWaiting() {
        lock.lock();
        try {
            return waiting.pollFirst();
        } finally {
            lock.unlock();
        }
    }

    /** Processes a chunk of the current prompt and answers its number of tokens. */
    private int processPrompt() {
        Job job = current;
        Row row = promptRow;
        if (job == null || row == null) {
            return 0;
        }
        int[] prompt = job.request().promptTokens();
        int from = row.length();
        int to = Math.min(prompt.length, from + options.chunk());
        Candidates candidates;
        try {
            candidates =
                    decoder.extend(row.index(), from, Arrays.copyOfRange(prompt, from, to), job.shaping(new int[0], 0));
        } catch (RuntimeException | OutOfMemoryError e) {
            failedSteps.incrementAndGet();
            LOG.warn("prompt step failed", e);
            row.truncate(0);
            leavePrompt();
            fail(job, new GenerationException("a model step over the prompt failed: " + e.getMessage(), e));
            return 0;
        }
        prefillSteps.incrementAndGet();
        row.append(prompt, from, to);
        if (to == prompt.length) {
            if (startedSamples == 0) {
                job.prefilled(System.nanoTime());
            }
            promptRow = null;
            promptCandidates = job.request().samples() > 1 ? candidates.detached() : candidates;
            startSample(job, row, promptCandidates);
        }
        return to - from;
    }

    /** Lets the next sample of a job run in a row that holds the prompt. */
    private void startSample(Job job, Row row, Candidates candidates) {
        Sample sample = job.samples().get(startedSamples++);
        sample.start(row);
        running.add(sample);
        if (startedSamples == job.samples().size()) {
            current = null;
            promptCandidates = null;
            startedSamples = 0;
        }
        accept(sample, candidates);
    }

    /** Makes the next token of every running sample and answers their number. */
    private int decode() {
        if (running.isEmpty()) {
            return 0;
        }
        rows.compact(running.stream().map(Sample::row).toList());
        List<Sample> batch = new ArrayList<>(running);
        batch.sort((a, b) -> Integer.compare(a.row().index(), b.row().index()));
        int[] pasts = new int[batch.size()];
        int[] tokens = new int[batch.size()];
        List<Shaping> shapings = new ArrayList<>();
        for (int i = 0; i < pasts.length; i++) {
            pasts[i] = batch.get(i).row().length();
            tokens[i] = batch.get(i).lastToken();
            shapings.add(batch.get(i).shaping());
        }
        List<Candidates> candidates;
        try {
            candidates = decoder.step(pasts, tokens, shapings);
        } catch (RuntimeException | OutOfMemoryError e) {
            failedSteps.incrementAndGet();
            LOG.warn("decode step failed", e);
            for (Sample sample : batch) {
                sample.row().truncate(0);
            }
            for (Sample sample : batch) {
                fail(sample.job(), new GenerationException("a model step failed: " + e.getMessage(), e));
            }
            return 0;
        }
        decodeSteps.incrementAndGet();
        for (int i = 0; i < pasts.length; i++) {
            Sample sample = batch.get(i);
            if (sample.running()) { // not failed together with an earlier sample of its request
                sample.row().append(tokens[i]);
                accept(sample, candidates.get(i));
            }
        }
        return pasts.length;
    }

    private void accept(Sample sample, Candidates candidates) {
        if (!Float.isFinite(candidates.logSum())) {
            failedSteps.incrementAndGet();
            LOG.warn("the logits after {} tokens are not finite", sample.row().length());
            sample.row().truncate(0); // nobody may continue from here
            fail(sample.job(), new GenerationException("the model's logits are not finite numbers"));
            return;
        }
        try {
            int before = sample.count();
            sample.accept(candidates);
            generationTokens.addAndGet(sample.count() - before);
        } catch (RuntimeException e) {
            LOG.warn("a token listener failed", e);
            fail(sample.job(), new GenerationException("the request's token listener failed: " + e, e));
            return;
        }
        if (sample.finished()) {
            retire(sample);
        }
    }

    /** Takes an ended sample out of the batch; its row stays for later prompts. */
    private void retire(Sample sample) {
        if (running.remove(sample)) {
            rows.release(sample.row());
            sample.leave();
        }
        sample.job().completeIfDone(System.nanoTime());
    }

    private void fail(Job job, RuntimeException cause) {
        if (current == job) {
            leavePrompt();
        }
        job.fail(cause);
        for (Sample sample : job.samples()) {
            if (sample.running()) {
                running.remove(sample);
                rows.release(sample.row());
                sample.leave();
            }
        }
    }

    /** After a failure that no request in particular is to blame for: what runs fails, what waits goes on. */
    private void failEverything(Throwable cause) {
        failedSteps.incrementAndGet();
        Set<Job> begun = new LinkedHashSet<>();
        running.forEach(sample -> begun.add(sample.job()));
        if (current != null) {
            begun.add(current);
        }
        for (Job job : begun) {
            fail(job, new GenerationException("the engine failed: " + cause, cause));
        }
        rows.forget();
    }

    /** Gives up the request whose prompt is being processed or whose samples are being started. */
    private void leavePrompt() {
        if (promptRow != null) {
            rows.release(promptRow);
        }
        promptRow = null;
        promptCandidates = null;
        startedSamples = 0;
        current = null;
    }

    private void shutDown() {
        List<Job> unfinished = new ArrayList<>();
        List<Errand> undone = new ArrayList<>();
        lock.lock();
        try {
            closed = true;
            unfinished.addAll(waiting);
            waiting.clear();
            undone.addAll(errands);
            errands.clear();
        } finally {
            lock.unlock();
        }
        if (current != null) {
            unfinished.add(current);
        }
        running.forEach(sample -> unfinished.add(sample.job()));
        for (Job job : unfinished) {
            job.fail(new ModelClosedException("the model was closed"));
        }
        for (Errand errand : undone) {
            errand.done().completeExceptionally(new ModelClosedException("the model was closed"));
        }
        adapters.close();
        running.clear();
        runningNow = 0;
        cellsNow = 0;
        decoder.close();
    }
}
