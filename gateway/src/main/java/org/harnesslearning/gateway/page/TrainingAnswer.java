package org.harnesslearning.gateway.page;

import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.json.Json;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** A training run as the API answers it. */
record TrainingAnswer(
        String id,
        String kind,
        @Nullable String name,
        String baseModel,
        String state,
        @Nullable String stopReason,
        @Nullable String message,
        @Nullable JsonNode settings,
        Instant createdAt,
        @Nullable Instant startedAt,
        @Nullable Instant finishedAt,
        RunAnswer.Progress progress,
        @Nullable Long activeMs,
        @Nullable Map<String, Double> metrics,
        @Nullable Map<String, Long> counts,
        @Nullable List<Checkpoint> checkpoints,
        @Nullable Made result) {
    /** Answer of the list. */
    record Listed(List<TrainingAnswer> data, @Nullable String nextCursor) {}

    record Checkpoint(long step, long bytes, Instant createdAt) {}

    /** What it made. */
    record Made(
            @Nullable String version,
            @Nullable String base,
            @Nullable Long step) {}

    /** Answer of the metrics. */
    record Steps(List<Step> data, @Nullable Long nextAfter) {}

    record Step(long step, Map<String, Double> metrics) {}

    /** A picture of metrics that belong together; {@code data} as the chart takes it. */
    record Chart(String title, String names, String data, String last) {}

    /** Whether it has ended. */
    public boolean over() {
        return state.equals("succeeded") || state.equals("failed") || state.equals("cancelled");
    }

    /** A metric of the last step; null where it has none. */
    public @Nullable Double metric(String metric) {
        return metrics == null ? null : metrics.get(metric);
    }

    /** Settings as text for people. */
    public String settingsText() {
        return settings == null ? "" : settings.toPrettyString();
    }

    /** The charts of a run; those without a value are left out. */
    static List<Chart> charts(List<Step> steps, Show show) {
        Map<String, List<String>> groups = new LinkedHashMap<>();
        groups.put("Reward", List.of("reward", "reward_with_bonus"));
        groups.put("Valid replies", List.of("valid_rate"));
        groups.put("KL", List.of("kl"));
        groups.put("Groups without spread", List.of("zero_spread_share"));
        groups.put("Tokens a second", List.of("tokens_per_second"));
        groups.put("Loss", List.of("loss", "held_out_loss"));
        groups.put("Entropy", List.of("entropy"));
        groups.put("Gradient norm", List.of("grad_norm"));
        groups.put("Clipped tokens", List.of("clip_share"));
        groups.put("Learning rate", List.of("learning_rate"));
        List<Chart> charts = new ArrayList<>();
        groups.forEach((title, names) -> {
            List<String> present = names.stream()
                    .filter(name ->
                            steps.stream().anyMatch(step -> step.metrics().containsKey(name)))
                    .toList();
            if (present.isEmpty()) {
                return;
            }
            List<List<@Nullable Number>> data = new ArrayList<>();
            data.add(new ArrayList<>(
                    steps.stream().map(step -> (Number) step.step()).toList()));
            StringBuilder last = new StringBuilder();
            for (String name : present) {
                List<@Nullable Number> values = new ArrayList<>();
                Double latest = null;
                for (Step step : steps) {
                    Double value = step.metrics().get(name);
                    values.add(value);
                    latest = value == null ? latest : value;
                }
                data.add(values);
                last.append(last.isEmpty() ? "" : " · ").append(show.figure(latest));
            }
            charts.add(new Chart(
                    title,
                    String.join("|", present.stream().map(TrainingAnswer::label).toList()),
                    Json.write(data),
                    last.toString()));
        });
        return charts;
    }

    private static String label(String metric) {
        return switch (metric) {
            case "reward" -> "raw";
            case "reward_with_bonus" -> "with bonus";
            case "loss" -> "training";
            case "held_out_loss" -> "held out";
            default -> metric.replace('_', ' ');
        };
    }
}
