package org.harnesslearning.trainer.registry;

import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.service.annotation.HttpExchange;
import org.springframework.web.service.annotation.PostExchange;
import tools.jackson.databind.JsonNode;

/** Single revisions at proposer-service. */
@HttpExchange
interface RevisionApi {
    /**
     * Orders a revision; the same key gives the same one again.
     *
     * @return the revision, with {@code id}
     */
    @PostExchange("/revise")
    JsonNode revise(
            @RequestBody JsonNode body,
            @RequestHeader("Idempotency-Key") String key,
            @RequestHeader("Prefer") String prefer,
            @RequestHeader("X-Key-Id") String caller,
            @RequestHeader("X-Key-Scope") String scope);
}
