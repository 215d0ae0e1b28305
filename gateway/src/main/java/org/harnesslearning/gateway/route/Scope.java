package org.harnesslearning.gateway.route;

import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Locale;
import java.util.Optional;

/** What a key may do; each scope includes the ones before it. */
public enum Scope {
    /** Sees runs, reports, tasks and models. */
    READ,
    /** Starts, stops and deletes runs; adds tasks. */
    RUN,
    /** Manages keys and sees held-out items. */
    ADMIN;

    /** Name in JSON, headers and the database. */
    @JsonValue
    public String text() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** The scope of a name, as {@link #text} writes it. */
    public static Optional<Scope> of(String text) {
        for (Scope scope : values()) {
            if (scope.text().equals(text)) {
                return Optional.of(scope);
            }
        }
        return Optional.empty();
    }

    /** Whether this scope includes another. */
    public boolean includes(Scope needed) {
        return compareTo(needed) >= 0;
    }
}
