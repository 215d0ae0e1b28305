package org.harnesslearning.trainer.sft;

import com.fasterxml.jackson.annotation.JsonFormat;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.request.Faults;
import org.harnesslearning.contracts.request.Fields;
import org.harnesslearning.trainer.method.AdapterSettings;
import org.harnesslearning.trainer.method.EngineSettings;
import org.harnesslearning.trainer.method.OptimizerSettings;
import org.harnesslearning.trainer.method.StartHarnesses;
import org.harnesslearning.trainer.rollout.RolloutSettings;
import tools.jackson.databind.JsonNode;

/**
 * Settings of a supervised run.
 *
 * @param teachers who writes the edits; empty only with {@code corpus}
 * @param corpus ids of supervised runs whose edits are used instead
 * @param states task families × starting harnesses that each teacher edits
 * @param candidates edits of one state by one teacher
 * @param harnesses hashes of the starting harnesses, in turn; empty for the minimal one
 * @param familyHarnesses those of families that have their own
 * @param minGain dev gain over the parent that is asked for beyond the noise
 * @param minShareOfBest edits whose dev score is below this share of the best one's of their state are not trained on
 * @param maxReplyTokens longest accepted reply
 * @param maxTokens longest accepted prompt and reply together
 * @param deduplicate where an equal edit counts as a duplicate
 * @param heldOutShare part of the states whose edits are never trained on
 * @param epochs passes over the corpus; 0 only gathers it
 * @param batchSize edits of one step
 * @param evaluateEvery steps between two looks at the held-out loss
 * @param patience looks without a better held-out loss after which the run ends
 * @param groupsInFlight revisions at once
 * @param failuresInRow revisions that may fail in a row; one more stops the run
 * @param groupPatienceS longest wait for one revision or evaluation, in seconds
 */
