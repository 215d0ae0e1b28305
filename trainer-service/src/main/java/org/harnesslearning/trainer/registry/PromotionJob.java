package org.harnesslearning.trainer.registry;

import com.github.kagkarlsson.scheduler.SchedulerClient;
import com.github.kagkarlsson.scheduler.task.CompletionHandler;
import com.github.kagkarlsson.scheduler.task.TaskDescriptor;
import com.github.kagkarlsson.scheduler.task.helper.CustomTask;
import com.github.kagkarlsson.scheduler.task.helper.Tasks;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.ErrorType;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.store.model.AliasChange;
import org.harnesslearning.store.model.PromotionRow;
import org.harnesslearning.store.model.PromotionStore;
import org.harnesslearning.store.run.CandidateRow;
import org.harnesslearning.store.run.CandidateStore;
import org.harnesslearning.store.run.RunRow;
import org.harnesslearning.store.run.RunState;
import org.harnesslearning.store.run.RunStore;
import org.harnesslearning.tasks.statistics.Gate;
import org.harnesslearning.trainer.TrainerProperties;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.dao.DataAccessException;
import org.springframework.transaction.TransactionException;
import org.springframework.transaction.support.TransactionTemplate;
import org.springframework.web.client.RestClientException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * The durable job of a promotion: a revision for each withheld family, set of questions and side, ordered at
 * proposer-service under keys that give the same revision again after a kill; then the decision, and the name is changed
 * when it passes. Between its looks at the revisions the job is only a row in the scheduler's table.
 */
final class PromotionJob {
    private static final Logger LOG = LoggerFactory.getLogger(PromotionJob.class);
    private static final TaskDescriptor<Void> TASK = TaskDescriptor.of("promotion");

    private final PromotionStore promotions;
    private final StoredModels models;
    private final RevisionApi revisions;
    private final RunStore runs;
    private final CandidateStore candidates;
    private final TransactionTemplate tx;
    private final TrainerProperties properties;
    private final Clock clock;
    private final MeterRegistry meters;

    PromotionJob(
            PromotionStore promotions,
            StoredModels models,
            RevisionApi revisions,
            RunStore runs,
            CandidateStore candidates,
            TransactionTemplate tx,
            TrainerProperties properties,
            Clock clock,
            MeterRegistry meters) {
        this.promotions = promotions;
        this.models = models;
        this.revisions = revisions;
        this.runs = runs;
        this.candidates = candidates;
        this.tx = tx;
        this.properties = properties;
        this.clock = clock;
        this.meters = meters;
        for (PromotionRow.State state : List.of(PromotionRow.State.PROMOTED, PromotionRow.State.REFUSED)) {
            counter(state);
        }
    }

    /** A revision of the comparison. */
    record Ordered(String family, long seed, boolean candidate, String run) {}

    /** Makes a promotion due; the caller holds the transaction that stores it. */
    void schedule(SchedulerClient scheduler, PromotionRow promotion) {
        scheduler.scheduleIfNotExists(TASK.instance(promotion.id()).scheduledTo(clock.instant()));
    }

    /** The task for the scheduler. */
    CustomTask<Void> task() {
        return Tasks.custom(TASK)
                .onFailure((complete, operations) ->
                        operations.reschedule(complete, clock.instant().plus(Duration.ofSeconds(1))))
                .onDeadExecutionRevive()
                .execute((instance, context) -> look(instance.getId()));
    }

    private CompletionHandler<Void> look(String id) {
        PromotionRow promotion = promotions.find(id).orElse(null);
        if (promotion == null || promotion.state().terminal()) {
            return new CompletionHandler.OnCompleteRemove<>();
        }
        try {
            PromotionSettings settings = Json.mapper().treeToValue(promotion.settings(), PromotionSettings.class);
            List<Ordered> ordered = promotion.runs().isEmpty()
                    ? order(promotion, settings)
                    : Arrays.asList(Json.mapper().treeToValue(promotion.runs(), Ordered[].class));
            Optional<List<Comparison.Pair>> pairs = finished(ordered);
            if (pairs.isEmpty()) {
                return (complete, operations) ->
                        operations.reschedule(complete, clock.instant().plus(properties.queuePoll()));
            }
            boolean recorded =
                    ordered.stream().anyMatch(run -> runs.get(run.run()).recorded());
            decide(promotion, Comparison.decide(pairs.get(), settings, recorded));
        } catch (PlatformException e) {
            if (e.code().type() == ErrorType.RESOURCES) {
                throw e; // tried again a second later
            }
            end(promotion, PromotionRow.State.FAILED, e.code() + ": " + e.getMessage(), null);
        } catch (DataAccessException | TransactionException e) {
            throw e; // tried again a second later
        } catch (IllegalStateException e) {
            end(promotion, PromotionRow.State.FAILED, String.valueOf(e.getMessage()), null);
        } catch (RuntimeException e) {
            LOG.error("{} fails", id, e);
            end(promotion, PromotionRow.State.FAILED, e.getClass().getSimpleName() + ": " + e.getMessage(), null);
        }
        return new CompletionHandler.OnCompleteRemove<>();
    }

