package org.harnesslearning.benchmarks.learning;

import java.util.HashMap;
import java.util.Map;
import org.harnesslearning.contracts.json.Json;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** Candidates of a revision or a round, as the raw files keep them: reply, diff, source and the score of each question. */
final class Candidates {
    private Candidates() {}

    /** A copy of the platform's candidates with the sources of their harnesses; duplicates get the scores that they share. */
    static ArrayNode of(Experiment experiment, JsonNode candidates) {
        Map<String, JsonNode> byIndex = new HashMap<>();
        candidates.forEach(candidate -> byIndex.put(candidate.path("index").asString(""), candidate));
        ArrayNode kept = Json.mapper().createArrayNode();
        for (JsonNode candidate : candidates) {
            ObjectNode line = kept.addObject();
            for (String field : new String[] {
                "index",
                "outcome",
                "code",
                "message",
                "tier",
                "harness",
                "duplicate_of",
                "demonstration",
                "similarity",
                "seed",
                "usage",
                "reply",
                "finish_reason",
                "diff"
            }) {
                if (candidate.has(field) && !candidate.path(field).isNull()) {
                    line.set(field, candidate.path(field));
                }
            }
            String harness = candidate.path("harness").asString("");
            if (!harness.isEmpty()) {
                line.put("source", experiment.source(harness));
            }
            JsonNode questions = candidate.path("questions");
            String duplicate = candidate.path("duplicate_of").asString("");
            if (questions.isEmpty() && !duplicate.isEmpty()) {
                JsonNode other = byIndex.get(duplicate.substring(duplicate.indexOf('/') + 1));
                questions = other == null ? questions : other.path("questions");
            }
            if (candidate.path("score").has("mean")) {
                line.set("mean", candidate.path("score").path("mean"));
                line.set("strict", candidate.path("score").path("strict"));
            }
            line.set("scores", scores(questions));
        }
        return kept;
    }

    /** Score of each question, without answers. */
    static ArrayNode scores(JsonNode questions) {
        ArrayNode scores = Json.mapper().createArrayNode();
        for (JsonNode question : questions) {
            ObjectNode score = scores.addObject();
            score.set("item", question.path("item_hash"));
            score.set("score", question.path("score"));
            score.set("strict", question.path("strict"));
            score.set("code", question.path("code"));
        }
        return scores;
    }
}
