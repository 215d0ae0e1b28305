package org.harnesslearning.gateway.session;

import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Sign-ins to the ops pages.
 *
 * @param lifetime time after which one must sign in again in any case
 * @param idle time without a request after which one must sign in again
 * @param secureCookie whether browsers send the cookie over TLS only; {@code AUTO}: when the sign-in came over TLS, as the
 *     server sees it (behind a proxy that ends TLS: {@code server.forward-headers-strategy}, or {@code ALWAYS})
 */
@ConfigurationProperties("gateway.session")
record SessionSettings(
        @DefaultValue("12h") Duration lifetime,
        @DefaultValue("2h") Duration idle,
        @DefaultValue("AUTO") Secure secureCookie) {
    /** When the cookie is marked {@code Secure}. */
    enum Secure {
        AUTO,
        ALWAYS,
        NEVER
    }

    SessionSettings {
        if (!lifetime.isPositive() || !idle.isPositive()) {
            throw new IllegalArgumentException("gateway.session.lifetime and gateway.session.idle must be positive");
        }
    }
}
