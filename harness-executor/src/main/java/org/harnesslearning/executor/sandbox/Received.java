package org.harnesslearning.executor.sandbox;

import tools.jackson.databind.JsonNode;

/** What waiting for a container's next frame gave. */
public sealed interface Received {
    /** One frame: a JSON object. */
    record Frame(JsonNode body) implements Received {}

    /** Nothing came in time; the container goes on. */
    record Nothing() implements Received {}

    /**
     * The container's streams ended, or carried something that is no frame.
     *
     * @param reason one sentence for a person
     * @param broken the container sent what is no frame, or far too many
     */
    record Closed(String reason, boolean broken) implements Received {}
}
