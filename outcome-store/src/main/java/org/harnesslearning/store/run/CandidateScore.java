package org.harnesslearning.store.run;

import java.util.List;

/**
 * Score of a candidate on the dev questions.
 *
 * @param scores by question, in item order
 * @param strict share of questions with score 1.0
 * @param strictByQuestion whether each question has score 1.0
 */
public record CandidateScore(double mean, double strict, List<Double> scores, List<Boolean> strictByQuestion) {
    public CandidateScore {
        scores = List.copyOf(scores);
        strictByQuestion = List.copyOf(strictByQuestion);
    }
}
