package org.harnesslearning.store.run;

import java.time.Instant;
import tools.jackson.databind.JsonNode;

/**
 * One event of a run.
 *
 * @param id 1, 2, 3, … within the run
 * @param data the changed part of the resource
 */
public record RunEvent(long id, String type, JsonNode data, Instant at) {}
