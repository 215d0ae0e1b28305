package org.harnesslearning.gateway.route;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.function.BooleanSupplier;

/**
 * A stream of events that ends when its reader may no longer read it. It is asked about whenever something came, before
 * that is handed on; services send a sign of life every 15 s, so it is asked about at least that often.
 */
final class GuardedStream extends FilterInputStream {
    private final BooleanSupplier allowed;
    private boolean ended;

    GuardedStream(InputStream events, BooleanSupplier allowed) {
        super(events);
        this.allowed = allowed;
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
        if (ended) {
            return -1;
        }
        int count = super.read(bytes, offset, length);
        if (count > 0 && !allowed.getAsBoolean()) {
            ended = true;
            // Behind, nobody need go on telling what nobody reads.
            close();
            return -1;
        }
        return count;
    }
}
