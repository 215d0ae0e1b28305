package org.harnesslearning.benchmarks.learning;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.harnesslearning.contracts.json.Json;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * Keeps what a policy run was trained on: its groups as the API shows them, with reply and diff of each sample, once each.
 * What can't be read is told and never ends the stage.
 */
final class Samples {
    private static final Set<Integer> LATER = Set.of(429, 502, 503, 504);

    private final Experiment experiment;
    private final RawFile file;
    private final String stage;

    Samples(Experiment experiment, String stage) {
        this.experiment = experiment;
        this.file = experiment.file(Experiment.SAMPLES);
        this.stage = stage;
    }

    /** A platform that does not answer now: the rest is for the next call. */
    private static final class NotNow extends RuntimeException {
        private static final long serialVersionUID = 1L;

        NotNow(RuntimeException cause) {
            super(cause.getMessage(), cause);
        }
    }

    /**
     * Stores the groups of the batches that steps were done on, less those that are stored.
     *
     * @param first steps of the stage that lie before the run
     * @param done steps of the run
     * @param iterations its steps on each batch
     * @param last whether no other call follows soon: then a platform that does not answer is asked for longer
     */
    void read(String run, long first, long done, int iterations, boolean last) {
        if (done < 1) {
            return;
        }
        long finished = (done - 1) / iterations;
        try {
            Long after = last(run);
            while (after != null) {
                after = page(run, after, first, iterations, finished, last);
            }
        } catch (NotNow | PlatformClient.Refused | JacksonException e) {
            experiment.say(
                    "%s: samples up to step %d are not all stored%s: %s",
                    stage, first + done, last ? "" : " yet", String.valueOf(e.getMessage()));
        }
    }

    /** Number of the last group that is stored; 0 for none. */
    private long last(String run) {
        return file.lines("group").stream()
                .filter(line -> line.path("training_run").asString("").equals(run))
                .mapToLong(line -> line.path("number").asLong(0))
                .max()
                .orElse(0);
    }

    /** Stores a page; returns the number that the next one follows, null where there is none. */
    private @Nullable Long page(String run, long after, long first, int iterations, long finished, boolean last) {
        JsonNode page = get("/training-runs/" + run + "/groups?after=" + after, last);
        List<ObjectNode> lines = new ArrayList<>();
        try {
            for (JsonNode group : page.path("data")) {
                long batch = group.path("batch").asLong(0);
                if (batch > finished) {
                    return null;
                }
                lines.add(line(run, first + batch * iterations + 1, group, last));
            }
        } finally {
            file.add(lines);
        }
        return page.path("next_after").isNumber() ? page.path("next_after").asLong(0) : null;
    }

    private ObjectNode line(String run, long step, JsonNode group, boolean last) {
        ObjectNode line = Json.mapper().createObjectNode();
        line.put("type", "group").put("stage", stage).put("training_run", run).put("step", step);
        group.properties().forEach(entry -> line.set(entry.getKey(), entry.getValue()));
        String revision = group.path("run").asString("");
        if (revision.isEmpty() || group.path("samples").isEmpty()) {
            return line;
        }
        Map<Integer, JsonNode> written = new HashMap<>();
        try {
            get("/revisions/" + revision, last)
                    .path("candidates")
                    .forEach(candidate -> written.put(candidate.path("index").asInt(-1), candidate));
        } catch (PlatformClient.Refused | JacksonException e) {
            line.put("unread", String.valueOf(e.getMessage()));
            experiment.say(
                    "%s: group %s is stored without replies: %s",
                    stage, group.path("number").asString(""), String.valueOf(e.getMessage()));
        }
        for (JsonNode sample : line.path("samples")) {
            JsonNode candidate = written.get(sample.path("candidate").asInt(-1));
            if (candidate != null && sample instanceof ObjectNode object) {
                object.set("reply", candidate.path("reply"));
                object.set("diff", candidate.path("diff"));
            }
        }
        return line;
    }

    private JsonNode get(String path, boolean last) {
        try {
            return last ? experiment.client().get(path) : experiment.client().once(path);
        } catch (PlatformClient.Refused e) {
            throw LATER.contains(e.status()) ? new NotNow(e) : e;
        } catch (LearnException e) {
            throw new NotNow(e);
        }
    }
}
