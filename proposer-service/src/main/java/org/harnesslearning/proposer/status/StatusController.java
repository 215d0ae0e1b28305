package org.harnesslearning.proposer.status;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.harnesslearning.contracts.execution.Usage;
import org.harnesslearning.proposer.ProposerProperties;
import org.harnesslearning.store.run.ActivityStore;
import org.harnesslearning.store.run.RunKind;
import org.harnesslearning.store.run.RunState;
import org.jspecify.annotations.Nullable;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/**
 * {@code GET /status}: runs by state, queues, sandboxes, the solver's speed, the last day's outcomes and spend. Counted
 * from the database, so that every replica answers alike and the figures are those of the runs' own resources.
 */
@RestController
class StatusController {
    private static final Duration LOST_AFTER = Duration.ofSeconds(30);
    private static final Duration WINDOW = Duration.ofMinutes(1);
    private static final Duration DAY = Duration.ofDays(1);
    private static final int MINUTES = 60;

    private final ActivityStore activity;
    private final ProposerProperties properties;
    private final Clock clock;

    StatusController(ActivityStore activity, ProposerProperties properties, Clock clock) {
        this.activity = activity;
        this.properties = properties;
        this.clock = clock;
    }

    @GetMapping("/status")
    Map<String, Object> status() {
        Instant since = clock.instant().minus(DAY);
        Map<String, Map<String, Long>> byKind = new LinkedHashMap<>();
        for (RunKind kind : RunKind.values()) {
            byKind.put(kind.json(), runs(kind));
        }
        Map<String, Object> status = new LinkedHashMap<>();
        status.put("runs", byKind.get(RunKind.ADAPTATION.json()));
        status.put("runs_by_kind", byKind);
        status.put("jobs", activity.jobs());
        status.put("sandbox", activity.sandbox(LOST_AFTER));
        status.put("solver", activity.solver(WINDOW));
        status.put("outcomes", activity.outcomes(since));
        status.put("spend", spend(since));
        status.put("history", activity.minutes(MINUTES));
        return status;
    }

    private Map<String, Long> runs(RunKind kind) {
        Map<String, Long> runs = new TreeMap<>();
        for (RunState state : RunState.values()) {
            runs.put(state.json(), 0L);
        }
        runs.putAll(activity.runs(kind));
        return runs;
    }

    private Map<String, Object> spend(Instant since) {
        List<ActivityStore.Spent> spent = activity.spent(since);
        Map<String, Object> spend = new LinkedHashMap<>();
        spend.put("since", since);
        for (String role : List.of("proposer", "solver")) {
            spend.put(
                    role,
                    spent.stream()
                            .filter(part -> part.role().equals(role))
                            .map(ActivityStore.Spent::usage)
                            .reduce(Usage.ZERO, Usage::plus));
        }
        spend.put("cost", cost(spent));
        return spend;
    }

    /** Null when a model that was used has no price. */
    private @Nullable Double cost(List<ActivityStore.Spent> spent) {
        double cost = 0;
        for (ActivityStore.Spent part : spent) {
            ProposerProperties.Price price = properties.price(part.model());
            if (price == null) {
                return null;
            }
            cost += (price.prompt() * part.usage().promptTokens()
                            + price.completion() * part.usage().completionTokens())
                    / 1_000_000;
        }
        return spent.isEmpty() ? null : Double.valueOf(cost);
    }
}
