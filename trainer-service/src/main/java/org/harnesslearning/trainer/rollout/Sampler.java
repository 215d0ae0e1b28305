package org.harnesslearning.trainer.rollout;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.store.harness.HarnessStore;
import org.harnesslearning.store.sample.GroupRow;
import org.harnesslearning.store.sample.GroupStore;
import org.harnesslearning.trainer.reward.Rewards;
import org.harnesslearning.trainer.run.TrainingContext;
import org.jspecify.annotations.Nullable;

/**
 * The batches of groups of one training run.
 *
 * <p>Group {@code batch · size + lane + 1} belongs to that batch and lane, whatever happens to others: a resumed run finds
 * its groups by number, goes on with those that are stored, and asks for the rest, of the policy that they were stored with.
 * With several steps a lane's state is the harness that its group of the batch before chose; its questions are new each time.
 */
public final class Sampler implements AutoCloseable {
    private final Plan plan;
    private final Groups groups;
    private final GroupStore store;
    private final HarnessStore harnesses;
    private final ServedPolicy served;
    private final TrainingContext context;
    private final Collector<GroupRow> collector;

    /**
     * What is sampled.
     *
     * @param size groups of a batch
     * @param candidates samples of a group
     * @param laneLength states from a starting harness to the end of its lane; 1: each group stands for itself
     * @param ahead batches that may be sampled before their turn
     */
    public record Plan(
            Curriculum curriculum,
            RolloutSettings rollout,
            Rewards rewards,
            Groups.Selection selection,
            int size,
            int candidates,
            int laneLength,
            int ahead,
            int inFlight,
            int failuresInRow,
            Duration patience) {}

    public Sampler(
            Plan plan,
            Groups groups,
            GroupStore store,
            HarnessStore harnesses,
            ServedPolicy served,
            TrainingContext context) {
        this.plan = plan;
        this.groups = groups;
        this.store = store;
        this.harnesses = harnesses;
        this.served = served;
        this.context = context;
        this.collector = new Collector<>(plan.inFlight(), plan.failuresInRow(), context.desk());
    }

    /**
     * Has a batch sampled, and those that may be sampled ahead begun.
     *
     * @param policy asked for once, when a new group needs it
     * @throws PlatformException of type RESOURCES when too many groups failed in a row; those of this batch are asked for
     *     again at the next call
     */
    public List<GroupRow> batch(long batch, Supplier<ServedPolicy.Policy> policy) {
        Supplier<ServedPolicy.Policy> once = once(policy);
        for (long ahead = batch; ahead <= batch + plan.ahead(); ahead++) {
            if (!order(ahead, once)) {
                break;
            }
        }
        try {
            Collector.Ended<GroupRow> ended = collector.await(numbers(batch));
            context.desk()
                    .event(
                            "batch.sampled",
                            Map.of(
                                    "batch",
                                    batch,
                                    "groups",
                                    ended.sampled().size(),
                                    "failed",
                                    ended.failures().size()));
        } catch (PlatformException e) {
            store.renew(context.run(), batch);
            throw e;
        }
        return store.ofBatch(context.run(), batch);
    }

    private List<Long> numbers(long batch) {
        List<Long> numbers = new ArrayList<>();
        for (int lane = 0; lane < plan.size(); lane++) {
            numbers.add(number(batch, lane));
        }
        return numbers;
    }

    private long number(long batch, int lane) {
        return batch * plan.size() + lane + 1;
    }

    /** Begins all groups of a batch; false when their states are not known yet. */
    private boolean order(long batch, Supplier<ServedPolicy.Policy> policy) {
        int depth = (int) (batch % plan.laneLength());
        if (depth > 0) {
            List<GroupRow> before = store.ofBatch(context.run(), batch - 1);
            if (before.size() < plan.size()
                    || before.stream().anyMatch(group -> group.state() == GroupRow.State.ORDERED)) {
                return false;
            }
        }
        for (int lane = 0; lane < plan.size(); lane++) {
            long number = number(batch, lane);
            GroupRow group = store.find(context.run(), number).orElse(null);
            GroupRow known = group == null ? store.order(row(batch, lane, depth, policy.get())) : group;
            if (known.state() == GroupRow.State.ORDERED && known.run() == null) {
                served.again(new ServedPolicy.Policy(known.model(), known.modelVersion(), known.policyStep()));
            }
            collector.begin(
                    number,
                    () -> groups.sample(known, plan.rewards(), plan.selection(), plan.patience(), context.desk()));
        }
        return true;
    }

    private GroupRow row(long batch, int lane, int depth, ServedPolicy.Policy policy) {
        long number = number(batch, lane);
        String family;
        String source;
        if (depth == 0) {
            Curriculum.Start start = plan.curriculum().start(batch / plan.laneLength() * plan.size() + lane);
            family = start.family();
            source = start.harness();
        } else {
            GroupRow before = store.find(context.run(), number - plan.size()).orElseThrow();
            family = before.family();
            source = harnesses.source(chosen(before.chosen(), before.harness()));
        }
        long itemSeed = plan.curriculum().itemSeed(number);
        long samplingSeed = plan.curriculum().samplingSeed(number);
        return new GroupRow(
                context.run(),
                number,
                batch,
                lane,
                depth,
                family,
                itemSeed,
                samplingSeed,
                Hashes.harness(source),
                policy.model(),
                policy.version(),
                policy.step(),
                plan.rewards().mode().json(),
                Requests.revision(
                        plan.rollout(),
                        context.baseModel(),
                        family,
                        itemSeed,
                        source,
                        policy.model(),
                        "none",
                        plan.candidates(),
                        samplingSeed,
                        context.run()),
                GroupRow.State.ORDERED,
                null,
                0,
                null,
                null,
                null);
    }

    private static String chosen(@Nullable String chosen, String parent) {
        return chosen == null ? parent : chosen;
    }

    private static <T> Supplier<T> once(Supplier<T> supplier) {
        List<T> held = new ArrayList<>();
        return () -> {
            if (held.isEmpty()) {
                held.add(supplier.get());
            }
            return held.getFirst();
        };
    }

    /** Whether no group is under way. */
    public boolean idle() {
        return collector.idle();
    }

    @Override
    public void close() {
        collector.close();
    }
}
