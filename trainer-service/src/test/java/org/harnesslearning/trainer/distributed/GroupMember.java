package org.harnesslearning.trainer.distributed;

import java.time.Duration;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** A rank that answers sums of tensors until it is killed. */
@SuppressWarnings("try") // scopes free what is made inside
final class GroupMember {
    /** Patience as short as a busy machine allows. */
    static final DistributedSettings SETTINGS = new DistributedSettings(
            Duration.ofMinutes(2), Duration.ofMinutes(1), Duration.ofMillis(100), Duration.ofSeconds(3), 1, null);

    private GroupMember() {}

    public static void main(String[] arguments) {
        RankEnvironment place = RankEnvironment.of(System.getenv());
        try (ProcessGroup group = ProcessGroup.join(place, ProcessGroupBackend.GLOO, SETTINGS)) {
            System.out.println("joined " + group.rank() + " of " + group.size());
            exchange(group);
            System.out.println("exchanged");
            while (true) {
                try (PointerScope scope = new PointerScope()) {
                    group.sum(List.of(torch.ones(4)));
                }
            }
        } catch (DistributedException e) {
            System.out.println("ended: " + e.getMessage());
            System.exit(9);
        }
    }

    /** The same calls at every rank; the result is that of all ranks together. */
    static float[][] exchange(ProcessGroup group) {
        try (PointerScope scope = new PointerScope()) {
            // More than one bucket, several types and shapes.
            Tensor large = torch.full(new long[] {300, 1000}, new org.bytedeco.pytorch.Scalar(group.rank() + 1f));
            Tensor small = Tensor.create(new float[] {group.rank(), 10 * group.rank(), 0.5f});
            Tensor numbers = Tensor.create(new long[] {1L << 40, group.rank()});
            Tensor transposed =
                    Tensor.create(new float[] {1, 2, 3, 4, 5, 6}).view(2, 3).t();
            group.sum(List.of(large, numbers, small, transposed));
            Tensor passed = Tensor.create(new float[] {7f * group.rank(), group.rank()});
            group.broadcast(List.of(passed), 1);
            long[] ranks = group.gather(100 + group.rank());
            group.barrier();
            return new float[][] {
                {large.max().item_float(), large.min().item_float()},
                {
                    small.get(0).item_float(),
                    small.get(1).item_float(),
                    small.get(2).item_float()
                },
                {numbers.get(0).item_long() == 2L << 40 ? 1 : 0, numbers.get(1).item_long()},
                {transposed.get(2).get(1).item_float(), transposed.get(0).get(0).item_float()},
                {passed.get(0).item_float(), passed.get(1).item_float()},
                {ranks[0], ranks[1]}
            };
        }
    }
}
