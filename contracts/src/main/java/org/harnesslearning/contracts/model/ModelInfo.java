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
 * @param version names of the model registry only: the version that the name stands for now, or {@code base} where it
 *     stands for the base model itself
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
        @Nullable String parent,
        @Nullable String version) {
    /** Value of {@code version} of a name that stands for its base model. */
    public static final String BASE = "base";

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
        this(id, object, created, ownedBy, kind, identity, weightsHash, numberType, maxModelLen, null, null);
    }

    /** A model that is no name of the registry. */
    public ModelInfo(
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
        this(id, object, created, ownedBy, kind, identity, weightsHash, numberType, maxModelLen, parent, null);
    }

    /**
     * The name under which exactly these weights are served, whatever is promoted later: {@code name@sha256:…} for a name
     * of the registry, else the name itself.
     */
    public String pinned() {
        if (version == null || id.endsWith("@" + version)) {
            return id;
        }
        return version.equals(BASE) && parent != null ? parent : id + "@" + version;
    }

    /** The same model under another name. */
    public ModelInfo as(String name) {
        return new ModelInfo(
                name, object, created, ownedBy, kind, identity, weightsHash, numberType, maxModelLen, parent, version);
    }

    /** The part of a name before the version that it is pinned to. */
    public static String unpinned(String name) {
        int at = name.indexOf("@sha256:");
        return at < 0 ? name : name.substring(0, at);
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
