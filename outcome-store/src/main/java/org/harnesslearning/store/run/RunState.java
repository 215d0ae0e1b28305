package org.harnesslearning.store.run;

import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Locale;

/**
 * Where a run stands.
 *
 * <table>
 * <caption>Legal transitions</caption>
 * <tr><th>from</th><th>to</th><th>when</th></tr>
 * <tr><td>QUEUED</td><td>RUNNING</td><td>a worker picks it up</td></tr>
 * <tr><td>QUEUED</td><td>PAUSED, CANCELLED</td><td>the user asks before that</td></tr>
 * <tr><td>RUNNING</td><td>PAUSED</td><td>the user asks, or providers fail repeatedly</td></tr>
 * <tr><td>RUNNING</td><td>SUCCEEDED, FAILED, CANCELLED</td><td>the work ends</td></tr>
 * <tr><td>PAUSED</td><td>QUEUED</td><td>the user resumes it</td></tr>
 * <tr><td>PAUSED</td><td>CANCELLED</td><td>the user asks</td></tr>
 * </table>
 */
public enum RunState {
    QUEUED,
    RUNNING,
    PAUSED,
    SUCCEEDED,
    FAILED,
    CANCELLED;

    /** Whether nothing follows this state. */
    public boolean terminal() {
        return switch (this) {
            case SUCCEEDED, FAILED, CANCELLED -> true;
            case QUEUED, RUNNING, PAUSED -> false;
        };
    }

    /** Name in JSON and in the table, lower case. */
    @JsonValue
    public String json() {
        return name().toLowerCase(Locale.ROOT);
    }
}
