package org.harnesslearning.trainer.registry;

import com.github.kagkarlsson.scheduler.SchedulerClient;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import java.util.zip.ZipOutputStream;
import org.harnesslearning.contracts.access.Caller;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.request.Faults;
import org.harnesslearning.contracts.request.Fields;
import org.harnesslearning.contracts.request.JsonBody;
import org.harnesslearning.contracts.request.Preconditions;
import org.harnesslearning.llm.checkpoint.CheckpointException;
import org.harnesslearning.llm.checkpoint.LoraAdapter;
import org.harnesslearning.llm.checkpoint.Safetensors;
import org.harnesslearning.store.Ids;
import org.harnesslearning.store.model.AliasChange;
import org.harnesslearning.store.model.ModelAliasRow;
import org.harnesslearning.store.model.ModelVersionRow;
import org.harnesslearning.store.model.ModelVersionStore;
import org.harnesslearning.store.model.PromotionRow;
import org.harnesslearning.store.model.PromotionStore;
import org.harnesslearning.tasks.Families;
import org.harnesslearning.tasks.Family;
import org.harnesslearning.trainer.TrainerProperties;
import org.harnesslearning.trainer.decoder.LoraFiles;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.transaction.support.TransactionTemplate;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** Versions, promotion and rollback over HTTP. */
@RestController
class RegistryController {
    private static final int MAX_ADAPTER_BYTES = 512 << 20;

    private final StoredModels models;
    private final ModelVersionStore versions;
    private final PromotionStore promotions;
    private final PromotionJob job;
    private final SchedulerClient scheduler;
    private final TransactionTemplate tx;
    private final TrainerProperties properties;
    private final Clock clock;
    private final Ids ids;

    RegistryController(
            StoredModels models,
            ModelVersionStore versions,
            PromotionStore promotions,
            PromotionJob job,
            SchedulerClient scheduler,
            TransactionTemplate tx,
            TrainerProperties properties,
            Clock clock,
            Ids ids) {
        this.models = models;
        this.versions = versions;
        this.promotions = promotions;
        this.job = job;
        this.scheduler = scheduler;
        this.tx = tx;
        this.properties = properties;
        this.clock = clock;
        this.ids = ids;
    }

    @GetMapping("/models/{name}/versions")
    Map<String, Object> versions(
            @PathVariable("name") String name, @RequestParam(name = "limit", defaultValue = "50") int limit) {
        if (limit < 1 || limit > 500) {
            throw new PlatformException(ErrorCode.INVALID_FIELD, "limit must be from 1 to 500");
        }
        ModelAliasRow alias = models.alias(name);
        List<ModelVersionRow> rows = versions.newest(alias == null ? name : alias.base(), limit);
        if (alias == null && rows.isEmpty()) {
            throw new PlatformException(ErrorCode.NOT_FOUND, "The model registry knows no versions of " + name);
        }
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("name", name);
        answer.put("base", alias == null ? name : alias.base());
        answer.put("serving", alias == null ? null : alias.version());
        answer.put("data", rows.stream().map(StoredModels::version).toList());
        answer.put("history", models.history(name));
        answer.put(
                "promotions",
                promotions.newest(name, 20).stream()
                        .map(RegistryController::promotion)
                        .toList());
        return answer;
    }

    /** An adapter as PEFT's two files, in a zip whose bytes are always the same. */
    @GetMapping("/models/versions/{version}/adapter")
    ResponseEntity<byte[]> adapter(@PathVariable("version") String version) {
        LoraFiles files = models.files(version);
        return ResponseEntity.ok()
                .contentType(MediaType.parseMediaType("application/zip"))
                .header(HttpHeaders.ETAG, "\"" + version + "\"")
                .header(
                        HttpHeaders.CONTENT_DISPOSITION,
                        "attachment; filename=\"adapter-" + version.substring(7, 19) + ".zip\"")
                .body(zip(files));
    }

