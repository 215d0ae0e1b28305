package org.harnesslearning.standalone.cli;

import tools.jackson.databind.JsonNode;

/** Where the events of a followed run go. */
interface RunProgress {
    /** Takes an event of the run. */
    void event(String type, JsonNode data);

    /** Takes the resource. */
    void update(JsonNode run);

    /** Prints a line beside the progress. */
    void say(String text);

    /** The run has ended. */
    void stop();
}
