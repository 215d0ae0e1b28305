package org.harnesslearning.proposer.run;

import org.harnesslearning.contracts.execution.Usage;
import org.harnesslearning.proposer.ProposerProperties;
import org.harnesslearning.proposer.settings.RunSettings;
import org.jspecify.annotations.Nullable;
import org.springframework.stereotype.Component;

/** Cost of a run's tokens by the configured prices. */
@Component
public class RunCost {
    private final RunServices services;

    RunCost(RunServices services) {
        this.services = services;
    }

    /** Cost so far; null when a model of the run has no price. */
    public @Nullable Double of(String run, RunSettings settings, ProposerProperties prices) {
        ProposerProperties.Price solver = prices.price(settings.solver().model());
        if (solver == null) {
            return null;
        }
        double cost = price(solver, services.budgets().usage(run).solver());
        if (settings.proposer() == null) {
            return cost;
        }
        ProposerProperties.Price proposer = prices.price(settings.proposer().model());
        return proposer == null ? null : cost + price(proposer, services.calls().usage(run));
    }

    private static double price(ProposerProperties.Price price, Usage usage) {
        return (price.prompt() * usage.promptTokens() + price.completion() * usage.completionTokens()) / 1_000_000;
    }
}
