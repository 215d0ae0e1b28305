package org.harnesslearning.executor.sandbox;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.concurrent.LinkedBlockingQueue;
import org.harnesslearning.contracts.json.Json;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;
import tools.jackson.core.json.JsonWriteFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.ObjectWriter;

/** Frames on a byte stream: four bytes of length, big endian, then that many bytes of one JSON object in UTF-8. */
final class Frames {
    /** Longest frame in bytes; a container that announces more is closed. */
    static final int MAX_BYTES = 16 << 20;

    private static final Logger LOG = LoggerFactory.getLogger(Frames.class);

    /** A model's reply may end in half a character, which UTF-8 does not have but an escape does. */
    private static final ObjectWriter WRITER = Json.mapper().writer().with(JsonWriteFeature.ESCAPE_NON_ASCII);

    private Frames() {}

    /** A frame's bytes. */
    static byte[] encode(Object body) {
        byte[] json = WRITER.writeValueAsBytes(body);
        return ByteBuffer.allocate(4 + json.length)
                .putInt(json.length)
                .put(json)
                .array();
    }

    /** Puts frames together from chunks of any size. Not thread-safe: one stream, one thread. */
    static final class Decoder {
        private byte[] buffer = new byte[1 << 12];
        private int filled;

        /** Adds a chunk. */
        void add(byte[] chunk) {
            if (buffer.length - filled < chunk.length) {
                byte[] larger = new byte[Math.max(buffer.length * 2, filled + chunk.length)];
                System.arraycopy(buffer, 0, larger, 0, filled);
                buffer = larger;
            }
            System.arraycopy(chunk, 0, buffer, filled, chunk.length);
            filled += chunk.length;
        }

        /**
         * Takes the next complete frame; null when more bytes are needed.
         *
         * @throws IOException when the stream carries no frames
         */
        @Nullable
        JsonNode next() throws IOException {
            if (filled < 4) {
                return null;
            }
            int length = ByteBuffer.wrap(buffer).getInt();
            if (length < 2 || length > MAX_BYTES) {
                throw new IOException("a frame of " + Integer.toUnsignedString(length) + " bytes was announced");
            }
            if (filled < 4 + length) {
                return null;
            }
            try {
                JsonNode body = Objects.requireNonNull(Json.mapper().readTree(buffer, 4, length));
                filled -= 4 + length;
                System.arraycopy(buffer, 4 + length, buffer, 0, filled);
                return body;
            } catch (JacksonException e) {
                throw new IOException("a frame is no JSON", e);
            }
        }
    }

    /**
     * The sending side as the stream that docker-java reads. A read blocks until bytes are there and never waits for
     * more than those, so that a frame leaves at once.
     */
    static final class Outgoing extends InputStream {
        private static final byte[] END = new byte[0];
        private final LinkedBlockingQueue<byte[]> queue = new LinkedBlockingQueue<>();
        private byte[] current = END;
        private int position;
        private boolean adopted;

        /** Queues bytes to be sent. */
        void send(byte[] bytes) {
            queue.add(bytes);
        }

        @Override
        public int read() throws IOException {
            byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(byte[] target, int offset, int length) throws IOException {
            if (!adopted) {
                // docker-java's own thread: it fails when the container ends before this stream, as any may.
                Thread.currentThread().setUncaughtExceptionHandler((thread, e) -> LOG.debug("standard input", e));
                adopted = true;
            }
            try {
                while (position == current.length) {
                    byte[] next = queue.take();
                    if (next.length == 0) {
                        queue.add(END);
                        return -1;
                    }
                    current = next;
                    position = 0;
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException("interrupted", e);
            }
            int count = Math.min(length, current.length - position);
            System.arraycopy(current, position, target, offset, count);
            position += count;
            return count;
        }

        @Override
        public int available() {
            return current.length - position;
        }

        @Override
        public void close() {
            queue.add(END);
        }
    }
}
