package org.harnesslearning.trainer.run;

import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.harnesslearning.contracts.access.Caller;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.request.Faults;
import org.harnesslearning.contracts.request.Fields;
import org.harnesslearning.contracts.request.JsonBody;
import org.harnesslearning.store.harness.HarnessStore;
import org.harnesslearning.store.run.RunState;
import org.harnesslearning.store.sample.CorpusRow;
import org.harnesslearning.store.sample.CorpusStore;
import org.harnesslearning.store.training.TrainingRunRow;
import org.jspecify.annotations.Nullable;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;

/** Takes a corpus out of a platform, and brings it into another one under the same run's id. */
@RestController
class CorpusController {
    private static final String IMPORTED = "imported";

    /** As JSON writes it; Postgres stores none. */
    private static final String NUL = "\\u0000";

    private final CorpusStore corpus;
    private final HarnessStore harnesses;
    private final TrainingServices services;

    CorpusController(CorpusStore corpus, HarnessStore harnesses, TrainingServices services) {
        this.corpus = corpus;
        this.harnesses = harnesses;
        this.services = services;
    }

    /** The edits with a position above {@code after}, with the run and the harnesses that they need elsewhere. */
    @GetMapping("/training-runs/{id}/corpus")
    Map<String, Object> read(
            @PathVariable("id") String id,
            @RequestParam(name = "after", defaultValue = "-1") long after,
            @RequestParam(name = "limit", defaultValue = "200") int limit) {
        if (limit < 1 || limit > 1000) {
            throw new PlatformException(ErrorCode.INVALID_FIELD, "limit must be from 1 to 1000");
        }
        TrainingRunRow run = services.runs()
                .find(id)
                .orElseThrow(() -> new PlatformException(ErrorCode.NOT_FOUND, "There is no training run " + id));
        List<CorpusRow> page = corpus.page(id, after, limit);
        Map<String, String> sources = new TreeMap<>();
        page.forEach(row -> sources.computeIfAbsent(row.harness(), harnesses::source));
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("run", id);
        view.put("base_model", run.baseModel());
        view.put("settings", run.settings());
        view.put("harnesses", sources);
        view.put("data", page);
        view.put("next_after", page.size() < limit ? null : page.getLast().position());
        return view;
    }

    /**
     * Adds edits of a corpus that was gathered elsewhere; those that are there stay as they are.
     *
     * @throws PlatformException INVALID_STATE when a run of that id was ordered here
     */
    @PutMapping(path = "/training-runs/{id}/corpus", consumes = MediaType.APPLICATION_JSON_VALUE)
    Map<String, Object> write(@PathVariable("id") String id, @RequestBody byte[] body, Caller caller) {
        Faults faults = new Faults();
        Fields fields = Fields.of(JsonBody.object(body), faults);
        String base = fields.text("base_model", 200);
        if (base == null && !fields.has("base_model")) {
            fields.fault("base_model", "is missing");
        }
        if (!id.matches("trn_[0-9a-z]{26}")) {
            throw new PlatformException(ErrorCode.INVALID_FIELD, "The path names no id of a training run");
        }
        JsonNode settings = fields.value("settings");
        if (settings == null || !settings.isObject()) {
            fields.fault("settings", "must be the settings of the run that gathered the corpus");
        }
        List<String> sources = sources(fields);
        List<CorpusRow> rows = rows(fields);
        // Parts of the answer that say nothing here.
        fields.value("run");
        fields.value("next_after");
        fields.end();
        faults.check();
        Map<String, Object> view = new LinkedHashMap<>();
        services.tx().executeWithoutResult(status -> {
            TrainingRunRow known = services.runs().lock(id).orElse(null);
            if (known == null) {
                services.runs().insert(imported(id, Objects.requireNonNull(base), settings, caller), null);
                services.runs().finish(id, RunState.SUCCEEDED, IMPORTED, "gathered by another installation", null);
            } else if (!IMPORTED.equals(known.stopReason())) {
                throw new PlatformException(ErrorCode.INVALID_STATE, "The run " + id + " was ordered here");
            }
            sources.forEach(harnesses::save);
            rows.forEach(row -> {
                if (harnesses.find(row.harness()).isEmpty()) {
                    throw PlatformException.field(
                            ErrorCode.INVALID_HARNESS, "/harnesses", "The harness " + row.harness() + " is missing");
                }
                corpus.add(id, row);
            });
        });
        view.put("run", id);
        view.put("counts", corpus.counts(id));
        return view;
    }

    private TrainingRunRow imported(String id, String base, @Nullable JsonNode settings, Caller caller) {
        Instant now = services.clock().instant();
        return new TrainingRunRow(
                id,
                TrainingKind.SFT.json(),
                null,
                base,
                RunState.QUEUED,
                null,
                null,
                null,
                Objects.requireNonNull(settings),
                null,
                caller.key(),
                now,
                null,
                null,
                0,
                0,
                0,
                1);
    }

    private static List<String> sources(Fields fields) {
        List<String> sources = new ArrayList<>();
        JsonNode given = fields.value("harnesses");
        boolean good = false;
        if (given != null && given.isObject()) {
            good = true;
            for (Map.Entry<String, JsonNode> entry : given.properties()) {
                String source = entry.getValue().asString("");
                good &= source.indexOf(0) < 0 && Hashes.harness(source).equals(entry.getKey());
                sources.add(source);
            }
        }
        if (!good) {
            fields.fault("harnesses", "must be an object of sources, each under its hash");
        }
        return sources;
    }

    private static List<CorpusRow> rows(Fields fields) {
        JsonNode given = fields.value("data");
        if (given == null || !given.isArray()) {
            fields.fault("data", "must be a list of edits");
            return List.of();
        }
        try {
            List<CorpusRow> rows = new ArrayList<>();
            for (JsonNode row : given) {
                if (!row.isObject() || Json.write(row).contains(NUL)) {
                    throw new IllegalArgumentException("an edit is no object, or has a NUL character");
                }
                rows.add(checked(Json.mapper().treeToValue(row, CorpusRow.class)));
            }
            return rows;
        } catch (JacksonException e) {
            fields.fault("data", "does not fit the edits of a corpus: " + e.getOriginalMessage());
        } catch (IllegalArgumentException e) {
            fields.fault("data", "does not fit the edits of a corpus: " + e.getMessage());
        }
        return List.of();
    }

    @SuppressWarnings("NullAway") // Jackson leaves absent parts null.
    private static CorpusRow checked(CorpusRow row) {
        if (row.run() == null
                || row.family() == null
                || row.harness() == null
                || row.teacher() == null
                || row.promptVersion() == null
                || row.reportVersion() == null
                || row.descriptionsVersion() == null) {
            throw new IllegalArgumentException("an edit lacks its provenance");
        }
        if (row.accepted()
                && (row.messages() == null
                        || row.reply() == null
                        || row.fold() == null
                        || row.promptTokenIds() == null
                        || row.completionTokenIds() == null)) {
            throw new IllegalArgumentException("an accepted edit lacks its prompt, reply, tokens or fold");
        }
        return row;
    }
}
