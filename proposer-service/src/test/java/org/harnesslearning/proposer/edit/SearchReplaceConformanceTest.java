package org.harnesslearning.proposer.edit;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * The published cases, one test each. The system property {@code conformance.file} names another file of the same form; empty
 * means the project's own copy.
 */
@Tag("conformance")
class SearchReplaceConformanceTest {
    private static final JsonMapper JSON = JsonMapper.builder().build();

    @TestFactory
    Stream<DynamicTest> caseAgreesWithTheContract() throws IOException {
        List<DynamicTest> tests = new ArrayList<>();
        // No reader of lines: it would also split at a lone carriage return.
        for (String line : text().split("\n")) {
            if (!line.isBlank()) {
                JsonNode json = JSON.readTree(line);
                tests.add(DynamicTest.dynamicTest(json.get("id").asString(), () -> check(json)));
            }
        }
        assertThat(tests).isNotEmpty();
        return tests.stream();
    }

    private static void check(JsonNode json) {
        JsonNode given = json.path("options");
        EditOptions options = EditOptions.DEFAULT
                .withFirstMatch(given.path("first_match").asBoolean(false))
                .withUnicodeTier(given.path("unicode_tier").asBoolean(false));
        if (given.hasNonNull("max_reply_bytes")) {
            options = options.withMaxReplyBytes(given.get("max_reply_bytes").asInt());
        }
        if (given.hasNonNull("files")) {
            options = options.withFiles(
                    given.get("files").valueStream().map(JsonNode::asString).toList());
        }
        String source = json.get("source").asString();
        EditResult result = SearchReplace.apply(
                source,
                json.get("reply").asString(),
                FinishReason.of(json.get("finish_reason").asString()),
                options);
        String about = json.path("about").asString("") + " [" + result.message() + "]";
        assertThat(result.code().name()).as(about).isEqualTo(json.get("outcome").asString());
        assertThat(result.tier() == null ? null : result.tier().name())
                .as(about)
                .isEqualTo(json.get("tier").isNull() ? null : json.get("tier").asString());
        assertThat(result.result()).as(about).isEqualTo(json.get("result").asString());
        assertThat(result.blocks())
                .as(about)
                .isEqualTo(
                        json.get("blocks").isNull() ? null : json.get("blocks").asInt());
        assertThat(result.message()).isNotBlank();
    }

    private static String text() throws IOException {
        String other = System.getProperty("conformance.file", "");
        if (!other.isEmpty()) {
            return Files.readString(Path.of(other), StandardCharsets.UTF_8);
        }
        try (InputStream in = Objects.requireNonNull(
                SearchReplaceConformanceTest.class.getResourceAsStream("/conformance/search-replace.jsonl"))) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
