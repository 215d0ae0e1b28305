package org.harnesslearning.gateway.edge;

import jakarta.servlet.ReadListener;
import jakarta.servlet.ServletInputStream;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.jspecify.annotations.Nullable;

/**
 * A request whose body ends with {@code TOO_LARGE} once it passes its limit. Bytes are counted as they are read, so the
 * limit holds for chunked bodies, which announce no length.
 */
public final class LimitedBody extends HttpServletRequestWrapper {
    private static final String EXCEEDED = LimitedBody.class.getName();

    private final long limit;
    private @Nullable ServletInputStream stream;

    LimitedBody(HttpServletRequest request, long limit) {
        super(request);
        this.limit = limit;
    }

    /** Whether the request's body was found too large. */
    public static boolean exceeded(HttpServletRequest request) {
        return request.getAttribute(EXCEEDED) != null;
    }

    /** What to tell the caller. */
    public static String detail(HttpServletRequest request) {
        return detail(request.getAttribute(EXCEEDED) instanceof Long limit ? limit : 0);
    }

    static String detail(long limit) {
        return "The body is larger than " + limit + " bytes";
    }

    /** None for a request that reads: it has no body, and a form announced all the same would be looked for. */
    @Override
    public @Nullable String getContentType() {
        return EdgeFilter.READING.contains(getMethod()) ? null : super.getContentType();
    }

    @Override
    public ServletInputStream getInputStream() throws IOException {
        ServletInputStream current = stream;
        if (current == null) {
            current = new Counting(super.getInputStream());
            stream = current;
        }
        return current;
    }

    @Override
    public BufferedReader getReader() throws IOException {
        String name = getCharacterEncoding();
        Charset charset = name == null ? StandardCharsets.UTF_8 : Charset.forName(name);
        return new BufferedReader(new InputStreamReader(getInputStream(), charset));
    }

    private final class Counting extends ServletInputStream {
        private final ServletInputStream body;
        private long read;

        Counting(ServletInputStream body) {
            this.body = body;
        }

        @Override
        public int read() throws IOException {
            int value = body.read();
            if (value >= 0) {
                count(1);
            }
            return value;
        }

        @Override
        public int read(byte[] bytes, int offset, int length) throws IOException {
            int count = body.read(bytes, offset, length);
            if (count > 0) {
                count(count);
            }
            return count;
        }

        private void count(int bytes) {
            read += bytes;
            if (read > limit) {
                setAttribute(EXCEEDED, limit);
                throw new PlatformException(ErrorCode.TOO_LARGE, detail(limit));
            }
        }

        @Override
        public boolean isFinished() {
            return body.isFinished();
        }

        @Override
        public boolean isReady() {
            return body.isReady();
        }

        @Override
        public void setReadListener(ReadListener listener) {
            body.setReadListener(listener);
        }
    }
}
