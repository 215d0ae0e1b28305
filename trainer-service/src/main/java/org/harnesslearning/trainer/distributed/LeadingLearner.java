package org.harnesslearning.trainer.distributed;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.trainer.decoder.LoraFiles;
import org.harnesslearning.trainer.decoder.Sequence;

/** Rank 0: hands out orders, does its own share, and puts the answers together. */
final class LeadingLearner implements Learner {
    private final Rendezvous rendezvous;
    private final Session session;
    private final LocalLearner local;
    private final ProcessGroup group;
    private final int size;
    private boolean closed;

    LeadingLearner(Rendezvous rendezvous, LearnerSettings given) {
        this.rendezvous = rendezvous;
        this.size = rendezvous.place().size();
        SessionPlan plan = SessionPlan.of(given);
        rendezvous.expectAll();
        this.session = Session.begin(rendezvous, plan);
        session.awaitMembers();
        this.group = new NativeGroup(rendezvous, session.groupPrefix(), plan.backend(), false);
        LocalLearner opened = null;
        try {
            opened = new LocalLearner(plan.at(rendezvous.place()), group);
            check(plan.identity(opened.baseHash()));
        } catch (RuntimeException e) {
            if (opened == null) {
                group.close();
            } else {
                opened.close();
            }
            throw e;
        }
        this.local = opened;
    }

    /** Each rank opens its model and says what it has. */
    private void check(List<String> own) {
        for (int rank = 1; rank < size; rank++) {
            List<String> theirs =
                    session.answer(rank, rendezvous.settings().joinTimeout()).identity();
            for (int i = 0; i < own.size(); i += 2) {
                if (!own.get(i + 1).equals(theirs.get(i + 1))) {
                    throw new DistributedException("the ranks differ in their " + own.get(i) + ": rank 0 has "
                            + own.get(i + 1) + ", rank " + rank + " has " + theirs.get(i + 1));
                }
            }
        }
    }

    @Override
    public List<float[]> logprobs(List<Sequence> batch, double temperature) {
        return spread(Order.Act.LOGPROBS, batch, temperature);
    }

    @Override
    public List<float[]> referenceLogprobs(List<Sequence> batch, double temperature) {
        return spread(Order.Act.REFERENCE_LOGPROBS, batch, temperature);
    }

    private List<float[]> spread(Order.Act act, List<Sequence> batch, double temperature) {
        List<List<Integer>> shares = Shares.of(batch, size);
        session.nextOrder();
        for (int rank = 1; rank < size; rank++) {
            session.give(rank, Order.batch(act, part(batch, shares.get(rank)), temperature));
        }
        List<Sequence> own = part(batch, shares.getFirst());
        float[][] results = new float[batch.size()][];
        put(
                results,
                shares.getFirst(),
                act == Order.Act.LOGPROBS
                        ? local.logprobs(own, temperature)
                        : local.referenceLogprobs(own, temperature));
        for (int rank = 1; rank < size; rank++) {
            put(results, shares.get(rank), answer(rank).logprobs());
        }
        return Arrays.asList(results);
    }

    @Override
    public Accumulated accumulate(List<Sequence> batch, double temperature, SharedObjective objective) {
        List<List<Integer>> shares = Shares.of(batch, size);
        session.nextOrder();
        for (int rank = 1; rank < size; rank++) {
            session.give(
                    rank,
                    new Order(
                            Order.Act.ACCUMULATE,
                            part(batch, shares.get(rank)),
                            temperature,
                            0,
                            objective.getClass().getName(),
                            Json.mapper().valueToTree(objective.share(shares.get(rank))),
                            List.of()));
        }
        Accumulated sum =
                local.accumulate(part(batch, shares.getFirst()), temperature, objective.share(shares.getFirst()));
        for (int rank = 1; rank < size; rank++) {
            Answer answer = answer(rank);
            sum = new Accumulated(sum.loss() + answer.loss(), objective.merge(sum.statistics(), answer.statistics()));
        }
        return sum;
    }

    @Override
    public Step step(double learningRate) {
        session.nextOrder();
        everyone(Order.step(learningRate));
        Step step = local.step(learningRate);
        for (int rank = 1; rank < size; rank++) {
            Answer answer = answer(rank);
            if (answer.applied() != step.applied() || answer.gradientNorm() != step.gradientNorm()) {
                throw new DistributedException("the ranks have drifted apart: the gradients' norm is "
                        + step.gradientNorm() + " at rank 0 and " + answer.gradientNorm() + " at rank " + rank);
            }
        }
        return step;
    }

    @Override
    public LoraFiles adapter() {
        return local.adapter();
    }

    @Override
    public void load(LoraFiles files) {
        send(Order.Act.LOAD, List.of(files.config(), files.weights()));
        local.load(files);
        done();
    }

    @Override
    public void save(Path folder) throws IOException {
        // All ranks hold the same adapter and optimiser.
        local.save(folder);
    }

    @Override
    public void restore(Path folder) throws IOException {
        List<byte[]> files = new ArrayList<>();
        List<Path> paths;
        try (Stream<Path> stream = Files.list(folder)) {
            paths = stream.filter(Files::isRegularFile)
                    .sorted(Comparator.comparing(Path::getFileName))
                    .toList();
        }
        for (Path path : paths) {
            files.add(String.valueOf(path.getFileName()).getBytes(java.nio.charset.StandardCharsets.UTF_8));
            files.add(Files.readAllBytes(path));
        }
        send(Order.Act.RESTORE, files);
        local.restore(folder);
        done();
    }

    private void send(Order.Act act, List<byte[]> files) {
        session.nextOrder();
        everyone(Order.files(act, files.stream().map(file -> (long) file.length).toList()));
        Tensors.sendBytes(group, files);
    }

    private void everyone(Order order) {
        for (int rank = 1; rank < size; rank++) {
            session.give(rank, order);
        }
    }

    private void done() {
        for (int rank = 1; rank < size; rank++) {
            answer(rank);
        }
    }

    private Answer answer(int rank) {
        return session.answer(rank, rendezvous.settings().stepTimeout());
    }

    private static List<Sequence> part(List<Sequence> batch, List<Integer> places) {
        return places.stream().map(batch::get).toList();
    }

    private static void put(float[][] results, List<Integer> places, List<float[]> values) {
        for (int i = 0; i < places.size(); i++) {
            results[places.get(i)] = values.get(i);
        }
    }

    @Override
    public String baseHash() {
        return local.baseHash();
    }

    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        try {
            session.nextOrder();
            everyone(Order.of(Order.Act.END));
        } catch (DistributedException e) {
            // They find out by themselves.
        }
        local.close();
    }
}
