package org.harnesslearning.trainer.run;

import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Locale;

/** What a training run does. */
public enum TrainingKind {
    /** Supervised on accepted edits of teachers. */
    SFT,
    /** Group-relative policy optimisation on outcomes of single revisions. */
    GRPO,
    /** The same over several rounds: the chosen harness is the next state. */
    MULTISTEP;

    /** Name in JSON and in the table, lower case. */
    @JsonValue
    public String json() {
        return name().toLowerCase(Locale.ROOT);
    }
}
