package org.harnesslearning.gateway.key;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.net.URI;
import java.time.Clock;
import java.time.Instant;
import java.util.List;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.gateway.route.Scope;
import org.harnesslearning.store.key.ApiKey;
import org.harnesslearning.store.key.KeyLimits;
import org.jspecify.annotations.Nullable;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.DeleteMapping;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;

/** Management of keys, for callers of scope {@code admin}. */
@RestController
final class KeyController {
    private final ApiKeys keys;
    private final Clock clock;

    KeyController(ApiKeys keys, Clock clock) {
        this.keys = keys;
        this.clock = clock;
    }

    /** Body of {@code POST /keys}. */
    record KeyRequest(
            @Nullable String name,
            @Nullable String scope,
            @Nullable Instant expiresAt,
            @Nullable Double ratePerSecond,
            @Nullable Integer rateBurst,
            @Nullable Long maxBodyBytes) {
        KeyLimits limits() {
            return new KeyLimits(ratePerSecond, rateBurst, maxBodyBytes);
        }
    }

    /**
     * A key.
     *
     * @param key the secret, in the answer of {@code POST /keys} only
     * @param ratePerSecond its own limit, null for that of the installation; so are the next two
     */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    record KeyResource(
            String id,
            String name,
            String scope,
            @Nullable String key,
            Instant createdAt,
            @Nullable Instant lastUsedAt,
            @Nullable Instant revokedAt,
            @Nullable Instant expiresAt,
            @Nullable Double ratePerSecond,
            @Nullable Integer rateBurst,
            @Nullable Long maxBodyBytes) {
        static KeyResource of(ApiKey key, @Nullable String secret) {
            return new KeyResource(
                    key.id(),
                    key.name(),
                    key.scope(),
                    secret,
                    key.createdAt(),
                    key.lastUsedAt(),
                    key.revokedAt(),
                    key.expiresAt(),
                    key.limits().ratePerSecond(),
                    key.limits().rateBurst(),
                    key.limits().maxBodyBytes());
        }
    }

    /** Answer of {@code GET /keys}. */
    record KeyList(List<KeyResource> data) {}

    @PostMapping(
            path = "/keys",
            consumes = MediaType.APPLICATION_JSON_VALUE,
            produces = MediaType.APPLICATION_JSON_VALUE)
    ResponseEntity<KeyResource> create(@RequestBody KeyRequest request) {
        String name = ApiKeys.name(request.name());
        Scope scope = Scope.of(request.scope() == null ? "" : request.scope())
                .orElseThrow(() ->
                        PlatformException.field(ErrorCode.INVALID_FIELD, "/scope", "scope must be read, run or admin"));
        Instant expiresAt = request.expiresAt();
        if (expiresAt != null && !expiresAt.isAfter(clock.instant())) {
            throw PlatformException.field(ErrorCode.INVALID_FIELD, "/expires_at", "expires_at must lie in the future");
        }
        ApiKeys.Created created = keys.create(name, scope, expiresAt, request.limits());
        return ResponseEntity.created(URI.create("/keys/" + created.key().id()))
                .header("Cache-Control", "no-store")
                .body(KeyResource.of(created.key(), created.secret()));
    }

    @GetMapping(path = "/keys", produces = MediaType.APPLICATION_JSON_VALUE)
    KeyList list() {
        return new KeyList(
                keys.all().stream().map(key -> KeyResource.of(key, null)).toList());
    }

    @DeleteMapping("/keys/{id}")
    ResponseEntity<Void> revoke(@PathVariable String id) {
        if (!keys.revoke(id)) {
            throw new PlatformException(ErrorCode.NOT_FOUND, "No valid key " + id);
        }
        return ResponseEntity.noContent().build();
    }
}
