package org.harnesslearning.trainer.sft;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.store.run.CandidateOutcome;
import org.harnesslearning.trainer.rollout.Answers;
import org.junit.jupiter.api.Test;

class CorpusFilterTests {
    private static final String DIFF = "--- a/harness.py\n+++ b/harness.py\n@@ -1,2 +1,2 @@\n def run(q, env):\n"
            + "-    return env.llm(q)\n+    return env.llm(q).strip()\n";
    private static final CorpusFilter.Parent PARENT = new CorpusFilter.Parent("chain_sum", "sha256:p", 0.25, 0.1);

    private final CorpusFilter filter = new CorpusFilter(0, false);

    private static Answers.Candidate candidate(
            String tier, String diff, CandidateOutcome outcome, OutcomeCode code, Double mean, String finish) {
        return new Answers.Candidate(
                0, 0, 1, null, "reply", finish, List.of(1), List.of(-1.0), "sha256:h", tier, diff, outcome, code, mean);
    }

    private String judged(Answers.Candidate candidate) {
        return filter.judge(candidate, PARENT).orElse("accepted");
    }

    @Test
    void an_edit_that_ran_and_gained_more_than_the_noise_is_accepted() {
        for (String tier : List.of("EXACT", "TRAILING_WS", "INDENT")) {
            assertThat(judged(candidate(tier, DIFF, CandidateOutcome.SCORED, null, 0.5, "stop")))
                    .isEqualTo("accepted");
        }
    }

    @Test
    void each_other_edit_is_rejected_under_its_own_reason() {
        CandidateOutcome scored = CandidateOutcome.SCORED;
        assertThat(judged(candidate("UNICODE", DIFF, scored, null, 0.5, "stop")))
                .isEqualTo("loose_match");
        assertThat(judged(candidate("EXACT", DIFF, scored, null, 0.35, "stop")))
                .as("exactly the noise")
                .isEqualTo("no_gain");
        assertThat(judged(candidate("EXACT", DIFF, scored, null, 0.2, "stop"))).isEqualTo("no_gain");
        assertThat(judged(candidate("EXACT", DIFF, scored, null, null, "stop"))).isEqualTo("no_score");
        assertThat(judged(candidate("EXACT", DIFF, scored, null, Double.NaN, "stop")))
                .isEqualTo("no_score");
        assertThat(judged(candidate("EXACT", DIFF, scored, null, 0.5, "length")))
                .isEqualTo("cut_off");
        assertThat(judged(candidate("EXACT", "", scored, null, 0.5, "stop"))).isEqualTo("no_changed_line");
        assertThat(judged(candidate(
                        "EXACT", "@@ -1,1 +1,2 @@\n+   # nothing but a comment\n+\n", scored, null, 0.5, "stop")))
                .isEqualTo("no_changed_line");
        assertThat(judged(candidate(null, null, CandidateOutcome.INVALID, OutcomeCode.PROTECTED_REGION, null, "stop")))
                .isEqualTo("invalid_protected_region");
        assertThat(judged(candidate("EXACT", DIFF, CandidateOutcome.INVALID, OutcomeCode.LEAK_SUSPECT, null, "stop")))
                .isEqualTo("invalid_leak_suspect");
        assertThat(judged(candidate(
                        "EXACT", DIFF, CandidateOutcome.INFRA_FAILURE, OutcomeCode.SANDBOX_FAULT, null, "stop")))
                .isEqualTo("infra_failure");
        assertThat(judged(candidate("EXACT", DIFF, CandidateOutcome.NOT_FINISHED, null, null, "stop")))
                .isEqualTo("not_finished");
        assertThat(judged(candidate("EXACT", DIFF, null, null, null, "stop"))).isEqualTo("no_outcome");
    }

    @Test
    void a_gain_beyond_the_noise_can_be_asked_for() {
        assertThat(new CorpusFilter(0.3, false)
                        .judge(candidate("EXACT", DIFF, CandidateOutcome.SCORED, null, 0.6, "stop"), PARENT))
                .contains("no_gain");
    }

    @Test
    void diffs_are_equal_but_for_blanks_and_comments() {
        String spaced = DIFF.replace("env.llm(q).strip()", "env.llm(q).strip()   ")
                .replace("+    return", "+    # think first\n+        return");

        assertThat(EditDiff.hash(spaced)).isEqualTo(EditDiff.hash(DIFF));
        assertThat(EditDiff.hash(DIFF.replace("strip", "upper"))).isNotEqualTo(EditDiff.hash(DIFF));
        assertThat(EditDiff.changedLines(DIFF)).isEqualTo(2);
    }

    @Test
    void an_equal_edit_is_a_duplicate_within_its_state_or_over_all() {
        String hash = EditDiff.hash(DIFF).orElseThrow();
        CorpusFilter overAll = new CorpusFilter(0, true);

        assertThat(filter.first(hash, "chain_sum", "p")).isTrue();
        assertThat(filter.first(hash, "chain_sum", "p")).isFalse();
        assertThat(filter.first(hash, "maze", "p")).isTrue();
        assertThat(overAll.first(hash, "chain_sum", "p")).isTrue();
        assertThat(overAll.first(hash, "maze", "p")).isFalse();
    }
}
