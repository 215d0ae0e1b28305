package org.harnesslearning.trainer.run;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.outcome.OutcomeCode;
import org.harnesslearning.trainer.rollout.ProposerDouble;
import org.harnesslearning.trainer.rollout.ProposerDouble.Reply;
import tools.jackson.databind.JsonNode;

/** Orders of small supervised and policy runs of the tiny model, and the edits that they are given. */
public final class Loops {
    /** Steps of both kinds of run. */
    static final int STEPS = 9;
    /** Odd, while a batch of the policy run has two steps: every other checkpoint lies within a batch. */
    static final int CHECKPOINT_EVERY = 3;

    private static final List<String> FAMILIES = List.of("chain_sum", "maze", "sudoku", "n_queens", "syllogism");

    private Loops() {}

    /** Has the double answer with edits whose tokens and scores follow from the request and the candidate's number. */
    public static void script(ProposerDouble proposer) {
        proposer.script = (request, candidate) -> {
            Random random =
                    new Random(31 * request.at("/task/reasoning_gym/seed").asLong() + candidate);
            if (candidate == 3) {
                return Reply.invalid(OutcomeCode.NO_BLOCK);
            }
            List<Integer> tokens = new ArrayList<>();
            List<Double> logprobs = new ArrayList<>();
            for (int length = 4 + random.nextInt(8); tokens.size() < length; ) {
                tokens.add(random.nextInt(94));
                logprobs.add(-4.5 + 0.3 * random.nextGaussian());
            }
            return Reply.scored(0.25 + 0.25 * random.nextInt(4))
                    .tokens(tokens, logprobs)
                    .text(
                            "edit " + candidate + " of "
                                    + request.at("/task/reasoning_gym/family").asString(),
                            "stop");
        };
    }

    /** A supervised run with dropout, a held-out fold and the best adapter kept aside. */
    static Map<String, Object> sft() {
        return order("sft", """
                {"teachers": [{"model": "big"}, {"model": "small", "demonstrations": "none"}], "states": 5, "candidates": 3,
                 "held_out_share": 0.5, "epochs": 100, "batch_size": 3, "evaluate_every": 2, "patience": 100,
                 "lora": {"rank": 4, "dropout": 0.1}, "optimizer": {"learning_rate": 0.01}}""");
    }

    /** A policy run with two steps on a batch, sampling that runs ahead, dropout and a KL term. */
    static Map<String, Object> grpo() {
        return order("grpo", """
                {"candidates": 4, "groups_per_batch": 2, "iterations": 2, "max_staleness": 1, "kl_coefficient": 0.05,
                 "lora": {"rank": 4, "dropout": 0.1}, "optimizer": {"learning_rate": 0.01}}""");
    }

    /** A run of a kind, alike but for its method. */
    static Map<String, Object> order(String kind, String method) {
        return Map.of(
                "kind",
                kind,
                "base_model",
                "tiny",
                "families",
                FAMILIES,
                "method",
                Json.read(method, JsonNode.class),
                "budget",
                Map.of("steps", STEPS),
                "checkpoint_every",
                CHECKPOINT_EVERY,
                "seed",
                7);
    }

    /** Orders a run and gives its id. */
    static String order(Http http, Map<String, Object> request) {
        Http.Answer answer = http.post("/training-runs", request);
        if (answer.status() != 202) {
            throw new AssertionError(answer.body());
        }
        return answer.json().get("id").asString();
    }

    /** The run once it has ended, however. */
    static JsonNode ended(Http http, String id) {
        return http.await("/training-runs/" + id, run -> run.path("finished_at").isString());
    }

    /** Losses of all steps, of held-out edits too. */
    static List<String> losses(Http http, String id) {
        List<String> losses = new ArrayList<>();
        http.get("/training-runs/" + id + "/metrics")
                .json()
                .get("data")
                .forEach(step -> losses.add(step.get("step")
                        + " " + step.at("/metrics/loss") + " " + step.at("/metrics/held_out_loss") + " "
                        + step.at("/metrics/grad_norm") + " " + step.at("/metrics/kl")));
        return losses;
    }
}
