package org.harnesslearning.tasks;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.testing.RequiresShared;
import org.harnesslearning.testing.SharedData;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

class TaskDescriptionsTest {

    @Test
    void eachIsOneSentence() {
        TaskDescriptions descriptions = TaskDescriptions.builtIn();
        assertThat(descriptions.version()).isEqualTo("descriptions-v1");
        assertThat(descriptions.families()).hasSize(47);
        assertThat(descriptions.families().values()).allSatisfy(text -> {
            assertThat(text)
                    .startsWith("Given ")
                    .endsWith(".")
                    .hasSizeLessThan(320)
                    .doesNotContain("\n");
            assertThat(text).contains("score");
        });
        assertThat(descriptions.of("chain_sum")).isPresent();
        assertThat(descriptions.of("no_such_family")).isEmpty();
    }

    @Test
    @RequiresShared
    void theyCoverTheFamiliesAndQuoteNoQuestion() throws IOException {
        Map<String, List<Set<String>>> grams = new TreeMap<>();
        for (String file : List.of("train_seed42.jsonl", "unseen_seed42.jsonl")) {
            Path path = SharedData.shared()
                    .orElseThrow()
                    .resolve("data/reasoning-gym")
                    .resolve(file);
            try (Stream<String> lines = Files.lines(path)) {
                lines.forEach(line -> {
                    JsonNode item = Json.mapper().readTree(line);
                    grams.computeIfAbsent(item.get("family").asString(), family -> new ArrayList<>())
                            .add(fiveWords(item.get("question").asString()));
                });
            }
        }
        Map<String, String> families = TaskDescriptions.builtIn().families();
        assertThat(families.keySet()).isEqualTo(grams.keySet());
        families.forEach((family, text) -> assertThat(fiveWords(text))
                .as(family)
                .allSatisfy(gram -> {
                    List<Set<String>> items = grams.get(family);
                    long holding =
                            items.stream().filter(set -> set.contains(gram)).count();
                    // What stands in many questions is the family's template, not an item.
                    assertThat(holding == 0 || holding * 4 >= items.size())
                            .as(gram)
                            .isTrue();
                }));
    }

    private static Set<String> fiveWords(String text) {
        String[] words = text.toLowerCase(Locale.ROOT).split("[^\\p{L}\\p{N}]+");
        Set<String> grams = new HashSet<>();
        for (int i = 0; i + 5 <= words.length; i++) {
            grams.add(String.join(" ", List.of(words).subList(i, i + 5)));
        }
        return grams;
    }
}