    /**
     * Brings an adapter that another installation trained. Its id is the hash of its two files, so the same call again
     * changes nothing.
     *
     * @param body the zip that {@code GET} gives
     * @throws PlatformException INVALID_FIELD when it is no adapter, has another hash, or does not say what it was made for
     */
    @PutMapping(path = "/models/versions/{version}/adapter", consumes = "application/zip")
    Map<String, Object> bring(
            @PathVariable("version") String version,
            @RequestParam("base") String base,
            @RequestParam(name = "kind", defaultValue = "imported") String kind,
            @RequestParam(name = "parent", required = false) @Nullable String parent,
            @RequestBody byte[] body) {
        if (!kind.matches("[a-z_]{1,32}") || !base.matches("[A-Za-z0-9][A-Za-z0-9._-]{0,127}")) {
            throw new PlatformException(
                    ErrorCode.INVALID_FIELD, "base is no name of a model, or kind is no plain word");
        }
        if (!properties.checkpoints().containsKey(base)) {
            throw new PlatformException(ErrorCode.UNKNOWN_MODEL, "This trainer has no checkpoint of the model " + base);
        }
        LoraFiles files = unzipped(body);
        if (!files.hash().equals(version)) {
            throw new PlatformException(ErrorCode.INVALID_FIELD, "The adapter is " + files.hash());
        }
        String baseHash;
        try {
            LoraAdapter.of(Path.of(version.substring(7)), files.config(), files.weights());
            baseHash = Safetensors.of(Path.of(version.substring(7)), MemorySegment.ofArray(files.weights()))
                    .metadata()
                    .get(LoraAdapter.BASE_HASH);
        } catch (CheckpointException e) {
            throw new PlatformException(ErrorCode.INVALID_FIELD, "The adapter can't be read: " + e.getMessage());
        }
        if (baseHash == null) {
            throw new PlatformException(
                    ErrorCode.INVALID_FIELD,
                    "The adapter does not say in " + LoraAdapter.BASE_HASH + " what it was made for");
        }
        models.publish(files, base, baseHash, kind, parent, "", 0);
        return Map.of("version", StoredModels.version(models.find(version)));
    }

    private static LoraFiles unzipped(byte[] body) {
        Map<String, byte[]> files = new LinkedHashMap<>();
        try (ZipInputStream zip = new ZipInputStream(new ByteArrayInputStream(body))) {
            for (ZipEntry entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
                // Never more than the largest adapter that solver-service takes, whatever the zip says.
                byte[] content = zip.readNBytes(MAX_ADAPTER_BYTES + 1);
                if (content.length > MAX_ADAPTER_BYTES || files.size() > 2) {
                    throw new PlatformException(ErrorCode.INVALID_FIELD, "The zip holds more than an adapter");
                }
                files.put(entry.getName(), content);
            }
        } catch (IOException e) {
            throw new PlatformException(ErrorCode.INVALID_FIELD, "The body is no zip: " + e.getMessage());
        }
        byte[] config = files.get(LoraAdapter.CONFIG_FILE);
        byte[] weights = files.get(LoraAdapter.WEIGHTS_FILE);
        if (config == null || weights == null) {
            throw new PlatformException(
                    ErrorCode.INVALID_FIELD,
                    "The zip lacks " + LoraAdapter.CONFIG_FILE + " or " + LoraAdapter.WEIGHTS_FILE);
        }
        return new LoraFiles(config, weights);
    }

