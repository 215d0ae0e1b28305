package org.harnesslearning.proposer.adaptation;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.proposer.run.RunContext;
import org.harnesslearning.proposer.run.RunServices;
import org.harnesslearning.store.run.CandidateRow;
import org.harnesslearning.store.run.RoundRow;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * Hash of all that a run decided: canonical JSON of its settings and, for each round, parent, candidates (harness, code,
 * scores) and choice, then the held-out scores. No ids, times or token counts, so the same seed and recorded replies give
 * the same hash.
 */
final class Lineage {
    private Lineage() {}

    static String hash(RunContext run, RunServices services, FinalMeasurement.Finding finding) {
        JsonNode settings = Json.mapper().valueToTree(run.settings());
        if (settings.get("task") instanceof ObjectNode task && task.has("id")) {
            task.put("id", "");
        }
        Map<String, Object> lineage = new LinkedHashMap<>();
        lineage.put("settings", settings);
        List<Object> rounds = new ArrayList<>();
        for (RoundRow round : services.rounds().all(run.id())) {
            Map<String, Object> fields = new LinkedHashMap<>();
            fields.put("parent", round.parent());
            fields.put(
                    "candidates",
                    services.candidates().ofRound(run.id(), round.round()).stream()
                            .map(Lineage::candidate)
                            .toList());
            fields.put("chosen", round.chosen());
            rounds.add(fields);
        }
        lineage.put("rounds", rounds);
        lineage.put("held_out", finding.scores());
        return Hashes.json(lineage);
    }

    private static Map<String, Object> candidate(CandidateRow candidate) {
        Map<String, Object> fields = new LinkedHashMap<>();
        if (candidate.harness() != null) {
            fields.put("harness", candidate.harness());
        }
        fields.put(
                "outcome",
                candidate.outcome() == null ? "" : candidate.outcome().json());
        fields.put("code", candidate.code() == null ? "" : candidate.code().name());
        fields.put(
                "scores",
                candidate.score() == null ? List.of() : candidate.score().scores());
        return fields;
    }
}
