package org.harnesslearning.trainer.distributed;

import java.util.List;
import org.bytedeco.pytorch.Tensor;

/**
 * The ranks of one run. All of them make the same calls in the same order; each call returns when this rank's part is
 * done. Not thread-safe.
 *
 * <p>Every call throws {@link DistributedException} when a rank is lost or late; the group is then of no more use.
 */
public interface ProcessGroup extends AutoCloseable {
    /** This rank, from 0 on. */
    int rank();

    /** Number of ranks. */
    int size();

    /** Replaces each tensor by its sum over all ranks. Same shapes everywhere, on this group's device. */
    void sum(List<Tensor> inPlace);

    /** Replaces each tensor by that of one rank. */
    void broadcast(List<Tensor> inPlace, int root);

    /**
     * The bytes of one rank.
     *
     * @param bytes of the same length at all ranks; only root's content counts
     */
    byte[] broadcast(byte[] bytes, int root);

    /** One number of each rank, in the order of the ranks. */
    long[] gather(long value);

    /** Returns once all ranks have called it. */
    void barrier();

    @Override
    void close();

    /**
     * The group of the ranks that the environment names; alone, calls do nothing.
     *
     * @param place from {@link RankEnvironment#of}
     * @param backend NCCL for tensors on GPUs, Gloo for those in memory
     */
    static ProcessGroup join(RankEnvironment place, ProcessGroupBackend backend, DistributedSettings settings) {
        return place.distributed()
                ? new NativeGroup(Rendezvous.open(place, settings), "group", backend, true)
                : new SingleProcess();
    }
}
