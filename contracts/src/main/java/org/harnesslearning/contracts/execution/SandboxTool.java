package org.harnesslearning.contracts.execution;

import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Locale;
import tools.jackson.databind.JsonNode;

/**
 * A tool that harnesses call by {@code env.tool(name, args)}, as far as others than the executor know it: no address and no
 * credential.
 *
 * @param name the operator's name for it
 * @param description what it does, for the proposer
 * @param arguments JSON Schema (2020-12) of the arguments, an object
 * @param answer what a call returns
 * @param callsPerQuestion most calls of it by one question
 * @param hash hash of all that decides about its answers as far as the operator tells: name, version, arguments, limits. Part
 *     of the evaluation cache's key
 */
public record SandboxTool(
        String name, String description, JsonNode arguments, Answer answer, int callsPerQuestion, String hash) {
    /** What a call returns. */
    public enum Answer {
        /** A JSON value. */
        JSON("application/json"),
        /** Text. */
        TEXT("text/plain, text/*");

        private final String accept;

        Answer(String accept) {
            this.accept = accept;
        }

        /** Media types that are asked for. */
        public String accept() {
            return accept;
        }

        /** Name in JSON, lower case. */
        @JsonValue
        public String json() {
            return name().toLowerCase(Locale.ROOT);
        }
    }
}
