package org.harnesslearning.contracts.revision;

import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.service.annotation.GetExchange;
import org.springframework.web.service.annotation.HttpExchange;
import org.springframework.web.service.annotation.PostExchange;
import tools.jackson.databind.JsonNode;

/** proposer-service, as the trainer calls it. Bodies are those of the public API. */
@HttpExchange
public interface RevisionApi {
    /**
     * Orders a revision; the same key with an equal body gives the same run again.
     *
     * @param prefer such as {@code wait=0}: the answer does not wait for the end
     * @throws org.harnesslearning.contracts.error.PlatformException with the service's own code
     */
    @PostExchange("/revise")
    OrderedRun revise(
            @RequestBody JsonNode body,
            @RequestHeader("Idempotency-Key") String key,
            @RequestHeader("Prefer") String prefer);

    /** Orders the scoring of one harness on one split; otherwise as {@link #revise}. */
    @PostExchange("/evaluations")
    OrderedRun evaluate(
            @RequestBody JsonNode body,
            @RequestHeader("Idempotency-Key") String key,
            @RequestHeader("Prefer") String prefer);

    /** The prompt of a stored round without its demonstration: what a model is trained to answer. */
    @GetExchange("/revisions/{run}/rounds/{round}/prompt")
    RoundPrompt prompt(@PathVariable("run") String run, @PathVariable("round") int round);
}
