package org.harnesslearning.gateway.session;

import jakarta.servlet.http.Cookie;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.Optional;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.gateway.edge.Caller;
import org.harnesslearning.gateway.edge.KeyCheck;
import org.harnesslearning.gateway.edge.SessionCheck;
import org.harnesslearning.store.key.SessionStore;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.ResponseCookie;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;

/**
 * Signs people in with an API key and remembers them by a cookie of 32 random bytes, of which only the SHA-256 is
 * stored. A session ends at sign-out, after its lifetime, when unused, and with its key. The token that protects forms is
 * a hash of the cookie's value under a label: other sites can't read the cookie, and the token does not give it away.
 */
@Component
public final class Sessions implements SessionCheck {
    /** Name of the form field and of the header {@code X-CSRF-Token}'s query twin. */
    public static final String FIELD = "csrf";
    /** Header that carries the form token where there is no form. */
    public static final String HEADER = "X-CSRF-Token";

    private static final String COOKIE = "hl_session";
    /** Binds the sign-in form to the browser that fetched it, before there is a session. */
    private static final String FORM_COOKIE = "hl_form";

    private static final int SECRET_BYTES = 32;
    private static final int MAX_VALUE = 128;
    private static final Duration USE_GRAIN = Duration.ofMinutes(1);

    private final SessionStore store;
    private final KeyCheck keys;
    private final Clock clock;
    private final SecureRandom random;
    private final SessionSettings settings;

    Sessions(JdbcClient jdbc, KeyCheck keys, Clock clock, SecureRandom random, SessionSettings settings) {
        this.store = new SessionStore(jdbc);
        this.keys = keys;
        this.clock = clock;
        this.random = random;
        this.settings = settings;
    }

    /** Starts a session and sets its cookie; false for an unknown or revoked key. */
    public boolean signIn(String key, HttpServletRequest request, HttpServletResponse response) {
        Optional<Caller> caller = keys.check(key);
        if (caller.isEmpty()) {
            return false;
        }
        // A new secret for each sign-in: a cookie planted before is worth nothing.
        value(request, COOKIE).ifPresent(old -> store.delete(hash(old)));
        Instant now = clock.instant();
        store.deleteExpired(now);
        String secret = secret();
        store.insert(hash(secret), caller.get().keyId(), now, now.plus(settings.lifetime()));
        set(request, response, COOKIE, secret, settings.lifetime());
        set(request, response, FORM_COOKIE, "", Duration.ZERO);
        return true;
    }

    /** Ends the session and takes its cookie back. */
    public void signOut(HttpServletRequest request, HttpServletResponse response) {
        value(request, COOKIE).ifPresent(secret -> store.delete(hash(secret)));
        set(request, response, COOKIE, "", Duration.ZERO);
    }

    @Override
    public Optional<Caller> check(HttpServletRequest request) {
        return value(request, COOKIE).flatMap(secret -> {
            Instant now = clock.instant();
            String hash = hash(secret);
            return store.keyOf(hash, now, now.minus(settings.idle())).flatMap(key -> {
                store.seen(hash, now, now.minus(USE_GRAIN));
                return Caller.holding(key);
            });
        });
    }

    @Override
    public boolean holds(HttpServletRequest request) {
        Instant now = clock.instant();
        return value(request, COOKIE)
                .flatMap(secret -> store.keyOf(hash(secret), now, now.minus(settings.idle())))
                .isPresent();
    }

    /** The form token of a session's pages; empty without a session cookie. */
    public String token(HttpServletRequest request) {
        return value(request, COOKIE).map(Sessions::token).orElse("");
    }

    /** The form token of the sign-in page; sets the cookie that it belongs to where there is none. */
    public String signInToken(HttpServletRequest request, HttpServletResponse response) {
        String secret = value(request, FORM_COOKIE).orElse(null);
        if (secret == null) {
            secret = secret();
            set(request, response, FORM_COOKIE, secret, Duration.ofHours(1));
        }
        return token(secret);
    }

    /** Whether a request carries the form token of its session. */
    public boolean tokenFits(HttpServletRequest request) {
        return fits(request, COOKIE);
    }

    /** Whether a sign-in carries the token of the form that this browser fetched. */
    public boolean signInTokenFits(HttpServletRequest request) {
        return fits(request, FORM_COOKIE);
    }

    private static boolean fits(HttpServletRequest request, String cookie) {
        String header = request.getHeader(HEADER);
        String given = header == null ? request.getParameter(FIELD) : header;
        return given != null
                && value(request, cookie)
                        .map(secret -> MessageDigest.isEqual(
                                token(secret).getBytes(StandardCharsets.UTF_8), given.getBytes(StandardCharsets.UTF_8)))
                        .orElse(false);
    }

    private void set(
            HttpServletRequest request, HttpServletResponse response, String name, String value, Duration maxAge) {
        boolean secure = switch (settings.secureCookie()) {
            case AUTO -> request.isSecure();
            case ALWAYS -> true;
            case NEVER -> false;
        };
        ResponseCookie cookie = ResponseCookie.from(name, value)
                .httpOnly(true)
                .secure(secure)
                .sameSite("Strict")
                .path("/")
                .maxAge(maxAge)
                .build();
        response.addHeader(HttpHeaders.SET_COOKIE, cookie.toString());
    }

    private static Optional<String> value(HttpServletRequest request, String name) {
        Cookie @Nullable [] cookies = request.getCookies();
        if (cookies != null) {
            for (Cookie cookie : cookies) {
                String value = cookie.getValue();
                if (cookie.getName().equals(name) && !value.isEmpty() && value.length() <= MAX_VALUE) {
                    return Optional.of(value);
                }
            }
        }
        return Optional.empty();
    }

    private String secret() {
        byte[] bytes = new byte[SECRET_BYTES];
        random.nextBytes(bytes);
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }

    private static String token(String secret) {
        return hash("form:" + secret).substring("sha256:".length());
    }

    private static String hash(String text) {
        return Hashes.sha256(text.getBytes(StandardCharsets.UTF_8));
    }
}
