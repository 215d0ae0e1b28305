package org.harnesslearning.proposer.edit;

import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Locale;

/** How the proposer writes its edit; part of a run's settings and of every reported figure. */
public enum ReplyForm {
    /** Blocks of {@link SearchReplace}. */
    SEARCH_REPLACE,
    /** One fenced file, see {@link WholeFile}; for models that cannot do better. */
    WHOLE_FILE;

    /** Name in JSON and in the names of prompt files: {@code search_replace}, {@code whole_file}. */
    @JsonValue
    public String json() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Applies a reply of this form to a harness. Never throws, whatever the two strings hold. */
    public EditResult apply(String source, String reply, FinishReason finish, EditOptions options) {
        return switch (this) {
            case SEARCH_REPLACE -> SearchReplace.apply(source, reply, finish, options);
            case WHOLE_FILE -> WholeFile.apply(source, reply, finish, options);
        };
    }
}