    private List<Ordered> order(PromotionRow promotion, PromotionSettings settings) {
        String candidate = promotion.id() + "-candidate";
        models.serve(promotion.candidate(), candidate);
        String serving = promotion.base();
        if (promotion.serving() != null) {
            serving = promotion.id() + "-serving";
            models.serve(promotion.serving(), serving);
        }
        List<Ordered> ordered = new ArrayList<>();
        for (String family : settings.families()) {
            for (int set = 0; set < settings.seeds(); set++) {
                // The three splits of a set take seed, seed + 1000 and seed + 2000.
                long seed = settings.seed() + 10_000L * set;
                for (boolean side : new boolean[] {true, false}) {
                    String key = promotion.id() + "/" + family + "/" + seed + "/" + (side ? "candidate" : "serving");
                    JsonNode body = request(settings, family, seed, side ? candidate : serving, promotion);
                    ordered.add(new Ordered(family, seed, side, revise(body, key)));
                }
            }
        }
        tx.executeWithoutResult(status -> promotions.running(promotion.id(), ordered));
        return ordered;
    }

    private String revise(JsonNode body, String key) {
        try {
            return revisions
                    .revise(body, key, "wait=0", "trainer-service", "run")
                    .get("id")
                    .asString();
        } catch (RestClientException e) {
            throw new PlatformException(ErrorCode.SOLVER_UNAVAILABLE, "proposer-service can't be reached", e);
        }
    }

    private static JsonNode request(
            PromotionSettings settings, String family, long seed, String model, PromotionRow promotion) {
        ObjectNode body = Json.mapper().createObjectNode();
        body.putObject("task").putObject("reasoning_gym").put("family", family).put("seed", seed);
        body.putObject("splits")
                .put("feedback", settings.feedback())
                .put("dev", settings.dev())
                .put("held_out", 0);
        body.put("candidates", settings.candidates());
        ObjectNode proposer = body.putObject("proposer");
        if (settings.proposer() != null) {
            proposer.setAll((ObjectNode) settings.proposer().deepCopy());
        }
        proposer.put("model", model).put("demonstrations", "none");
        if (settings.solver() != null) {
            body.set("solver", settings.solver());
        }
        if (settings.limits() != null) {
            body.set("limits", settings.limits());
        }
        body.put("seed", seed);
        body.putObject("labels").put("promotion", promotion.id());
        return body;
    }

    /** All pairs, empty while a revision runs. */
    private Optional<List<Comparison.Pair>> finished(List<Ordered> ordered) {
        for (Ordered run : ordered) {
            RunRow row = runs.find(run.run())
                    .orElseThrow(() -> new IllegalStateException("the revision " + run.run() + " was deleted"));
            if (row.state() == RunState.PAUSED || row.state() == RunState.FAILED || row.state() == RunState.CANCELLED) {
                throw new IllegalStateException("the revision " + run.run() + " of " + run.family() + " is "
                        + row.state().json() + ": " + row.message());
            }
            if (row.state() != RunState.SUCCEEDED) {
                return Optional.empty();
            }
        }
        List<Comparison.Pair> pairs = new ArrayList<>();
        for (Ordered run : ordered) {
            if (run.candidate()) {
                Ordered other = ordered.stream()
                        .filter(o -> !o.candidate() && o.family().equals(run.family()) && o.seed() == run.seed())
                        .findFirst()
                        .orElseThrow();
                if (!questions(run).equals(questions(other))) {
                    throw new IllegalStateException("both sides of " + run.family() + " have other questions");
                }
                pairs.add(new Comparison.Pair(run.family(), run.seed(), side(run), side(other)));
            }
        }
        return Optional.of(pairs);
    }

    private List<String> questions(Ordered run) {
        return Objects.requireNonNull(runs.items(run.run()).get(Split.DEV)).stream()
                .map(Item::hash)
                .toList();
    }

    private Comparison.Side side(Ordered run) {
        List<CandidateRow> rows = candidates.ofRound(run.run(), 1);
        try {
            return Comparison.side(rows, questions(run).size());
        } catch (IllegalStateException e) {
            throw new IllegalStateException(
                    "the revision " + run.run() + " of " + run.family() + ": " + e.getMessage(), e);
        }
    }

    private void decide(PromotionRow promotion, Comparison.Decision decision) {
        if (decision.verdict() != Gate.PASSED) {
            end(promotion, PromotionRow.State.REFUSED, decision.sentence(), decision);
            return;
        }
        AliasChange change = new AliasChange(
                0,
                promotion.candidate(),
                promotion.serving(),
                "promote",
                false,
                promotion.id(),
                decision.sentence(),
                promotion.createdBy(),
                clock.instant());
        boolean set = models.set(promotion.name(), promotion.base(), change);
        end(
                promotion,
                set ? PromotionRow.State.PROMOTED : PromotionRow.State.FAILED,
                set ? decision.sentence() : "the name was changed while the comparison ran; ask again",
                decision);
    }

    private void end(
            PromotionRow promotion, PromotionRow.State state, String message, Comparison.@Nullable Decision decision) {
        LOG.info("{} of {} for {}: {}: {}", promotion.id(), promotion.candidate(), promotion.name(), state, message);
        tx.executeWithoutResult(status -> {
            promotions.finish(promotion.id(), state, message, decision);
            models.withdraw(promotion.id() + "-candidate");
            models.withdraw(promotion.id() + "-serving");
        });
        counter(state).increment();
    }

    private Counter counter(PromotionRow.State state) {
        return Counter.builder("trainer.promotions").tag("result", state.json()).register(meters);
    }
}
