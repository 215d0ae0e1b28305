package org.harnesslearning.proposer.revision;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.execution.Usage;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.model.ChatRequest;
import org.harnesslearning.contracts.model.ChatResponse;
import org.harnesslearning.contracts.model.ModelApi;
import org.harnesslearning.contracts.model.ModelInfo;
import org.harnesslearning.proposer.prompt.ProposerPrompt;
import org.harnesslearning.proposer.run.Lanes;
import org.harnesslearning.proposer.run.RunContext;
import org.harnesslearning.proposer.run.RunEvents;
import org.harnesslearning.proposer.run.RunMetrics;
import org.harnesslearning.proposer.run.RunPlan;
import org.harnesslearning.proposer.run.RunServices;
import org.harnesslearning.proposer.run.RunStop;
import org.harnesslearning.proposer.run.Seeds;
import org.harnesslearning.proposer.settings.RunSettings;
import org.harnesslearning.store.execution.RunBudgets;
import org.harnesslearning.store.run.ProposerCallRow;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.stereotype.Component;
import org.springframework.web.client.RestClientException;

/**
 * Asks the proposer for the replies of a round. Candidates with the same demonstration are one call with n samples and
 * a seed each; candidate i of round r takes demonstration (i + r) mod D. A call's replies are committed together, with
 * the tokens they cost; a call that was begun and not committed before a kill is made again and counted as repeated.
 */
@Component
class Proposer {
    private static final Logger LOG = LoggerFactory.getLogger(Proposer.class);

    private final RunServices services;
    private final RunEvents events;
    private final ModelApi models;
    private final Prompts prompts;
    private final RunMetrics metrics;

    Proposer(RunServices services, RunEvents events, ModelApi models, Prompts prompts, RunMetrics metrics) {
        this.services = services;
        this.events = events;
        this.models = models;
        this.prompts = prompts;
        this.metrics = metrics;
    }

    /** One call: its number in the round and the candidates that it makes. */
    private record Group(int call, @Nullable String demonstration, List<Integer> candidates) {}

    /** A call that failed for good, if any: the candidates of its group have no reply. */
    record Unanswered(List<Integer> candidates, String message, int attempts) {}

    /**
     * Gets all replies of a round.
     *
     * @return the calls that failed after all tries
     */
    List<Unanswered> propose(RunContext run, int round, String parentSource, String report) {
        List<Unanswered> unanswered = new ArrayList<>();
        Lanes.each(groups(run, round), services.properties().candidateLanes(), group -> {
            Unanswered failed = call(run, round, group, parentSource, report);
            if (failed != null) {
                synchronized (unanswered) {
                    unanswered.add(failed);
                }
            }
        });
        return unanswered;
    }

    private static List<Group> groups(RunContext run, int round) {
        List<RunPlan.Demonstrated> demonstrations = run.plan().demonstrations();
        Map<Integer, List<Integer>> byDemonstration = new LinkedHashMap<>();
        int count = Objects.requireNonNull(run.settings().candidates());
        for (int candidate = 0; candidate < count; candidate++) {
            int turn = demonstrations.isEmpty() ? 0 : (candidate + round) % demonstrations.size();
            byDemonstration.computeIfAbsent(turn, key -> new ArrayList<>()).add(candidate);
        }
        List<Group> groups = new ArrayList<>();
        byDemonstration.forEach((turn, candidates) -> groups.add(new Group(
                groups.size(),
                demonstrations.isEmpty() ? null : demonstrations.get(turn).name(),
                candidates)));
        return groups;
    }

