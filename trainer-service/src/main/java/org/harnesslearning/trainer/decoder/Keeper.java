package org.harnesslearning.trainer.decoder;

import java.util.ArrayDeque;
import java.util.Deque;
import org.bytedeco.javacpp.Pointer;

/** Native objects that outlive the scope they were made in, until this is closed. */
final class Keeper implements AutoCloseable {

    private final Deque<Pointer> kept = new ArrayDeque<>();

    <P extends Pointer> P keep(P pointer) {
        kept.push(Torch.keep(pointer));
        return pointer;
    }

    @Override
    public void close() {
        while (!kept.isEmpty()) {
            kept.pop().close();
        }
    }
}
