package org.harnesslearning.proposer.run;

import java.time.Clock;
import org.harnesslearning.proposer.ProposerProperties;
import org.harnesslearning.store.execution.RunBudgets;
import org.harnesslearning.store.execution.ToolCalls;
import org.harnesslearning.store.harness.HarnessStore;
import org.harnesslearning.store.run.CandidateStore;
import org.harnesslearning.store.run.EvaluationStore;
import org.harnesslearning.store.run.ProposerCallStore;
import org.harnesslearning.store.run.RoundStore;
import org.harnesslearning.store.run.RunLimits;
import org.harnesslearning.store.run.RunStore;
import org.springframework.stereotype.Component;
import org.springframework.transaction.support.TransactionTemplate;

/** The stores and settings that all steps of a run use. */
@Component
public record RunServices(
        TransactionTemplate tx,
        Clock clock,
        ProposerProperties properties,
        RunStore runs,
        RoundStore rounds,
        CandidateStore candidates,
        ProposerCallStore calls,
        EvaluationStore evaluations,
        HarnessStore harnesses,
        RunBudgets budgets,
        ToolCalls toolCalls,
        RunLimits limits) {}
