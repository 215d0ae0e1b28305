package org.harnesslearning.solver.inference;

import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.IllegalBlockingModeException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Cancels a call whose client has closed its connection. The servlet API tells that only to those who write, and a
 * completion that is not streamed writes nothing until its end; so the socket is watched: while an answer is owed, it
 * becomes readable only when it is closed (HTTP pipelining, which no client of this API uses, would look the same).
 */
final class Disconnects implements AutoCloseable {
    private final Supplier<@Nullable WatchedNioProtocol> protocol;
    private final Selector selector;
    private volatile boolean closed;

    Disconnects(Supplier<@Nullable WatchedNioProtocol> protocol) {
        this.protocol = protocol;
        try {
            this.selector = Selector.open();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        Thread.ofPlatform().daemon().name("disconnect-watch").start(this::watchAll);
    }

    /** A watch that is kept up until the answer is ready. */
    interface Watch {
        void end();
    }

    Watch watch(HttpServletRequest request, Cancellation cancellation) {
        WatchedNioProtocol connector = protocol.get();
        SocketChannel socket =
                connector == null ? null : connector.socketFrom(request.getRemoteAddr(), request.getRemotePort());
        if (socket == null) {
            return () -> {};
        }
        try {
            SelectionKey key = socket.register(selector, SelectionKey.OP_READ, cancellation);
            selector.wakeup();
            return () -> rest(key);
        } catch (ClosedChannelException | CancelledKeyException e) {
            cancellation.cancel();
        } catch (IllegalBlockingModeException e) {
            // A connector that blocks: it cannot be watched.
        }
        return () -> {};
    }

    /**
     * Looks away from a connection. Its key stays: a cancelled one would linger in the selector and refuse the watch of
     * the connection's next request. The key goes when the connection is closed.
     */
    private static void rest(SelectionKey key) {
        try {
            key.attach(null);
            key.interestOps(0);
        } catch (CancelledKeyException e) {
            // The connection is closed.
        }
    }

    private void watchAll() {
        while (!closed) {
            try {
                selector.select(key -> {
                    if (key.attachment() instanceof Cancellation cancellation) {
                        rest(key);
                        cancellation.cancel();
                    }
                });
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            } catch (java.nio.channels.ClosedSelectorException e) {
                return;
            }
        }
    }

    @Override
    public void close() {
        closed = true;
        try {
            selector.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
