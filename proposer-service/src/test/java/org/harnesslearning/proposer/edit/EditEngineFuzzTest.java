package org.harnesslearning.proposer.edit;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.api.FuzzedDataProvider;
import com.code_intelligence.jazzer.junit.DictionaryEntries;
import com.code_intelligence.jazzer.junit.FuzzTest;
import java.util.List;
import org.junit.jupiter.api.Tag;

/**
 * Coverage-guided fuzzing. With the environment variable {@code JAZZER_FUZZ=1} Jazzer searches for a minute; without it the
 * test replays its corpus alone. Out of the normal run, since its hooks slow down every other test of the same JVM:
 *
 * <pre>JAZZER_FUZZ=1 ./mvnw -pl proposer-service -am test -Dtest=EditEngineFuzzTest -Dharness.excludedGroups= -Dsurefire.failIfNoSpecifiedTests=false</pre>
 */
@Tag("long")
class EditEngineFuzzTest {

    @DictionaryEntries({
        "<<<<<<< SEARCH\n",
        "\n=======\n",
        "\n>>>>>>> REPLACE\n",
        "<think>",
        "</think>",
        "```python\n",
        "a.py\n"
    })
    @FuzzTest(maxDuration = "60s")
    void anyReplyHasAnOutcomeAndIsAtomic(FuzzedDataProvider data) {
        EditOptions options = EditOptions.DEFAULT
                .withFirstMatch(data.consumeBoolean())
                .withUnicodeTier(data.consumeBoolean())
                .withFiles(data.consumeBoolean() ? List.of("a.py", "b.py") : List.of());
        FinishReason finish = data.consumeBoolean() ? FinishReason.STOP : FinishReason.LENGTH;
        String source = data.consumeString(400);
        String reply = data.consumeRemainingAsString();
        for (EditResult result : List.of(
                SearchReplace.apply(source, reply, finish, options), WholeFile.apply(source, reply, finish, options))) {
            assertThat(result.message()).isNotBlank();
            assertThat(result.result().equals(source)).isEqualTo(result.code() != EditCode.OK);
        }
        if (SearchReplace.parse(reply, finish, options) instanceof ParseResult.Parsed parsed
                && parsed.blocks().stream().noneMatch(block -> block.toString().contains("<|im_start|>assistant"))) {
            assertThat(SearchReplace.parse(SearchReplace.render(parsed.blocks()), finish, options))
                    .as("rendered and parsed again")
                    .isEqualTo(parsed);
        }
    }
}
