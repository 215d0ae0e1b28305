package org.harnesslearning.solver.inference;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import jakarta.servlet.ServletOutputStream;
import jakarta.servlet.WriteListener;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.model.ChatResponse;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.mock.web.MockHttpServletResponse;

/** Streams to clients that read slowly, not at all, or no longer. */
@Timeout(60)
class EventStreamTest {
    private static final Decoding ONE =
            new Decoding(null, 1, 1, 0, 0, 1, 0, 0, 1, null, List.of(), List.of(), Set.of(), false, false, 0, false);

    private final Cancellation cancellation = new Cancellation();

    private static EventStream<TextCompletion> stream(Duration heartbeat) {
        return new EventStream<>(new TextChunks(ONE), "cmpl-1", 7, "m", true, heartbeat);
    }

    private static TextCompletion answer(String reason) {
        return new TextCompletion(
                "cmpl-2",
                "text_completion",
                7,
                "m",
                List.of(new TextCompletion.Choice(0, "", reason, null, null)),
                new ChatResponse.Usage(1, 2, 3),
                null,
                null,
                new ChatResponse.Timings(0, 0, 0, 0, 0, null));
    }

    private static Delta piece(String text) {
        return new Delta(0, text, List.of());
    }

    /** A connection whose writes wait, and fail from some point on. */
    private static final class Connection extends MockHttpServletResponse {
        final CountDownLatch read = new CountDownLatch(1);
        final StringBuilder got = new StringBuilder();
        volatile boolean broken;

        @Override
        public ServletOutputStream getOutputStream() {
            return new ServletOutputStream() {
                @Override
                public void write(int b) throws IOException {
                    throw new UnsupportedOperationException();
                }

                @Override
                public void write(byte[] bytes, int from, int length) throws IOException {
                    try {
                        read.await();
                    } catch (InterruptedException e) {
                        throw new IOException(e);
                    }
                    if (broken) {
                        throw new IOException("broken pipe");
                    }
                    got.append(new String(bytes, from, length, java.nio.charset.StandardCharsets.UTF_8));
                }

                @Override
                public boolean isReady() {
                    return true;
                }

                @Override
                public void setWriteListener(WriteListener listener) {}
            };
        }
    }

    @Test
    void a_client_that_does_not_read_never_makes_the_engine_wait_and_is_given_up() throws Exception {
        Connection connection = new Connection();
        AtomicInteger accepted = new AtomicInteger();
        stream(EventStream.HEARTBEAT).write(connection, cancellation, (sink, cancelled) -> {
            // This thread stands for the engine's: it must get through though nobody reads.
            while (!cancelled.isCancelled()) {
                sink.accept(piece("<" + accepted.getAndIncrement() + ">"));
            }
            sink.accept(piece("too late"));
            connection.read.countDown();
            return answer("cancelled");
        });
        assertThat(accepted.get()).isBetween(1000, 1100);
        String got = connection.got.toString();
        assertThat(got).endsWith("data: [DONE]\n\n").contains("\"finish_reason\":\"cancelled\"", "\"<0>\"");
        assertThat(got).doesNotContain("too late");
        // What was sent is the beginning of the reply, without holes.
        int at = 0;
        while (got.contains("\"<" + at + ">\"")) {
            at++;
        }
        assertThat(got.split("\"<", -1)).hasSize(at + 1);
    }

    @Test
    void a_failed_write_cancels() throws Exception {
        Connection connection = new Connection();
        connection.broken = true;
        connection.read.countDown();
        CountDownLatch ended = new CountDownLatch(1);
        stream(EventStream.HEARTBEAT).write(connection, cancellation, (sink, cancelled) -> {
            CountDownLatch gone = new CountDownLatch(1);
            cancelled.onCancel(gone::countDown);
            sink.accept(piece("x"));
            try {
                assertThat(gone.await(30, TimeUnit.SECONDS)).isTrue();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            for (int i = 0; i < 5000; i++) {
                sink.accept(piece("x"));
            }
            ended.countDown();
            return answer("cancelled");
        });
        assertThat(ended.await(30, TimeUnit.SECONDS)).isTrue();
        assertThat(cancellation.isCancelled()).isTrue();
    }

    @Test
    void a_long_silence_is_filled_with_comments() throws Exception {
        MockHttpServletResponse response = new MockHttpServletResponse();
        stream(Duration.ofMillis(1)).write(response, cancellation, (sink, cancelled) -> {
            Await.until(response::isCommitted);
            sink.accept(piece("x"));
            return answer("stop");
        });
        assertThat(response.getContentAsString()).startsWith(": waiting\n\n").endsWith("data: [DONE]\n\n");
    }

    @Test
    void what_fails_first_is_an_error_answer_and_what_fails_later_an_event() throws Exception {
        PlatformException full = new PlatformException(ErrorCode.QUEUE_FULL, "3 requests are waiting");
        assertThatThrownBy(() -> stream(EventStream.HEARTBEAT)
                        .write(new MockHttpServletResponse(), cancellation, (sink, cancelled) -> {
                            throw full;
                        }))
                .isSameAs(full);
        MockHttpServletResponse response = new MockHttpServletResponse();
        stream(EventStream.HEARTBEAT).write(response, cancellation, (sink, cancelled) -> {
            sink.accept(piece("begun"));
            throw new PlatformException(ErrorCode.SOLVER_UNAVAILABLE, "The engine failed");
        });
        assertThat(response.getContentAsString())
                .contains("begun", "\"error\":{\"message\":\"The engine failed\"", "\"code\":\"solver_unavailable\"")
                .doesNotContain("[DONE]");
    }
}