    private @Nullable Unanswered call(RunContext run, int round, Group group, String parentSource, String report) {
        ProposerCallRow stored =
                services.calls().find(run.id(), round, group.call()).orElse(null);
        if (stored != null && stored.committedAt() != null) {
            return null;
        }
        RunSettings.Proposer settings = Objects.requireNonNull(run.settings().proposer());
        ProposerPrompt prompt = prompts.messages(
                run.plan().description(),
                run.plan().family(),
                parentSource,
                report,
                group.demonstration(),
                settings,
                run.plan().kit());
        List<ChatRequest.Message> messages = prompt.messages();
        services.tx().executeWithoutResult(status -> {
            services.calls()
                    .open(
                            run.id(),
                            round,
                            group.call(),
                            group.demonstration(),
                            group.candidates(),
                            Hashes.json(messages),
                            messages,
                            settings.model());
            for (int candidate : group.candidates()) {
                services.candidates()
                        .open(
                                run.id(),
                                round,
                                candidate,
                                group.call(),
                                group.demonstration(),
                                Seeds.candidate(run.settings().seed(), round, candidate));
            }
        });
        ChatRequest request = request(run, round, group, prompt, settings);
        String failure = "no reply";
        for (int tries = 1; tries <= services.properties().attempts(); tries++) {
            run.checkBudget();
            affordable(run, messages, group.candidates().size(), settings);
            int attempts = services.calls().begin(run.id(), round, group.call());
            Instant start = services.clock().instant();
            try {
                ChatResponse response = models.chat(request);
                if (response.choices().size() != group.candidates().size()) {
                    throw new IllegalStateException(
                            "asked for " + group.candidates().size() + " replies and got "
                                    + response.choices().size());
                }
                // A reply that the endpoint broke off is the platform's fault, not the model's.
                if (response.choices().stream()
                        .anyMatch(choice -> choice.finishReason().equals("error")
                                || choice.finishReason().equals("cancelled"))) {
                    throw new IllegalStateException("the model endpoint broke off a reply");
                }
                commit(run, round, group, response, attempts, start);
                return null;
            } catch (PlatformException | RestClientException | IllegalStateException e) {
                failure = e instanceof RestClientException
                        ? "the model endpoint can't be reached"
                        : String.valueOf(e.getMessage());
                services.calls().failed(run.id(), round, group.call());
                LOG.warn("{} round {} call {} failed, try {}: {}", run.id(), round, group.call(), tries, failure);
                if (tries < services.properties().attempts()) {
                    run.pause(services.properties().retryDelay(), tries);
                }
            }
        }
        return new Unanswered(group.candidates(), failure, services.properties().attempts());
    }

    /** A call starts only when even its longest replies fit into what is left. */
    private void affordable(
            RunContext run, List<ChatRequest.Message> messages, int samples, RunSettings.Proposer settings) {
        long prompt = messages.stream()
                        .mapToLong(message -> message.content().length())
                        .sum()
                / 3;
        long most = prompt + (long) samples * settings.maxTokens();
        RunBudgets.Budget budget = run.budget();
        if (budget != null && budget.tokensUsed() + most > budget.tokensLimit()) {
            throw new RunStop(
                    RunStop.Reason.BUDGET,
                    "a call of the proposer may need " + most + " tokens; the budget has "
                            + Math.max(0, budget.tokensLimit() - budget.tokensUsed()) + " left for the rounds");
        }
    }

    private static ChatRequest request(
            RunContext run, int round, Group group, ProposerPrompt prompt, RunSettings.Proposer settings) {
        List<Long> seeds = group.candidates().stream()
                .map(candidate -> Seeds.candidate(run.settings().seed(), round, candidate))
                .toList();
        String positions = group.candidates().stream()
                .map(candidate -> round + "/" + candidate)
                .collect(Collectors.joining(","));
        boolean local = run.plan().proposer() == null || run.plan().proposer().kind() != ModelInfo.Kind.REMOTE;
        return new ChatRequest(
                settings.model(),
                prompt.messages(),
                settings.maxTokens(),
                settings.temperature(),
                settings.topP(),
                null,
                group.candidates().size(),
                null,
                seeds,
                null,
                local ? Boolean.TRUE : null,
                null,
                local ? Boolean.TRUE : null,
                prompt.continued() ? Boolean.TRUE : null,
                Map.of("positions", positions));
    }

    private void commit(RunContext run, int round, Group group, ChatResponse response, int attempts, Instant start) {
        Instant now = services.clock().instant();
        Usage usage = new Usage(
                group.candidates().size(),
                response.usage().promptTokens(),
                response.usage().completionTokens(),
                Duration.between(start, now).toMillis());
        Boolean committed = services.tx().execute(status -> {
            boolean first = services.calls()
                    .commit(
                            run.id(),
                            round,
                            group.call(),
                            response.weightsVersion(),
                            response.promptTokenIds(),
                            usage,
                            now);
            if (!first) {
                return false;
            }
            for (int i = 0; i < group.candidates().size(); i++) {
                ChatResponse.Choice choice = response.choices().get(i);
                ChatResponse.Logprobs logprobs = choice.logprobs();
                services.candidates()
                        .reply(
                                run.id(),
                                round,
                                group.candidates().get(i),
                                choice.message().content(),
                                choice.finishReason(),
                                choice.tokenIds(),
                                logprobs == null
                                        ? null
                                        : logprobs.content().stream()
                                                .map(ChatResponse.TokenLogprob::logprob)
                                                .toList());
            }
            services.limits().charge(run.id(), usage.promptTokens() + usage.completionTokens());
            if (attempts > 1) {
                services.runs()
                        .repeated(
                                run.id(),
                                (long) (attempts - 1) * group.candidates().size());
            }
            return true;
        });
        if (Boolean.TRUE.equals(committed)) {
            metrics.proposed(Objects.requireNonNull(run.settings().proposer()).model(), usage);
        }
        events.progress(run);
    }
}
