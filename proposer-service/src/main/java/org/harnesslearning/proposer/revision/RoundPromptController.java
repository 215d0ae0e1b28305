package org.harnesslearning.proposer.revision;

import java.util.Objects;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.revision.RoundPrompt;
import org.harnesslearning.proposer.prompt.ProposerPrompt;
import org.harnesslearning.proposer.run.RunPlan;
import org.harnesslearning.proposer.run.RunServices;
import org.harnesslearning.proposer.run.RunView;
import org.harnesslearning.proposer.settings.RunSettings;
import org.harnesslearning.store.run.RoundRow;
import org.harnesslearning.store.run.RunRow;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;

/**
 * {@code GET /revisions/{id}/rounds/{round}/prompt}: what the proposer would have read in a stored round without a
 * demonstration. For other services only; the gateway has no such route.
 */
@RestController
class RoundPromptController {
    private final RunServices services;
    private final Prompts prompts;

    RoundPromptController(RunServices services, Prompts prompts) {
        this.services = services;
        this.prompts = prompts;
    }

    /**
     * The prompt.
     *
     * @throws PlatformException NOT_FOUND; NOT_FINISHED before the round has its report; INVALID_STATE where the run was
     *     made with versions of prompt or report that this service no longer writes
     */
    @GetMapping("/revisions/{id}/rounds/{round}/prompt")
    RoundPrompt prompt(@PathVariable("id") String id, @PathVariable("round") int round) {
        RunRow run = services.runs()
                .find(id)
                .orElseThrow(() -> new PlatformException(ErrorCode.NOT_FOUND, "There is no run " + id));
        RoundRow row = services.rounds()
                .find(id, round)
                .orElseThrow(() -> new PlatformException(ErrorCode.NOT_FOUND, id + " has no round " + round));
        RunSettings settings = RunView.settings(run);
        RunSettings.Proposer proposer = settings.proposer();
        RunSettings.Versions versions = settings.versions();
        if (proposer == null || versions == null) {
            throw new PlatformException(ErrorCode.NOT_FOUND, id + " has no proposer");
        }
        if (row.reportText() == null) {
            throw new PlatformException(ErrorCode.NOT_FINISHED, "Round " + round + " of " + id + " has no report yet");
        }
        if (!versions.equals(prompts.versions())) {
            throw new PlatformException(
                    ErrorCode.INVALID_STATE,
                    id + " was made with " + versions + ", now there are " + prompts.versions());
        }
        RunPlan plan = Json.mapper().treeToValue(run.plan(), RunPlan.class);
        ProposerPrompt prompt = prompts.messages(
                plan.description(),
                plan.family(),
                services.harnesses().source(row.parent()),
                Objects.requireNonNull(row.reportText()),
                null,
                proposer,
                plan.kit());
        return new RoundPrompt(
                prompt.messages(), prompt.continued(), versions.prompt(), versions.report(), versions.descriptions());
    }
}
