package org.harnesslearning.executor.sandbox;

import java.time.Duration;
import java.util.Set;

/**
 * Where the executors of an installation tell that they live. It is shared by all that may share an engine and keeps one
 * clock for them, so that no two of them judge each other by their own.
 */
public interface Heartbeats {
    /** Names this place; equal for all executors that see each other here. */
    String registry();

    /** Says that an instance lives now. */
    void beat(String instance);

    /** Instances whose last beat is at most this old. */
    Set<String> living(Duration lostAfter);

    /** Says that an instance ends and leaves nothing. */
    void leave(String instance);
}
