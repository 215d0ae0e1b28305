package org.harnesslearning.trainer.run;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.store.training.TrainingMetric;
import org.harnesslearning.store.training.TrainingRunRow;
import org.springframework.stereotype.Component;

/** A training run as clients see it. */
@Component
class TrainingView {
    private final TrainingServices services;

    TrainingView(TrainingServices services) {
        this.services = services;
    }

    /** As it stands in lists. */
    Map<String, Object> head(TrainingRunRow run) {
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("id", run.id());
        view.put("kind", run.kind());
        view.put("name", run.name());
        view.put("base_model", run.baseModel());
        view.put("state", run.state());
        view.put("stop_reason", run.stopReason());
        view.put("message", run.message());
        view.put("settings", run.settings());
        view.put("created_at", run.createdAt());
        view.put("started_at", run.startedAt());
        view.put("finished_at", run.finishedAt());
        view.put("progress", Map.of("done", run.step(), "planned", run.planned(), "unit", "steps"));
        view.put("result", run.result());
        view.put("active_ms", run.activeMs());
        String self = "/training-runs/" + run.id();
        view.put("links", Map.of("self", self, "events", self + "/events", "metrics", self + "/metrics"));
        return view;
    }

    /** The whole resource. */
    Map<String, Object> whole(TrainingRunRow run) {
        Map<String, Object> view = head(run);
        view.put(
                "metrics",
                services.runs()
                        .lastMetric(run.id())
                        .map(TrainingMetric::metrics)
                        .orElse(Map.of()));
        view.put("counts", services.runs().counts(run.id()));
        view.put(
                "checkpoints",
                services.checkpoints().all(run.id()).stream()
                        .map(checkpoint -> Map.of(
                                "step", checkpoint.step(),
                                "bytes", checkpoint.bytes(),
                                "created_at", checkpoint.createdAt()))
                        .toList());
        return view;
    }

    /** One page of steps. */
    Map<String, Object> metrics(List<TrainingMetric> metrics, int limit) {
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("data", metrics);
        view.put("next_after", metrics.size() < limit ? null : metrics.getLast().step());
        return view;
    }
}