record SftSettings(
        List<Teacher> teachers,

        @JsonFormat(with = JsonFormat.Feature.ACCEPT_SINGLE_VALUE_AS_ARRAY)
        List<String> corpus,

        int states,
        int candidates,
        List<String> harnesses,
        Map<String, List<String>> familyHarnesses,
        double minGain,
        Double minShareOfBest,
        int maxReplyTokens,
        int maxTokens,
        Scope deduplicate,
        double heldOutShare,
        int epochs,
        int batchSize,
        int evaluateEvery,
        int patience,
        int groupsInFlight,
        int failuresInRow,
        long groupPatienceS,
        RolloutSettings rollout,
        AdapterSettings lora,
        OptimizerSettings optimizer,
        EngineSettings engine) {
    private static final int MAX_CORPORA = 64;

    /** Adam 1e-4 cosine with a short warm-up: that of full fine-tuning, 1e-5, raised for an adapter. */
    private static final OptimizerSettings OPTIMIZER =
            new OptimizerSettings(1e-4, "cosine", 0.03, 0, 0.9, 0.999, 1e-8, 1);

    /**
     * A model that writes edits.
     *
     * @param model as proposer-service knows it: local, remote or recorded
     * @param demonstrations set of earlier turns that it sees; {@code none} for none. No part of the training prompt
     */
    record Teacher(String model, String demonstrations) {}

    /** Where equal edits are looked for. */
    enum Scope {
        /** Among edits of the same family and harness. */
        STATE,
        /** Among all. */
        CORPUS;

        @JsonValue
        String json() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    SftSettings {
        teachers = List.copyOf(teachers);
        // Runs that were ordered before these fields existed lack them.
        corpus = corpus == null ? List.of() : List.copyOf(corpus);
        minShareOfBest = minShareOfBest == null ? 0.0 : minShareOfBest;
        harnesses = List.copyOf(harnesses);
        familyHarnesses = familyHarnesses == null ? Map.of() : Map.copyOf(familyHarnesses);
    }

    /**
     * Reads a request.
     *
     * @throws org.harnesslearning.contracts.error.PlatformException with all faults
     */
    static SftSettings read(JsonNode request) {
        Faults faults = new Faults();
        Fields fields = Fields.of(request, faults);
        List<String> corpus = corpus(fields);
        List<Teacher> teachers = teachers(fields, faults);
        if (!corpus.isEmpty() && !teachers.isEmpty()) {
            fields.fault("corpus", "and teachers exclude each other");
        } else if (corpus.isEmpty() && teachers.isEmpty() && faults.isEmpty()) {
            fields.fault("teachers", "names no teacher, and there is no corpus");
        }
        SftSettings settings = new SftSettings(
                teachers,
                corpus,
                (int) fields.integer("states", 42, 1, 100_000),
                (int) fields.integer("candidates", 8, 1, 64),
                StartHarnesses.read(fields),
                StartHarnesses.byFamily(fields),
                fields.number("min_gain", 0, 0, 1),
                fields.number("min_share_of_best", 0, 0, 1),
                (int) fields.integer("max_reply_tokens", 1024, 1, 32_768),
                (int) fields.integer("max_tokens", 8192, 2, 131_072),
                fields.choice("deduplicate", Scope.class, Scope.STATE),
                fields.number("held_out_share", 0.1, 0, 0.9),
                (int) fields.integer("epochs", 2, 0, 10_000),
                (int) fields.integer("batch_size", 16, 1, 4096),
                (int) fields.integer("evaluate_every", 10, 1, 100_000),
                (int) fields.integer("patience", 3, 1, 1000),
                (int) fields.integer("groups_in_flight", 4, 1, 256),
                (int) fields.integer("failures_in_row", 5, 1, 1000),
                fields.integer("group_patience_s", 7200, 1, 31_536_000),
                RolloutSettings.read(fields.object("rollout")),
                AdapterSettings.read(fields.object("lora")),
                OptimizerSettings.read(fields.object("optimizer"), OPTIMIZER),
                EngineSettings.read(fields.object("engine")));
        fields.end();
        faults.check();
        return settings;
    }

    /** One id or a list of them. */
    private static List<String> corpus(Fields fields) {
        JsonNode value = fields.value("corpus");
        if (value == null) {
            return List.of();
        }
        List<String> ids = new ArrayList<>();
        if (value.isArray()) {
            value.forEach(id -> ids.add(id.asString("")));
        } else {
            ids.add(value.asString(""));
        }
        if (ids.size() > MAX_CORPORA || !ids.stream().allMatch(id -> id.matches("[A-Za-z0-9_-]{1,64}"))) {
            fields.fault("corpus", "must be the id of a run, or a list of at most " + MAX_CORPORA);
            return List.of();
        }
        return ids;
    }

    private static List<Teacher> teachers(Fields fields, Faults faults) {
        JsonNode value = fields.value("teachers");
        List<Teacher> teachers = new ArrayList<>();
        if (value == null) {
            return teachers;
        }
        if (!value.isArray() || value.size() > 64) {
            fields.fault("teachers", "must be a list of at most 64 models");
            return teachers;
        }
        for (int i = 0; i < value.size(); i++) {
            JsonNode entry = value.get(i);
            String pointer = "/teachers/" + i;
            if (!entry.isObject()) {
                faults.add(pointer, ErrorCode.INVALID_FIELD, "A teacher is an object with a model");
                continue;
            }
            Faults inner = new Faults();
            Fields teacher = Fields.of(entry, inner);
            String model = teacher.text("model", 200);
            if (model == null && !teacher.has("model")) {
                teacher.fault("model", "is missing");
            }
            String demonstrations = teacher.text("demonstrations", 64);
            teacher.end();
            try {
                inner.check();
            } catch (PlatformException e) {
                faults.add(pointer, e);
            }
            if (model != null) {
                teachers.add(new Teacher(model, demonstrations == null ? "default" : demonstrations));
            }
        }
        return teachers;
    }
}
