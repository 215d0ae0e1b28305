package org.harnesslearning.gateway.edge;

import java.util.Optional;

/** Knows the valid keys. */
public interface KeyCheck {
    /** Whose key this is; empty for an unknown or revoked one. */
    Optional<Caller> check(String key);

    /** Whether the key of this id is still valid; asking is no use of it. */
    boolean holds(String keyId);
}
