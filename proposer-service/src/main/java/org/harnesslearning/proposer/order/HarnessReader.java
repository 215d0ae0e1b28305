package org.harnesslearning.proposer.order;

import java.nio.charset.StandardCharsets;
import java.util.Objects;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.execution.CheckRequest;
import org.harnesslearning.contracts.execution.CheckResult;
import org.harnesslearning.contracts.execution.ExecutorApi;
import org.harnesslearning.contracts.execution.Limits;
import org.harnesslearning.contracts.execution.SandboxKit;
import org.harnesslearning.contracts.request.Fields;
import org.harnesslearning.store.Columns;
import org.harnesslearning.store.harness.HarnessNames;
import org.harnesslearning.store.harness.HarnessStore;
import org.jspecify.annotations.Nullable;
import org.springframework.stereotype.Component;
import org.springframework.web.client.RestClientException;
import tools.jackson.databind.JsonNode;

/** Reads a harness of a request: its source, the hash of a stored one, or a name for what is live under it. */
@Component
public class HarnessReader {
    /** Most bytes of a harness. */
    static final int MAX_HARNESS_BYTES = 256 * 1024;

    private final HarnessStore harnesses;
    private final HarnessNames names;
    private final ExecutorApi executor;

    HarnessReader(HarnessStore harnesses, HarnessNames names, ExecutorApi executor) {
        this.harnesses = harnesses;
        this.names = names;
        this.executor = executor;
    }

    /**
     * Source of the harness that a field names; faults are noted.
     *
     * @param otherwise where the field is absent
     * @return null with a fault, and {@code otherwise} without the field
     */
    public @Nullable String read(Fields fields, String field, @Nullable String otherwise) {
        Fields harness = fields.object(field);
        if (harness == null) {
            return fields.has(field) ? null : otherwise;
        }
        JsonNode source = harness.value("source");
        String hash = harness.text("hash", 80);
        String name = harness.text("name", 64);
        harness.end();
        if ((source == null ? 0 : 1) + (hash == null ? 0 : 1) + (name == null ? 0 : 1) != 1) {
            fields.fault(field, "must have exactly one of source, hash, name");
            return null;
        }
        if (source != null) {
            return source(harness, source);
        }
        if (name != null) {
            String found = names.live(name).flatMap(harnesses::find).orElse(null);
            if (found == null) {
                harness.fault("name", ErrorCode.INVALID_HARNESS, "names nothing that is live");
            }
            return found;
        }
        String found = harnesses.find(Objects.requireNonNull(hash)).orElse(null);
        if (found == null) {
            harness.fault("hash", ErrorCode.INVALID_HARNESS, "names no stored harness");
        }
        return found;
    }

    /**
     * Runs the static check on a source.
     *
     * @param pointer where it stands in the request
     * @param kit image and tools of its task
     * @throws PlatformException INVALID_HARNESS, SANDBOX_UNAVAILABLE
     */
    public void check(String source, String pointer, Limits limits, SandboxKit kit) {
        CheckResult check;
        try {
            check = executor.check(new CheckRequest(source, limits, kit));
        } catch (RestClientException e) {
            throw new PlatformException(ErrorCode.SANDBOX_UNAVAILABLE, "The executor can't be reached", e);
        }
        if (check.code() != null) {
            throw PlatformException.field(
                    ErrorCode.INVALID_HARNESS,
                    pointer,
                    check.code() + ": " + (check.message() == null ? "the harness fails the check" : check.message()));
        }
    }

    private static @Nullable String source(Fields harness, JsonNode value) {
        if (!value.isString()) {
            harness.fault("source", "must be text");
            return null;
        }
        String source = value.asString();
        String fault = null;
        if (source.isBlank()) {
            fault = "is empty";
        } else if (!Columns.storable(source).equals(source)) {
            fault = "is not UTF-8 text: it has NUL characters or halves of surrogate pairs";
        } else if (source.getBytes(StandardCharsets.UTF_8).length > MAX_HARNESS_BYTES) {
            fault = "is larger than " + MAX_HARNESS_BYTES / 1024 + " KiB";
        }
        if (fault != null) {
            harness.fault("source", ErrorCode.INVALID_HARNESS, fault);
            return null;
        }
        return source;
    }
}
