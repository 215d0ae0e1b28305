package org.harnesslearning.proposer.prompt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.harnesslearning.contracts.execution.ModelCall;
import org.harnesslearning.contracts.execution.PythonRun;
import org.harnesslearning.contracts.execution.QuestionCode;
import org.junit.jupiter.api.Test;

class ReportRendererTest {
    private static final TokenCounter COUNTER = TokenCounter.byCharacters();

    private final ReportRenderer renderer = new ReportRenderer(PromptBuilder.CURRENT);

    private String render(List<ReportEntry> entries) {
        return renderer.render(entries, COUNTER, ReportRenderer.DEFAULT_MAX_TOKENS);
    }

    @Test
    void theReportIsAsCommitted() throws IOException {
        Golden.check("report-mixed.txt", render(Reports.mixed()));
        Golden.check("report-short.txt", renderer.render(Reports.mixed(), COUNTER, 400));
    }

    @Test
    void equalInputGivesEqualBytes() {
        assertThat(render(Reports.mixed())).isEqualTo(render(Reports.mixed()));
    }

    @Test
    void failuresOfOneSignatureAreToldOnce() {
        String report = render(Reports.mixed());
        assertThat(report).containsOnlyOnce("raised ValueError (2 questions)").containsOnlyOnce("raised KeyError");
        assertThat(report).contains("line 9, in parse: return int(reply)");
        assertThat(report).contains("- Question: What is 3 + 1? Expected: 4 Exception: ValueError");
        assertThat(report.indexOf("ValueError")).isLessThan(report.indexOf("holds the expected answer"));
        assertThat(report).doesNotContain("What is 2 + 2?");
    }

    @Test
    void aPromptNamesTheQuestionInsteadOfRepeatingIt() {
        assertThat(render(Reports.mixed()))
                .contains("Call 1: prompt = the question; reply = the answer")
                .contains("prompt = Think.\n<question>\nBe short.\nReply 1: It is 17.");
    }

    @Test
    void theExpectedAnswerMustStandByItself() {
        assertThat(render(List.of(Reports.answered("q", "7", 0, "17 of them"))))
                .contains("The answer is wrong")
                .doesNotContain("holds");
        assertThat(render(List.of(Reports.answered("q", "7", 0, "-7")))).contains("The answer is wrong");
        assertThat(render(List.of(Reports.answered("q", "7", 0, "It is 7.")))).contains("holds the expected answer");
    }

    @Test
    void tenTimesTheTraceStaysWithinTheCap() {
        Random random = new Random(7);
        List<ReportEntry> entries = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            List<ModelCall> calls = new ArrayList<>();
            List<PythonRun> runs = new ArrayList<>();
            for (int j = 0; j < 12; j++) {
                calls.add(Reports.call(words(random, 2_000), words(random, 2_000)));
                runs.add(new PythonRun(words(random, 2_000), words(random, 500), words(random, 500), "ValueError: x"));
            }
            entries.add(
                    i % 3 == 0
                            ? Reports.failed(
                                    words(random, 800),
                                    words(random, 300),
                                    QuestionCode.ERROR,
                                    Reports.error("Error" + i, words(random, 3_000), i))
                            : Reports.entry(
                                    words(random, 800),
                                    words(random, 300),
                                    QuestionCode.OK,
                                    0,
                                    words(random, 3_000),
                                    null,
                                    Reports.trace(calls, runs)));
        }
        for (int cap : new int[] {60, 150, 500, 2_000, 5_000}) {
            String report = renderer.render(entries, COUNTER, cap);
            assertThat(COUNTER.count(report)).isLessThanOrEqualTo(cap);
            if (cap >= 500) {
                assertThat(report).contains("Left out: ").contains("1. ").contains(" [...] ");
                assertThat(COUNTER.count(report)).isGreaterThan(cap / 2);
            }
        }
    }

    @Test
    void aCounterThatDoesNotAddUpStillCannotBreakTheCap() {
        // Twice as expensive as a whole than in parts.
        TokenCounter odd = text -> text.length() > 1_000 ? text.length() : text.length() / 2;
        assertThat(odd.count(renderer.render(Reports.mixed(), odd, 900))).isLessThanOrEqualTo(900);
    }

    @Test
    void cutsKeepSurrogatePairsWhole() {
        String text = "\uD83D\uDE00".repeat(500);
        for (int limit = 1; limit < 60; limit++) {
            String cut = ReportRenderer.trim(text, limit);
            assertThat(new String(cut.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8))
                    .isEqualTo(cut);
        }
    }

    @Test
    void nothingFailedIsAReportToo() {
        assertThat(render(List.of(Reports.answered("What is 2 + 2?", "4", 1, "4"))))
                .isEqualTo("Mean score 1.00 on 1 question: 1 right, 0 partly right, 0 wrong, 0 without an answer.");
        assertThat(render(List.of())).startsWith("Mean score 0.00 on 0 questions");
    }

    @Test
    void anUnknownVersionIsRefused() {
        assertThatIllegalArgumentException().isThrownBy(() -> new ReportRenderer("proposer-v0"));
    }

    private static String words(Random random, int length) {
        StringBuilder text = new StringBuilder();
        while (text.length() < length) {
            text.append(Integer.toString(random.nextInt(1_000_000), 36)).append(' ');
        }
        return text.toString();
    }
}
