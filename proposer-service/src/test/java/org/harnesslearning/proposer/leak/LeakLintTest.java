package org.harnesslearning.proposer.leak;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.proposer.prompt.Demonstration;
import org.harnesslearning.proposer.prompt.Demonstrations;
import org.junit.jupiter.api.Test;

class LeakLintTest {
    private static final String SEED = "def run(question, env):\n    return env.llm(question)\n";

    private final LeakLint lint = LeakLint.of(items());

    private static List<Item> items() {
        List<Item> items = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            items.add(Item.of(
                    "Please answer the following question: which colour has the boat number " + i
                            + " that lies beside pier " + (i * 7) + " at noon?",
                    List.of(i == 3 ? "the blue boat there" : i == 4 ? "ultramarine-blue-17" : "blue " + i)));
        }
        return items;
    }

    private boolean suspects(String added) {
        return lint.check(SEED, added + SEED).isPresent();
    }

    @Test
    void fiveWordsOfOneQuestionAreSuspect() {
        assertThat(suspects("X = 'Boat NUMBER 17 that, lies'\n")).isTrue();
        assertThat(suspects("# the boat number 17 that lies beside\n")).isTrue();
        assertThat(suspects("X = 'boat number 17 that'\n")).as("four words").isFalse();
    }

    @Test
    void wordsOfTheTemplateAreFree() {
        assertThat(suspects("X = 'Please answer the following question: which colour has the boat number'\n"))
                .isFalse();
    }

    @Test
    void lineBreaksAndJoinsHideNothing() {
        assertThat(suspects("X = ('boat number '\n     '17 that ' # so\n     'lies')\n"))
                .isTrue();
        assertThat(suspects("# boat number 17\n# that lies\n")).isTrue();
        assertThat(suspects("X = 'boat number\\n17 that\\tlies'\n")).isTrue();
        assertThat(suspects("X = f'boat number 17 that lies {q}'\n")).isTrue();
    }

    @Test
    void namesAndCodeAreNoText() {
        assertThat(suspects("boat = number + 17 if that else lies\n")).isFalse();
    }

    @Test
    void textThatWasThereBeforeIsNotOfTheEdit() {
        String parent = "HINT = 'boat number 17 that lies'\n" + SEED;
        assertThat(lint.check(parent, parent + "x = 1\n")).isEmpty();
        assertThat(lint.check(SEED, parent)).isPresent();
        String before = "X = '''\nfree\n'''\n" + SEED;
        assertThat(lint.check(before, before.replace("free\n", "free\nboat number 17 that lies\n")))
                .isPresent();
    }

    @Test
    void onlyLongAnswersCount() {
        assertThat(suspects("X = 'The Blue boat  there'\n")).as("four words").isTrue();
        assertThat(suspects("X = {'q': 'ultramarine-blue-17'}\n"))
                .as("sixteen characters")
                .isTrue();
        assertThat(suspects("X = 'ultramarine-blue-178'\n")).as("another word").isFalse();
        assertThat(suspects("X = 'blue 7'\n")).as("short").isFalse();
    }

    @Test
    void ofVeryFewItemsNoneIsTemplate() {
        LeakLint few = LeakLint.of(List.of(Item.of("one two three four five six", List.of("x"))));
        assertThat(few.check(SEED, "# two three four five six\n" + SEED)).isPresent();
    }

    @Test
    void theMessageSaysNeitherItemNorSplitNorPlace() {
        String message = lint.check(SEED, "# the boat number 17 that lies beside\n" + SEED)
                .orElseThrow();
        assertThat(message).doesNotContain("17").doesNotContain("boat");
        assertThat(message).doesNotContainIgnoringCase("feedback").doesNotContainIgnoringCase("held");
        assertThat(message)
                .isEqualTo(lint.check(SEED, "# the blue boat there\n" + SEED).orElseThrow());
    }

    @Test
    void theDemonstrationsAreClean() {
        for (Demonstration demonstration :
                Demonstrations.named("default").orElseThrow().all()) {
            assertThat(lint.check(demonstration.seed(), demonstration.result())).isEmpty();
        }
    }
}
