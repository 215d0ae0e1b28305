package org.harnesslearning.contracts.model;

import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.service.annotation.GetExchange;
import org.springframework.web.service.annotation.HttpExchange;
import org.springframework.web.service.annotation.PostExchange;

/** The model endpoint, as the other services call it. */
@HttpExchange
public interface ModelApi {
    /**
     * Samples replies; blocks until all are complete.
     *
     * @throws org.harnesslearning.contracts.error.PlatformException with the service's own code
     */
    @PostExchange("/v1/chat/completions")
    ChatResponse chat(@RequestBody ChatRequest request);

    /** All models by name. */
    @GetExchange("/v1/models")
    ModelList models();

    /**
     * A model by name; one of the model registry is loaded for it.
     *
     * @throws org.harnesslearning.contracts.error.PlatformException UNKNOWN_MODEL, and what loading may fail with
     */
    @GetExchange("/v1/models/{name}")
    ModelInfo model(@PathVariable("name") String name);

    /** Token ids of a text; local models only. */
    @PostExchange("/tokenize")
    TokenizeResponse tokenize(@RequestBody TokenizeRequest request);
}