    private static byte[] zip(LoraFiles files) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ZipOutputStream zip = new ZipOutputStream(bytes)) {
            entry(zip, "adapter_config.json", files.config());
            entry(zip, "adapter_model.safetensors", files.weights());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    private static void entry(ZipOutputStream zip, String name, byte[] content) throws IOException {
        ZipEntry entry = new ZipEntry(name);
        entry.setTimeLocal(java.time.LocalDateTime.of(1980, 1, 1, 0, 0));
        zip.putNextEntry(entry);
        zip.write(content);
        zip.closeEntry();
    }

    /** A promotion and what it was decided on. */
    @GetMapping("/promotions/{id}")
    Map<String, Object> promotion(@PathVariable("id") String id) {
        return promotion(promotions
                .find(id)
                .orElseThrow(() -> new PlatformException(ErrorCode.NOT_FOUND, "There is no promotion " + id)));
    }

    /**
     * Promotes a version: 200 when the name serves it, 202 while it is being compared, 409 with the figures when it is not
     * better.
     */
    @PostMapping(path = "/models/{name}/promote", consumes = MediaType.APPLICATION_JSON_VALUE)
    ResponseEntity<Object> promote(
            @PathVariable("name") String name,
            @RequestBody byte[] body,
            @RequestHeader(name = "Prefer", required = false) @Nullable String prefer,
            Caller caller) {
        Faults faults = new Faults();
        Fields fields = Fields.of(JsonBody.object(body), faults);
        String version = fields.text("version", 80);
        if (version == null && !fields.has("version")) {
            fields.fault("version", "is missing");
        }
        boolean force = fields.bool("force", false);
        String reason = fields.text("reason", 1000);
        PromotionSettings settings = PromotionSettings.read(
                fields.object("evaluation"),
                Families.of(Family.Role.WITHHELD).stream().map(Family::name).toList());
        fields.end();
        ModelVersionRow row = version == null ? null : versions.find(version).orElse(null);
        if (version != null && row == null) {
            fields.fault("version", "names no version of the model registry");
        }
        faults.check();
        models.checkPromotable(name);
        ModelVersionRow candidate = Objects.requireNonNull(row);
        ModelAliasRow alias = models.alias(name);
        if (alias != null && !alias.base().equals(candidate.base())) {
            throw PlatformException.field(
                    ErrorCode.INVALID_STATE,
                    "/version",
                    "The name serves versions of " + alias.base() + ", this is one of " + candidate.base());
        }
        String serving = alias == null ? null : alias.version();
        if (force) {
            requireAdmin(caller);
            return forced(name, candidate, serving, reason, caller);
        }
        PromotionRow promotion = compared(name, candidate, serving, settings, caller);
        PromotionRow now = await(promotion, Preconditions.wait(prefer, Duration.ZERO, properties.maxWait()));
        return switch (now.state()) {
            case PROMOTED -> answer(HttpStatus.OK, now);
            case QUEUED, RUNNING -> answer(HttpStatus.ACCEPTED, now);
            case REFUSED ->
                throw new PlatformException(
                        ErrorCode.PROMOTION_REFUSED,
                        "Refused: " + now.message() + "; all figures are at /promotions/" + now.id());
            case FAILED ->
                throw new PlatformException(
                        ErrorCode.INVALID_STATE,
                        "The comparison failed: " + now.message() + "; see /promotions/" + now.id());
        };
    }

    private PromotionRow compared(
            String name,
            ModelVersionRow candidate,
            @Nullable String serving,
            PromotionSettings settings,
            Caller caller) {
        String asked = Json.canonical(settings);
        for (PromotionRow earlier : promotions.newest(name, 100)) {
            boolean same = earlier.candidate().equals(candidate.id())
                    && Json.canonical(earlier.settings()).equals(asked)
                    && earlier.state() != PromotionRow.State.FAILED;
            boolean promoted = earlier.state() == PromotionRow.State.PROMOTED
                    && candidate.id().equals(serving);
            if (same && (promoted || Objects.equals(earlier.serving(), serving))) {
                return earlier;
            }
        }
        if (candidate.id().equals(serving)) {
            throw new PlatformException(ErrorCode.INVALID_STATE, "The name serves this version already");
        }
        PromotionRow promotion = new PromotionRow(
                ids.next("prm"),
                name,
                candidate.base(),
                candidate.id(),
                serving,
                PromotionRow.State.QUEUED,
                null,
                Json.mapper().valueToTree(settings),
                Json.mapper().createArrayNode(),
                null,
                caller.key(),
                clock.instant(),
                null,
                1);
        tx.executeWithoutResult(status -> {
            promotions.insert(promotion);
            job.schedule(scheduler, promotion);
        });
        return promotion;
    }

    private PromotionRow await(PromotionRow promotion, Duration most) {
        Instant end = clock.instant().plus(most);
        while (true) {
            PromotionRow now = promotions.find(promotion.id()).orElseThrow();
            if (now.state().terminal() || !clock.instant().isBefore(end)) {
                return now;
            }
            try {
                Thread.sleep(50);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return now;
            }
        }
    }

    private ResponseEntity<Object> forced(
            String name, ModelVersionRow candidate, @Nullable String serving, @Nullable String reason, Caller caller) {
        AliasChange change = new AliasChange(
                0, candidate.id(), serving, "promote", true, null, reason, caller.key(), clock.instant());
        return changed(name, candidate.base(), change);
    }

    /** Goes back to what the name served before, or with scope admin and {@code force} to any version. */
    @PostMapping(path = "/models/{name}/rollback", consumes = MediaType.APPLICATION_JSON_VALUE)
    ResponseEntity<Object> rollback(@PathVariable("name") String name, @RequestBody byte[] body, Caller caller) {
        Faults faults = new Faults();
        Fields fields = Fields.of(JsonBody.object(body), faults);
        String reason = fields.text("reason", 1000);
        String version = fields.text("version", 80);
        boolean force = fields.bool("force", false);
        fields.end();
        faults.check();
        ModelAliasRow alias = models.alias(name);
        if (alias == null || !alias.promoted()) {
            throw new PlatformException(ErrorCode.NOT_FOUND, "No promoted model has the name " + name);
        }
        String target;
        if (version != null) {
            boolean served = models.history(name).stream().anyMatch(change -> version.equals(change.version()));
            if (!served) {
                if (!force) {
                    throw PlatformException.field(
                            ErrorCode.INVALID_STATE,
                            "/version",
                            "The name never served this version; a promotion decides on it");
                }
                requireAdmin(caller);
                if (!models.find(version).base().equals(alias.base())) {
                    throw PlatformException.field(
                            ErrorCode.INVALID_STATE, "/version", "It is a version of another base model");
                }
            }
            target = version;
        } else {
            // What the promotion that put the serving version there had replaced.
            target = models.history(name).stream()
                    .filter(change ->
                            change.action().equals("promote") && Objects.equals(change.version(), alias.version()))
                    .findFirst()
                    .orElseThrow(() -> new PlatformException(
                            ErrorCode.INVALID_STATE, "The name serves its base model: nothing was served before"))
                    .previous();
        }
        if (Objects.equals(target, alias.version())) {
            throw new PlatformException(ErrorCode.INVALID_STATE, "The name serves this version already");
        }
        return changed(
                name,
                alias.base(),
                new AliasChange(
                        0, target, alias.version(), "rollback", force, null, reason, caller.key(), clock.instant()));
    }

    private ResponseEntity<Object> changed(String name, String base, AliasChange change) {
        if (!models.set(name, base, change)) {
            throw new PlatformException(ErrorCode.INVALID_STATE, "The name was changed at this very moment; ask again");
        }
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("name", name);
        answer.put("base", base);
        answer.put("serving", change.version());
        answer.put("previous", change.previous());
        answer.put("forced", change.forced());
        return ResponseEntity.ok(answer);
    }

    private static void requireAdmin(Caller caller) {
        if (!caller.admin()) {
            throw new PlatformException(ErrorCode.INSUFFICIENT_SCOPE, "force needs a key of scope admin");
        }
    }

    private static ResponseEntity<Object> answer(HttpStatus status, PromotionRow promotion) {
        return ResponseEntity.status(status)
                .header(HttpHeaders.LOCATION, "/promotions/" + promotion.id())
                .body(promotion(promotion));
    }

    private static Map<String, Object> promotion(PromotionRow promotion) {
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("id", promotion.id());
        view.put("name", promotion.name());
        view.put("base", promotion.base());
        view.put("candidate", promotion.candidate());
        view.put("serving", promotion.serving());
        view.put("state", promotion.state());
        view.put("message", promotion.message());
        view.put("settings", promotion.settings());
        view.put("revisions", promotion.runs());
        view.put("decision", promotion.decision());
        view.put("created_at", promotion.createdAt());
        view.put("finished_at", promotion.finishedAt());
        view.put("links", Map.of("self", "/promotions/" + promotion.id()));
        return view;
    }
}
