package org.harnesslearning.trainer.distributed;

import java.util.List;
import org.bytedeco.pytorch.Tensor;

/** A group of one. */
final class SingleProcess implements ProcessGroup {
    @Override
    public int rank() {
        return 0;
    }

    @Override
    public int size() {
        return 1;
    }

    @Override
    public void sum(List<Tensor> inPlace) {
        // The sum over one rank.
    }

    @Override
    public void broadcast(List<Tensor> inPlace, int root) {
        // There already.
    }

    @Override
    public byte[] broadcast(byte[] bytes, int root) {
        return bytes;
    }

    @Override
    public long[] gather(long value) {
        return new long[] {value};
    }

    @Override
    public void barrier() {
        // Nobody to wait for.
    }

    @Override
    public void close() {
        // Nothing is held.
    }
}
