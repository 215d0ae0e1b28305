package org.harnesslearning.store.run;

import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Locale;

/** What a run does. */
public enum RunKind {
    /** Several rounds of revisions with a final held-out measurement. */
    ADAPTATION("adp"),
    /** One round of revisions. */
    REVISION("rev"),
    /** One harness scored on one split. */
    EVALUATION("evl");

    private final String prefix;

    RunKind(String prefix) {
        this.prefix = prefix;
    }

    /** Prefix of ids, without the underscore. */
    public String prefix() {
        return prefix;
    }

    /** Name in JSON and in the table, lower case. */
    @JsonValue
    public String json() {
        return name().toLowerCase(Locale.ROOT);
    }
}
