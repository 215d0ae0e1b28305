package org.harnesslearning.contracts.model;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * One entry of {@code GET /v1/models}.
 *
 * @param identity hash of all that changes this model's replies but the decoding settings: weights, adapter and number
 *     type of a local model; base URL and upstream model of a remote one; the file of a recorded one
 * @param weightsHash hash of the checkpoint file, with an adapter {@code <hash of the file>+<hash of the adapter>}; local
 *     models only
 * @param numberType such as {@code q4_k_m} or {@code fp32}, local models only
 * @param maxModelLen most tokens of prompt and reply together
 * @param parent the model that an adapter adapts, adapters only
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
@JsonIgnoreProperties(ignoreUnknown = true)
public record ModelInfo(
        String id,
        String object,
        long created,
        String ownedBy,
        Kind kind,
        String identity,
        @Nullable String weightsHash,
        @Nullable String numberType,
        @Nullable Integer maxModelLen,
        @Nullable String parent) {
    /** A model without adapter. */
    public ModelInfo(
            String id,
            String object,
            long created,
            String ownedBy,
            Kind kind,
            String identity,
            @Nullable String weightsHash,
            @Nullable String numberType,
            @Nullable Integer maxModelLen) {
        this(id, object, created, ownedBy, kind, identity, weightsHash, numberType, maxModelLen, null);
    }

    /** Where replies come from. */
    public enum Kind {
        LOCAL,
        REMOTE,
        RECORDED;

        /** Name in JSON, lower case. */
        @JsonValue
        public String json() {
            return name().toLowerCase(Locale.ROOT);
        }
    }
}
