package org.harnesslearning.trainer.distributed;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.trainer.decoder.LoraFiles;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A rank other than 0: joins each session of rank 0 and does its orders, until rank 0 is gone. It samples nothing, writes
 * nothing and needs no database.
 */
public final class Worker {
    private static final Logger LOG = LoggerFactory.getLogger(Worker.class);
    private static final Duration LOOK = Duration.ofSeconds(2);
    private static final String OBJECTIVES = "org.harnesslearning.trainer.";

    private final RankEnvironment place;
    private final DistributedSettings settings;

    /** A worker that has not begun. */
    public Worker(RankEnvironment place, DistributedSettings settings) {
        this.place = place;
        this.settings = settings;
    }

    /**
     * Works until rank 0 needs it no longer.
     *
     * @throws DistributedException when rank 0 is lost: this process is to be started again
     */
    public void run() {
        try (Rendezvous rendezvous = Rendezvous.open(place, settings)) {
            LOG.info(
                    "rank {} of {} works for {}:{}",
                    place.rank(),
                    place.size(),
                    place.masterAddress(),
                    place.masterPort());
            long last = 0;
            while (!Thread.currentThread().isInterrupted() && !Session.dismissed(rendezvous)) {
                Session session = Session.next(rendezvous, last, LOOK);
                if (session != null) {
                    last = session.number();
                    serve(rendezvous, session);
                }
            }
        }
    }

    private void serve(Rendezvous rendezvous, Session session) {
        rendezvous.expectAll();
        SessionPlan plan = session.plan();
        LOG.info("session {}: {}", session.number(), plan.checkpoint());
        try {
            ProcessGroup group = new NativeGroup(rendezvous, session.groupPrefix(), plan.backend(), false);
            try (LocalLearner learner = open(plan, group)) {
                session.give(Answer.identity(plan.identity(learner.baseHash())));
                while (true) {
                    Order order = session.take();
                    if (order.act() == Order.Act.END) {
                        LOG.info("session {} has ended", session.number());
                        return;
                    }
                    session.give(obey(learner, group, order));
                }
            }
        } catch (DistributedException e) {
            LOG.warn("session {} is over: {}", session.number(), e.getMessage());
        } catch (RuntimeException e) {
            LOG.error("session {} failed", session.number(), e);
            session.give(Answer.fault(Natives.firstLine(e)));
        }
    }

    private LocalLearner open(SessionPlan plan, ProcessGroup group) {
        try {
            return new LocalLearner(plan.at(place), group);
        } catch (RuntimeException e) {
            group.close();
            throw e;
        }
    }

    private static Answer obey(LocalLearner learner, ProcessGroup group, Order order) {
        return switch (order.act()) {
            case LOGPROBS -> Answer.logprobs(learner.logprobs(order.batch(), order.temperature()));
            case REFERENCE_LOGPROBS -> Answer.logprobs(learner.referenceLogprobs(order.batch(), order.temperature()));
            case ACCUMULATE ->
                Answer.accumulated(learner.accumulate(order.batch(), order.temperature(), objective(order)));
            case STEP -> Answer.step(learner.step(order.learningRate()));
            case LOAD -> {
                List<byte[]> files = Tensors.receiveBytes(group, order.sizes());
                learner.load(new LoraFiles(files.get(0), files.get(1)));
                yield Answer.done();
            }
            case RESTORE -> {
                restore(learner, Tensors.receiveBytes(group, order.sizes()));
                yield Answer.done();
            }
            case END -> throw new IllegalStateException("an end is no order");
        };
    }

    /** Only classes of the trainer are made from what came over the network. */
    private static SharedObjective objective(Order order) {
        String name = String.valueOf(order.objectiveType());
        if (!name.startsWith(OBJECTIVES)) {
            throw new IllegalArgumentException("no objective: " + name);
        }
        try {
            Class<? extends SharedObjective> type =
                    Class.forName(name, false, Worker.class.getClassLoader()).asSubclass(SharedObjective.class);
            return Json.mapper().treeToValue(order.objective(), type);
        } catch (ClassNotFoundException e) {
            throw new IllegalArgumentException("no objective: " + name, e);
        }
    }

    private static void restore(LocalLearner learner, List<byte[]> files) {
        try {
            Path folder = Files.createTempDirectory("harness-rank");
            try {
                for (int i = 0; i < files.size(); i += 2) {
                    Path name = Path.of(new String(files.get(i), StandardCharsets.UTF_8))
                            .getFileName();
                    Files.write(folder.resolve(name), files.get(i + 1));
                }
                learner.restore(folder);
            } finally {
                try (Stream<Path> paths = Files.walk(folder)) {
                    for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
                        Files.delete(path);
                    }
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
