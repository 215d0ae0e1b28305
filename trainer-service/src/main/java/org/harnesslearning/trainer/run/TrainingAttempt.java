package org.harnesslearning.trainer.run;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.harnesslearning.contracts.error.ErrorType;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.store.run.RunState;
import org.harnesslearning.store.run.Wanted;
import org.harnesslearning.store.training.CheckpointStore;
import org.harnesslearning.store.training.TrainingMetric;
import org.harnesslearning.store.training.TrainingRunRow;
import org.harnesslearning.trainer.TrainerProperties;
import org.harnesslearning.trainer.decoder.LoraFiles;
import org.harnesslearning.trainer.registry.ModelRegistry;
import org.harnesslearning.trainer.registry.ModelVersion;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.dao.DataAccessException;
import org.springframework.transaction.TransactionException;

/**
 * One worker's time with a run: from its newest intact checkpoint, step by step, each committed with its metrics, to the
 * goal, the budget's end or a stop.
 */
final class TrainingAttempt implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(TrainingAttempt.class);
    private static final long LOOK_EVERY_NANOS = 250_000_000;

    /** Why the attempt has to end. */
    enum Stop {
        NONE,
        PAUSE,
        CANCEL,
        DRAIN,
        GONE
    }

    /** No checkpoint of the run can be used any more. */
    static final class NoCheckpointException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        NoCheckpointException(String message) {
            super(message, null, false, false);
        }
    }

    private final TrainingServices services;
    private final TrainerProperties properties;
    private final TrainingMetrics metrics;
    private final ModelRegistry registry;
    private final TrainingRunRow run;
    private final RunSettings settings;
    private final BooleanSupplier draining;
    private final Path folder;
    private final StepWatch watch;
    private final AtomicLong looked = new AtomicLong(System.nanoTime() - LOOK_EVERY_NANOS);

    private volatile Stop stop = Stop.NONE;
    /** Whether the work still is what it was after the last step, while its next one waits. */
    private volatile boolean waiting;

    private long step;
    private long activeMs;
    private long saved = -1;

    TrainingAttempt(
            TrainingServices services,
            TrainerProperties properties,
            TrainingMetrics metrics,
            ModelRegistry registry,
            TrainingRunRow run,
            RunSettings settings,
            BooleanSupplier draining)
            throws IOException {
        this.services = services;
        this.properties = properties;
        this.metrics = metrics;
        this.registry = registry;
        this.run = run;
        this.settings = settings;
        this.draining = draining;
        Path root = properties.folder();
        if (root == null) {
            this.folder = Files.createTempDirectory(run.id());
        } else {
            Files.createDirectories(root);
            this.folder = Files.createTempDirectory(root, run.id());
        }
        this.watch = new StepWatch(run.id(), properties.stallAfter(), this::stalled);
    }

    Stop stop() {
        return stop;
    }

    /** Where the run stands, as the beginning of a sentence. */
    String where() {
        return saved < 0
                ? "the run has no checkpoint yet; "
                : "the run stands at the checkpoint of step " + saved + "; ";
    }

    /**
     * Works to the end of the run.
     *
     * @throws TrainingStopped with {@link #stop} set; a pause has its checkpoint
     */
    void work(TrainingMethod method) {
        Path scratch = directory("work");
        String parent = settings.parent();
        LoraFiles initial = parent == null ? null : registry.files(parent);
        Path checkpoint = properties.checkpoints().get(settings.baseModel());
        if (checkpoint == null) {
            throw new NoCheckpointException("this trainer has no checkpoint of the model " + settings.baseModel());
        }
        TrainingContext context = new TrainingContext(
                run.id(),
                settings.kind(),
                settings.baseModel(),
                checkpoint,
                settings.families(),
                settings.method(),
                settings.budget(),
                parent,
                initial,
                settings.seed(),
                scratch,
                new Desk(),
                services.clock());
        metrics.begin(run.id(), watch);
        watch.begin(run.step() + 1);
        try (TrainingWork work = method.open(context)) {
            restore(work);
            watch.end();
            loop(work);
        }
    }

    private void restore(TrainingWork work) {
        List<CheckpointStore.Checkpoint> all = services.checkpoints().all(run.id());
        for (CheckpointStore.Checkpoint checkpoint : all) {
            Path files = directory("restore-" + checkpoint.step());
            try {
                services.checkpoints().read(run.id(), checkpoint, files);
                work.restore(files);
            } catch (CheckpointStore.BrokenCheckpointException e) {
                LOG.error("{}: {}", run.id(), e.getMessage());
                services.tx()
                        .executeWithoutResult(status -> services.runs()
                                .event(
                                        run.id(),
                                        "checkpoint.broken",
                                        Map.of("step", checkpoint.step(), "message", String.valueOf(e.getMessage()))));
                continue;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            } finally {
                delete(files);
            }
            began(checkpoint.step(), checkpoint.activeMs());
            saved = checkpoint.step();
            return;
        }
        if (!all.isEmpty()) {
            throw new NoCheckpointException(
                    "no checkpoint of the run has the bytes that were written: those of the steps "
                            + all.stream()
                                    .map(checkpoint -> Long.toString(checkpoint.step()))
                                    .toList()
                            + " are damaged; restore them in the database and resume, or cancel the run");
        }
        began(0, 0);
    }

    private void began(long from, long ms) {
        step = from;
        activeMs = ms;
        services.tx().executeWithoutResult(status -> {
            TrainingRunRow row = locked();
            if (row.step() > from) {
                LOG.info("{} goes back from step {} to the checkpoint of step {}", run.id(), row.step(), from);
            }
            services.runs().rewind(run.id(), from, ms);
            services.checkpoints().rewind(run.id(), from);
            if (row.startedAt() != null && (row.step() > 0 || from > 0)) {
                services.runs().event(run.id(), "resumed", Map.of("step", from, "lost_steps", row.step() - from));
            }
        });
    }

    private void loop(TrainingWork work) {
        while (true) {
            look(true);
            switch (stop) {
                case NONE -> {}
                case PAUSE, DRAIN -> {
                    checkpoint(work);
                    throw new TrainingStopped(stop == Stop.PAUSE ? "the user wants a pause" : "the process ends");
                }
                case CANCEL -> throw new TrainingStopped("the user cancels it");
                case GONE -> throw new TrainingStopped("it was deleted");
            }
            if (step >= settings.budget().steps()) {
                finish(work, "steps_done");
                return;
            }
            if (activeMs >= settings.budget().wallClockS() * 1000) {
                finish(work, "budget");
                return;
            }
            long start = System.nanoTime();
            Optional<StepReport> report;
            try {
                report = step(work);
            } catch (TrainingStopped e) {
                if (waiting
                        && (stop == Stop.PAUSE || stop == Stop.DRAIN)
                        && !Thread.currentThread().isInterrupted()) {
                    leave(work, millisSince(start));
                }
                throw e;
            } catch (PlatformException e) {
                // What it waits for came to nothing, and that pauses the run.
                if (waiting && e.code().type() == ErrorType.RESOURCES) {
                    leave(work, millisSince(start));
                }
                throw e;
            }
            if (report.isEmpty()) {
                finish(work, "goal_reached");
                return;
            }
            commit(report.get(), millisSince(start));
            if (step % settings.checkpointEvery() == 0) {
                checkpoint(work);
            }
        }
    }

    private Optional<StepReport> step(TrainingWork work) {
        watch.begin(step + 1);
        try {
            return work.step();
        } finally {
            watch.end();
        }
    }

    /**
     * Saves a work whose step is left while it waits, as between two steps.
     *
     * @param ms time since the last step, which is work of the run as well
     */
    private void leave(TrainingWork work, long ms) {
        activeMs += ms;
        checkpoint(work);
        services.tx().executeWithoutResult(status -> {
            held();
            services.runs().active(run.id(), activeMs);
            services.checkpoints().active(run.id(), step, activeMs);
        });
    }

    private static long millisSince(long start) {
        return (System.nanoTime() - start) / 1_000_000;
    }

    private void commit(StepReport report, long ms) {
        if (report.step() != step + 1) {
            throw new IllegalStateException("step " + (step + 1) + " is due and the method reports " + report.step());
        }
        TrainingMetric metric = new TrainingMetric(
                report.step(),
                report.metrics(),
                report.counts(),
                ms,
                services.clock().instant());
        services.tx().executeWithoutResult(status -> {
            held();
            services.runs().step(run.id(), metric);
            Map<String, Object> event = new LinkedHashMap<>();
            event.put("step", report.step());
            event.put("metrics", report.metrics());
            event.put("counts", report.counts());
            event.put(
                    "progress",
                    Map.of(
                            "done", report.step(),
                            "planned", settings.budget().steps(),
                            "unit", "steps"));
            services.runs().event(run.id(), "step", event);
        });
        step = report.step();
        activeMs += ms;
        metrics.step(run.id(), report);
    }

    private void checkpoint(TrainingWork work) {
        if (saved == step) {
            return;
        }
        Path files = directory("save-" + step);
        try {
            work.save(files);
            services.tx().executeWithoutResult(status -> {
                held();
                services.checkpoints().save(run.id(), step, activeMs, files);
                services.checkpoints().prune(run.id(), properties.keepCheckpoints());
                services.runs().event(run.id(), "checkpoint", Map.of("step", step));
            });
        } catch (IOException e) {
            throw new UncheckedIOException("the checkpoint of step " + step + ": " + e.getMessage(), e);
        } finally {
            delete(files);
        }
        saved = step;
    }

    private void finish(TrainingWork work, String reason) {
        if (step == 0) {
            // Nothing was trained, so there is no version: a supervised run that only gathers its corpus.
            end(services, metrics, run.id(), RunState.SUCCEEDED, reason, null, null);
            return;
        }
        checkpoint(work);
        ModelVersion version = registry.publish(
                work.adapter(),
                settings.baseModel(),
                work.baseHash(),
                settings.kind().json(),
                settings.parent(),
                run.id(),
                step);
        end(services, metrics, run.id(), RunState.SUCCEEDED, reason, null, CheckpointVersions.result(version, step));
    }

    /** Ends a run and tells of it. */
    static void end(
            TrainingServices services,
            TrainingMetrics metrics,
            String id,
            RunState state,
            String reason,
            @Nullable String message,
            @Nullable Object result) {
        boolean ended = Boolean.TRUE.equals(services.tx().execute(status -> {
            TrainingRunRow row = services.runs().lock(id).orElse(null);
            if (row == null || row.state().terminal()) {
                return false;
            }
            services.runs().finish(id, state, reason, message, result);
            Map<String, Object> event = new LinkedHashMap<>();
            event.put("state", state);
            event.put("stop_reason", reason);
            if (message != null) {
                event.put("message", message);
            }
            if (result != null) {
                event.put("result", result);
            }
            services.runs().event(id, TrainingServices.FINISHED, event);
            // What a run that did not come to its end has saved can still be published, until the run is deleted.
            if (state == RunState.SUCCEEDED) {
                services.checkpoints().prune(id, 0);
            } else if (state == RunState.CANCELLED) {
                services.checkpoints().prune(id, 1);
            }
            return true;
        }));
        if (ended) {
            metrics.ended(state.json());
        }
    }

    /**
     * The run, locked, if no other worker has gone on with it: one may have, when this one's lock went with a connection to
     * the store. What both did since is done once, by whichever commits first.
     */
    private void held() {
        long committed = locked().step();
        if (committed != step) {
            throw new TrainingStopped(
                    "another worker has the run: it stands at step " + committed + ", here at " + step);
        }
    }

    private TrainingRunRow locked() {
        return services.runs().lock(run.id()).orElseThrow(() -> {
            stop = Stop.GONE;
            return new TrainingStopped("it was deleted");
        });
    }

    /** Looks whether the attempt has to end; not more often than needed, unless {@code now}. */
    private void look(boolean now) {
        long last = looked.get();
        long time = System.nanoTime();
        if (stop != Stop.NONE || (!now && (time - last < LOOK_EVERY_NANOS || !looked.compareAndSet(last, time)))) {
            return;
        }
        TrainingRunRow row = services.runs().find(run.id()).orElse(null);
        if (row == null) {
            stop = Stop.GONE;
        } else if (row.wanted() == Wanted.CANCEL) {
            stop = Stop.CANCEL;
        } else if (draining.getAsBoolean()) {
            stop = Stop.DRAIN;
        } else if (row.wanted() == Wanted.PAUSE && (now || waiting)) {
            stop = Stop.PAUSE;
        }
    }

    private void stalled(StepWatch.Stall stall) {
        LOG.warn("{}: {}", run.id(), stall.sentence());
        try {
            services.tx().executeWithoutResult(status -> {
                if (services.runs().lock(run.id()).isPresent()) {
                    services.runs().message(run.id(), stall.sentence());
                    Map<String, Object> event = new LinkedHashMap<>();
                    event.put("step", stall.step());
                    event.put("seconds", stall.seconds());
                    event.put("pending", stall.pending().isEmpty() ? null : stall.pending());
                    event.put("message", stall.sentence());
                    services.runs().event(run.id(), "stalled", event);
                }
            });
        } catch (DataAccessException | TransactionException e) {
            LOG.warn("{}: the stall can't be stored", run.id(), e);
        }
    }

    private Path directory(String name) {
        try {
            return Files.createDirectories(folder.resolve(name));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void delete(Path path) {
        try {
            Files.walkFileTree(path, new SimpleFileVisitor<>() {
                @Override
                public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                    Files.delete(file);
                    return FileVisitResult.CONTINUE;
                }

                @Override
                public FileVisitResult postVisitDirectory(Path directory, @Nullable IOException failure)
                        throws IOException {
                    Files.delete(directory);
                    return FileVisitResult.CONTINUE;
                }
            });
        } catch (IOException e) {
            LOG.warn("{} can't be cleared away: {}", path, e.toString());
        }
    }

    @Override
    public void close() {
        watch.close();
        metrics.end(run.id());
        delete(folder);
    }

    private final class Desk implements TrainingContext.Desk {
        @Override
        public void event(String type, Object data) {
            services.tx().executeWithoutResult(status -> {
                locked();
                services.runs().event(run.id(), type, Json.mapper().valueToTree(Objects.requireNonNull(data)));
            });
        }

        @Override
        public void pending(String what) {
            watch.pending(what);
        }

        @Override
        public void check() {
            look(false);
            switch (stop) {
                case NONE -> {}
                case PAUSE -> {
                    if (waiting) {
                        throw new TrainingStopped("the user wants a pause");
                    }
                }
                case CANCEL -> throw new TrainingStopped("the user cancels it");
                case DRAIN -> throw new TrainingStopped("the process ends");
                case GONE -> throw new TrainingStopped("it was deleted");
            }
        }

        @Override
        public <T> T waiting(Supplier<T> wait) {
            waiting = true;
            T result = wait.get();
            // After a stop it stays set: the attempt ends, and what it saves is the work before its step.
            waiting = false;
            return result;
        }
    }
}
