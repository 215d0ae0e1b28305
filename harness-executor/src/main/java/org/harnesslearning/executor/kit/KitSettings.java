package org.harnesslearning.executor.kit;

import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.harnesslearning.contracts.execution.SandboxTool;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * The operator's lists of images and tools, each under the name by which tasks know it: small letters, digits and dashes.
 *
 * @param images images that sandboxes may start from
 * @param tools tools behind {@code env.tool}
 * @param toolCallsPerRun most calls of tools that one run may be given
 */
@ConfigurationProperties("executor")
public record KitSettings(
        @DefaultValue Map<String, Image> images,
        @DefaultValue Map<String, Tool> tools,
        @DefaultValue("20000") long toolCallsPerRun) {
    public KitSettings {
        images = Map.copyOf(images);
        tools = Map.copyOf(tools);
        if (toolCallsPerRun < 1) {
            throw new IllegalArgumentException("executor.tool-calls-per-run is at least 1");
        }
    }

    /**
     * One image.
     *
     * @param image what the engine starts: a name with a digest, or with a tag that names one content for ever
     * @param description what it has beyond Python's standard library, for the proposer
     */
    public record Image(String image, @DefaultValue("") String description) {}

    /** How arguments are sent. */
    public enum Method {
        /** As the query of the address: texts, numbers and truth values as they are, anything else as JSON. */
        GET,
        /** As a JSON body. */
        POST
    }

    /**
     * One tool.
     *
     * @param url where calls go: http or https, without a user's name and a fragment
     * @param description what it does, for the proposer
     * @param arguments JSON Schema (2020-12) of the arguments, as JSON text
     * @param answer what it answers with
     * @param version changed by the operator when its answers change; results that it had a part in are then computed anew
     * @param headers sent with each call
     * @param secretHeaders names of headers with the files that hold their values
     * @param timeout most time for one answer
     * @param attempts most requests for one call, while the tool is away; all carry the same {@code Idempotency-Key}
     * @param maxResponse longest answer
     * @param callsPerQuestion most calls by one question
     * @param parallel most calls of this executor at once
     */
    public record Tool(
            URI url,
            @DefaultValue("POST") Method method,
            @DefaultValue("") String description,
            @Nullable String arguments,
            @DefaultValue("JSON") SandboxTool.Answer answer,
            @DefaultValue("1") String version,
            @DefaultValue Map<String, String> headers,
            @DefaultValue Map<String, Path> secretHeaders,
            @DefaultValue("10s") Duration timeout,
            @DefaultValue("3") int attempts,
            @DefaultValue("64KB") DataSize maxResponse,
            @DefaultValue("16") int callsPerQuestion,
            @DefaultValue("8") int parallel) {
        public Tool {
            headers = Map.copyOf(headers);
            secretHeaders = Map.copyOf(secretHeaders);
        }
    }
}
