package org.harnesslearning.gateway.idempotency;

import jakarta.servlet.DispatcherType;
import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.gateway.edge.Caller;
import org.harnesslearning.gateway.edge.LimitedBody;
import org.harnesslearning.gateway.edge.Problems;
import org.harnesslearning.store.idempotency.FirstAnswers;
import org.harnesslearning.store.seal.SecretBox;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.http.HttpHeaders;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;
import org.springframework.web.filter.OncePerRequestFilter;
import org.springframework.web.util.ContentCachingResponseWrapper;

/**
 * Serves {@code Idempotency-Key} (IETF draft draft-ietf-httpapi-idempotency-key-header) on POST: equal key and request get
 * the first answer, another request under the key 409, and so does one that comes while the first is at work. Calls that
 * order runs are left out: the services behind tie their keys to the run itself, in the transaction that makes it.
 *
 * <p>An answer may hold a secret that is shown once. It is stored sealed under the Idempotency-Key, of which only the hash
 * is stored, so that nobody but the caller who knows the key gets it again. Answers of 5xx and 429 are not kept: the call
 * may be made again.
 */
@Component
@Order(Ordered.HIGHEST_PRECEDENCE + 30)
final class IdempotencyFilter extends OncePerRequestFilter {
    static final String HEADER = "Idempotency-Key";
    static final String REPLAYED = "Idempotent-Replayed";

    private static final Set<String> OWN = Set.of("/adapt", "/revise", "/evaluations", "/training-runs");
    private static final int MAX_KEY = 255;
    private static final int TOO_MANY = 429;
    private static final Duration LOST_AFTER = Duration.ofMinutes(12);
    private static final List<String> KEPT_HEADERS =
            List.of(HttpHeaders.CONTENT_TYPE, HttpHeaders.LOCATION, HttpHeaders.ETAG, HttpHeaders.CACHE_CONTROL);

    private final FirstAnswers answers;
    private final String secret;
    private final Clock clock;
    private final SecureRandom random;

    IdempotencyFilter(
            JdbcClient jdbc, @Value("${platform.internal-secret}") String secret, Clock clock, SecureRandom random) {
        this.answers = new FirstAnswers(jdbc);
        this.secret = secret;
        this.clock = clock;
        this.random = random;
    }

    /** An answer as it is kept. */
    record Kept(int status, Map<String, String> headers, String body) {
        Kept {
            headers = Map.copyOf(headers);
        }
    }

    @Override
    protected boolean shouldNotFilter(HttpServletRequest request) {
        return request.getDispatcherType() != DispatcherType.REQUEST
                || !request.getMethod().equals("POST")
                || request.getHeader(HEADER) == null
                || OWN.contains(request.getRequestURI())
                || Caller.find(request).isEmpty();
    }

    @Override
    protected void doFilterInternal(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
            throws ServletException, IOException {
        String key = request.getHeader(HEADER);
        if (key.isBlank() || key.length() > MAX_KEY) {
            Problems.write(
                    request,
                    response,
                    ErrorCode.INVALID_FIELD,
                    HEADER + " must be text of 1 to " + MAX_KEY + " characters");
            return;
        }
        byte[] body;
        try {
            body = request.getInputStream().readAllBytes();
        } catch (PlatformException e) {
            Problems.write(request, response, e.code(), LimitedBody.detail(request));
            return;
        }
        String owner = Caller.of(request).keyId();
        String keyHash = Hashes.sha256(key.getBytes(StandardCharsets.UTF_8));
        SecretBox box = new SecretBox(secret + "\n" + key, "first answer", random);
        Instant now = clock.instant();
        switch (answers.begin(owner, keyHash, requestHash(request, body), now, now.plus(LOST_AFTER))) {
            case FirstAnswers.Turn.First first -> first(request, body, response, chain, new Place(owner, keyHash, box));
            case FirstAnswers.Turn.Answered answered -> replay(response, box.open(answered.answer()));
            case FirstAnswers.Turn.Mismatch mismatch ->
                Problems.write(
                        request,
                        response,
                        ErrorCode.IDEMPOTENCY_MISMATCH,
                        "This " + HEADER + " was used with another request");
            case FirstAnswers.Turn.Busy busy -> {
                response.setIntHeader(HttpHeaders.RETRY_AFTER, 1);
                Problems.write(
                        request,
                        response,
                        ErrorCode.IDEMPOTENCY_IN_PROGRESS,
                        "The first request with this " + HEADER + " is still at work");
            }
        }
    }

    private record Place(String owner, String keyHash, SecretBox box) {}

    private void first(
            HttpServletRequest request, byte[] body, HttpServletResponse response, FilterChain chain, Place place)
            throws ServletException, IOException {
        ContentCachingResponseWrapper caching = new ContentCachingResponseWrapper(response);
        boolean kept = false;
        try {
            chain.doFilter(new KeptBody(request, body), caching);
            if (caching.getStatus() < 500 && caching.getStatus() != TOO_MANY) {
                Map<String, String> headers = new LinkedHashMap<>();
                for (String name : KEPT_HEADERS) {
                    Optional.ofNullable(caching.getHeader(name)).ifPresent(value -> headers.put(name, value));
                }
                Optional.ofNullable(caching.getContentType())
                        .ifPresent(type -> headers.put(HttpHeaders.CONTENT_TYPE, type));
                Kept answer = new Kept(
                        caching.getStatus(),
                        headers,
                        Base64.getEncoder().encodeToString(caching.getContentAsByteArray()));
                answers.answer(
                        place.owner(),
                        place.keyHash(),
                        place.box().seal(Json.mapper().writeValueAsBytes(answer)));
                kept = true;
            }
        } finally {
            if (!kept) {
                answers.release(place.owner(), place.keyHash());
            }
        }
        caching.copyBodyToResponse();
    }

    private static void replay(HttpServletResponse response, byte[] opened) throws IOException {
        Kept kept = Json.mapper().readValue(opened, Kept.class);
        response.setStatus(kept.status());
        kept.headers().forEach(response::setHeader);
        response.setHeader(REPLAYED, "true");
        byte[] body = Base64.getDecoder().decode(kept.body());
        response.setContentLength(body.length);
        response.getOutputStream().write(body);
    }

    private static String requestHash(HttpServletRequest request, byte[] body) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            for (String part :
                    new @Nullable String[] {request.getRequestURI(), request.getQueryString(), request.getContentType()
                    }) {
                digest.update((part + "\n").getBytes(StandardCharsets.UTF_8));
            }
            return "sha256:" + HexFormat.of().formatHex(digest.digest(body));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("SHA-256 is missing", e);
        }
    }
}
