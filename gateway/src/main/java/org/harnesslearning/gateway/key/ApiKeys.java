package org.harnesslearning.gateway.key;

import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.gateway.edge.Allowances;
import org.harnesslearning.gateway.edge.Caller;
import org.harnesslearning.gateway.edge.KeyCheck;
import org.harnesslearning.gateway.route.Scope;
import org.harnesslearning.store.Ids;
import org.harnesslearning.store.key.ApiKey;
import org.harnesslearning.store.key.ApiKeyStore;
import org.harnesslearning.store.key.KeyLimits;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;

/**
 * Makes, checks and revokes keys. A key is 32 random bytes in base64url after {@code hl_}; only its SHA-256 is stored,
 * which is enough for a secret that can't be guessed.
 */
@Component
public final class ApiKeys implements KeyCheck, InitializingBean {
    private static final String PREFIX = "hl_";
    private static final int KEY_BYTES = 32;
    private static final int MAX_NAME = 100;
    private static final int MAX_KEY_LENGTH = 256;
    private static final Duration USE_GRAIN = Duration.ofMinutes(1);

    private final ApiKeyStore store;
    private final Ids ids;
    private final Clock clock;
    private final SecureRandom random;
    private final KeySettings settings;
    private final Allowances allowances;

    ApiKeys(JdbcClient jdbc, Clock clock, SecureRandom random, KeySettings settings, Allowances allowances) {
        this.store = new ApiKeyStore(jdbc);
        this.ids = new Ids(clock, random);
        this.clock = clock;
        this.random = random;
        this.settings = settings;
        this.allowances = allowances;
    }

    /** A new key and its secret, which can't be read again. */
    public record Created(ApiKey key, String secret) {}

    @Override
    public void afterPropertiesSet() {
        if (!settings.bootstrap().isEmpty()) {
            store.insertIfAbsent(row("bootstrap", Scope.ADMIN, settings.bootstrap(), null, KeyLimits.NONE));
        }
    }

    /**
     * Makes a key.
     *
     * @param expiresAt when it stops working by itself, null for never
     * @param limits its own limits
     * @throws PlatformException INVALID_FIELD for limits above those that the operator allows
     */
    public Created create(String name, Scope scope, @Nullable Instant expiresAt, KeyLimits limits) {
        allowances.check(limits);
        byte[] bytes = new byte[KEY_BYTES];
        random.nextBytes(bytes);
        String secret = PREFIX + Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
        ApiKey key = row(name, scope, secret, expiresAt, limits);
        store.insert(key);
        return new Created(key, secret);
    }

    /**
     * The name of a new key as it is stored.
     *
     * @throws PlatformException INVALID_FIELD for an empty or very long one
     */
    public static String name(@Nullable String given) {
        String name = given == null ? "" : given.strip();
        if (name.isEmpty() || name.length() > MAX_NAME || name.chars().anyMatch(Character::isISOControl)) {
            throw PlatformException.field(
                    ErrorCode.INVALID_FIELD, "/name", "name must have 1 to " + MAX_NAME + " printable characters");
        }
        return name;
    }

    /** All keys, oldest first. */
    public List<ApiKey> all() {
        return store.all();
    }

    /** Revokes a key and with it its sessions; false when there is no such valid key. */
    public boolean revoke(String id) {
        return store.revoke(id, clock.instant());
    }

    @Override
    public Optional<Caller> check(String secret) {
        if (secret.isEmpty() || secret.length() > MAX_KEY_LENGTH) {
            return Optional.empty();
        }
        Instant now = clock.instant();
        return store.findValid(hash(secret), now).flatMap(key -> {
            store.used(key.id(), now, now.minus(USE_GRAIN));
            return Caller.holding(key);
        });
    }

    @Override
    public boolean holds(String keyId) {
        return store.isValid(keyId, clock.instant());
    }

    private ApiKey row(String name, Scope scope, String secret, @Nullable Instant expiresAt, KeyLimits limits) {
        return new ApiKey(
                ids.next("key"), name, scope.text(), hash(secret), clock.instant(), null, null, expiresAt, limits);
    }

    private static String hash(String secret) {
        return Hashes.sha256(secret.getBytes(StandardCharsets.UTF_8));
    }
}
