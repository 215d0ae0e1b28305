package org.harnesslearning.proposer.run;

import java.time.Duration;
import java.time.Instant;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.proposer.settings.RunSettings;
import org.harnesslearning.store.execution.RunBudgets;
import org.harnesslearning.store.run.RunKind;
import org.harnesslearning.store.run.RunRow;
import org.jspecify.annotations.Nullable;

/**
 * A run in the hands of its worker: what it is, and the control that is asked between two units of work.
 *
 * <p>Wall clock counts while a worker has the run. What earlier workers used is stored; a killed worker loses at most the
 * time since its last committed unit.
 */
public final class RunContext {
    private final RunServices services;
    private final RunRow row;
    private final RunSettings settings;
    private final RunPlan plan;
    private final Map<Split, List<Item>> items;
    private final BooleanSupplier draining;
    private long activeMs;
    private Instant workingSince;
    private boolean rounds = true;

    RunContext(RunServices services, RunRow row, BooleanSupplier draining) {
        this.services = services;
        this.row = row;
        this.draining = draining;
        this.settings = Json.mapper().treeToValue(row.settings(), RunSettings.class);
        this.plan = Json.mapper().treeToValue(row.plan(), RunPlan.class);
        this.items = new EnumMap<>(services.runs().items(row.id()));
        this.activeMs = row.activeMs();
        this.workingSince = services.clock().instant();
    }

    public String id() {
        return row.id();
    }

    public RunKind kind() {
        return row.kind();
    }

    /** Why the rounds ended, where that is committed already. */
    public @Nullable String stopReason() {
        return row.stopReason();
    }

    /** Hash of the starting harness. */
    public String seedHarness() {
        return row.seedHarness();
    }

    /** Whether a model's replies come from a file. */
    public boolean recorded() {
        return row.recorded();
    }

    public RunSettings settings() {
        return settings;
    }

    public RunPlan plan() {
        return plan;
    }

    /** Items of a split, in order. */
    public List<Item> items(Split split) {
        return items.getOrDefault(split, List.of());
    }

    /** Number of questions that the final measurement asks: starting harness, result, noise, one demonstration. */
    public long finalQuestions() {
        if (row.kind() != RunKind.ADAPTATION) {
            return 0;
        }
        int columns = plan.demonstrations().isEmpty() ? 3 : 4;
        return (long) columns * items(Split.HELD_OUT).size();
    }

    /**
     * Asked before each unit of work, and while one is waited for.
     *
     * @throws RunStop when the work has to be left now
     */
    public void check() {
        checkWishes();
        if (usedMs() >= allowedMs()) {
            throw new RunStop(RunStop.Reason.BUDGET, "the wall clock budget is used up");
        }
    }

    /**
     * Asked before work that costs nothing, which an empty budget does not stop.
     *
     * @throws RunStop when the work has to be left now
     */
    public void checkWishes() {
        if (draining.getAsBoolean()) {
            throw new RunStop(RunStop.Reason.DRAIN, "the service shuts down");
        }
        RunRow now = services.runs()
                .find(row.id())
                .orElseThrow(() -> new RunStop(RunStop.Reason.GONE, "the run was deleted"));
        if (now.wanted() != null) {
            throw switch (now.wanted()) {
                case CANCEL -> new RunStop(RunStop.Reason.CANCEL, "cancelled");
                case PAUSE -> new RunStop(RunStop.Reason.PAUSE, "paused by the user");
            };
        }
    }

    /** Asked before a unit that pays: also looks at calls and tokens. */
    public void checkBudget() {
        check();
        RunBudgets.Budget budget = budget();
        String exhausted = budget == null
                ? "the run has no budget"
                : budget.exhausted(services.clock().instant());
        if (exhausted != null) {
            throw new RunStop(RunStop.Reason.BUDGET, exhausted);
        }
    }

    /** The budget as it stands. */
    public RunBudgets.@Nullable Budget budget() {
        return services.budgets().find(row.id()).orElse(null);
    }

    /**
     * Waits before a further try, and keeps asking whether the run has to be left.
     *
     * @param tries tries so far; each further one waits twice as long
     */
    public void pause(Duration delay, int tries) {
        long end = System.nanoTime()
                + delay.multipliedBy(1L << Math.min(tries - 1, 6)).toNanos();
        for (long left = 1; left > 0; left = end - System.nanoTime()) {
            check();
            try {
                Thread.sleep(Math.clamp(left / 1_000_000, 1, 200));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new RunStop(RunStop.Reason.DRAIN, "interrupted");
            }
        }
    }

    /** Tells the store of the time used; called with each committed unit. */
    public synchronized void worked() {
        Instant now = services.clock().instant();
        long ms = Duration.between(workingSince, now).toMillis();
        workingSince = now;
        activeMs += ms;
        services.runs().worked(row.id(), ms);
    }

    /** Opens the whole budget to the final measurement. */
    public void finalPhase() {
        rounds = false;
        limit();
    }

    /**
     * Sets what may be spent now: in the rounds the budget less the reserve of {@link Reserve}, then all of it. Called
     * at the start of work and before each round, so that the reserve follows the measured use of a question.
     */
    public void limit() {
        RunSettings.Budget budget = settings.budget();
        long questions = rounds ? finalQuestions() : 0;
        RunBudgets.RunUsage usage = services.budgets().usage(row.id());
        long asked = Math.max(1, services.evaluations().answered(row.id()));
        double calls = Math.max(1, (double) usage.solver().calls() / asked);
        double tokens = (double) (usage.solver().promptTokens() + usage.solver().completionTokens()) / asked;
        double tools = budget.mostToolCalls() == 0
                ? 0
                : Math.max(1, (double) services.toolCalls().spent(row.id()).calls() / asked);
        services.limits()
                .limit(
                        row.id(),
                        Reserve.forRounds(budget.solverCalls(), calls, questions),
                        Reserve.forRounds(budget.tokens(), tokens, questions),
                        Reserve.forRounds(budget.mostToolCalls(), tools, questions),
                        services.clock().instant().plusMillis(Math.max(0, allowedMs() - usedMs())));
    }

    private synchronized long usedMs() {
        return activeMs
                + Duration.between(workingSince, services.clock().instant()).toMillis();
    }

    private long allowedMs() {
        long budget = settings.budget().wallClockS() * 1000;
        if (!rounds || finalQuestions() == 0) {
            return budget;
        }
        long asked = services.evaluations().answered(row.id());
        return asked == 0 ? budget : Reserve.forRounds(budget, (double) usedMs() / asked, finalQuestions());
    }
}
