package org.harnesslearning.benchmarks.learning;

import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.json.Json;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * What all stages share: the platform, the folder of raw files, and the ways by which a platform that has never seen this
 * experiment gets the harnesses, corpora and adapters of its earlier stages.
 */
final class Experiment implements AutoCloseable {
    /** Files of the folder, without ending. */
    static final String CORPUS = "corpus";

    static final String TRAINING = "training";
    static final String SAMPLES = "samples";
    static final String OUTCOMES = "outcomes";
    static final String VERSIONS = "versions";

    private final Path out;
    private final PlatformClient client;
    private final String base;
    private final PrintStream log;
    private final Jobs.Deadline deadline;
    private final Duration poll;
    private final String id;
    private final Map<String, String> sources = new ConcurrentHashMap<>();
    private final Set<String> brought = ConcurrentHashMap.newKeySet();
    private final long begin = System.nanoTime();

    /** @param base name of the model that is trained */
    Experiment(Path out, PlatformClient client, String base, PrintStream log, Jobs.Deadline deadline, Duration poll) {
        this.out = out;
        this.client = client;
        this.base = base;
        this.log = log;
        this.deadline = deadline;
        this.poll = poll;
        this.id = id(out);
    }

    private static String id(Path out) {
        Path file = out.resolve("experiment.txt");
        try {
            Files.createDirectories(out);
            if (!Files.exists(file)) {
                Files.writeString(file, UUID.randomUUID() + "\n");
            }
            return Files.readString(file).strip();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Copies versions and their adapters from the folder of another experiment, where this one has none of its own.
     *
     * @throws LearnException if that folder has none
     */
    static void takeAdapters(Path from, Path out) throws IOException {
        List<JsonNode> versions = new RawFile(from, VERSIONS).lines();
        if (versions.isEmpty()) {
            throw new LearnException(from + " has no versions");
        }
        RawFile own = new RawFile(out, VERSIONS);
        if (!own.lines().isEmpty()) {
            return;
        }
        Files.createDirectories(out);
        for (JsonNode version : versions) {
            for (String file : texts(version.path("files"))) {
                if (Files.exists(from.resolve(file))) {
                    Files.copy(from.resolve(file), out.resolve(file), StandardCopyOption.REPLACE_EXISTING);
                }
            }
        }
        own.add(versions.stream()
                .map(version -> ((ObjectNode) version).deepCopy())
                .toList());
    }

    PlatformClient client() {
        return client;
    }

    String base() {
        return base;
    }

    Path out() {
        return out;
    }

    Jobs.Deadline deadline() {
        return deadline;
    }

    Duration poll() {
        return poll;
    }

    RawFile file(String name) {
        return new RawFile(out, name);
    }

    /** Key that orders a thing once, also when the client is started again. */
    String key(String what) {
        return "learn-" + Hashes.json(Map.of("experiment", id, "what", what)).substring(7, 47);
    }

    void say(String text, Object... values) {
        long seconds = (System.nanoTime() - begin) / 1_000_000_000;
        synchronized (log) {
            log.printf(
                    Locale.ROOT, "%d:%02d  %s%n", seconds / 60, seconds % 60, String.format(Locale.ROOT, text, values));
            log.flush();
        }
    }

    /** Source of a stored harness. */
    String source(String hash) {
        return sources.computeIfAbsent(
                hash,
                wanted -> client.get("/harnesses/" + wanted).path("source").asString(""));
    }

    /** Has the platform store a harness: it stores what it was once asked to score. */
    void bringHarness(String source, String family, String solver) {
        String hash = Hashes.harness(source);
        if (!brought.add(hash) || client.find("/harnesses/" + hash).isPresent()) {
            return;
        }
        ObjectNode body = Json.mapper().createObjectNode();
        body.putObject("task").putObject("reasoning_gym").put("family", family);
        body.putObject("harness").put("source", source);
        body.putObject("splits").put("feedback", 1).put("dev", 1).put("held_out", 0);
        body.putObject("solver").put("model", solver).put("max_tokens", 16);
        client.post("/evaluations", body, key("bring " + hash + " " + UUID.randomUUID()));
    }

    /** Adapters of this experiment, oldest first: lines of {@link #VERSIONS}. */
    List<JsonNode> versions() {
        return file(VERSIONS).lines();
    }

    /** The last version that a stage ended with; null while it has not ended. */
    @Nullable
    String version(String stage) {
        String found = null;
        for (JsonNode line : versions()) {
            if (line.path("stage").asString("").equals(stage)
                    && line.path("final").asBoolean(false)) {
                found = line.path("version").asString("");
            }
        }
        return found;
    }

    /** The version that is furthest in a stage, ended or not; one whose adapter is nowhere only if there is no other. */
    @Nullable
    JsonNode furthest(String stage) {
        JsonNode found = null;
        boolean there = false;
        for (JsonNode line : versions()) {
            if (line.path("stage").asString("").equals(stage)) {
                boolean has = has(line.path("version").asString(""));
                if (has || !there) {
                    found = line;
                }
                there |= has;
            }
        }
        return found;
    }

    /** Keeps a version of the registry as files, rounded to bfloat16, and has the registry know the rounded one too. */
    String keep(String stage, String run, String version, long step, boolean last) {
        Adapters.Content content =
                Adapters.rounded(Adapters.unzip(client.bytes("/models/versions/" + version + "/adapter")));
        ObjectNode line = Json.mapper().createObjectNode();
        line.put("type", "version");
        line.put("stage", stage);
        line.put("version", content.version());
        line.put("base", base);
        line.put("run", run);
        line.put("step", step);
        line.put("rounded_from", version);
        line.put("final", last);
        ArrayNode files = line.putArray("files");
        try {
            Adapters.save(out, content).forEach(files::add);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        put(line, content);
        file(VERSIONS).add(List.of(line));
        say("%s: version %s (step %d) kept in %s", stage, content.version(), step, files);
        return content.version();
    }

    /** Makes a kept version the one that a stage ends with. */
    void settle(String stage, String version) {
        if (version.equals(version(stage))) {
            return;
        }
        for (JsonNode line : versions()) {
            if (line.path("version").asString("").equals(version)
                    && line.path("stage").asString("").equals(stage)) {
                ObjectNode last = ((ObjectNode) line).deepCopy();
                last.put("final", true);
                file(VERSIONS).add(List.of(last));
                say(
                        "%s: ends with the version of step %d, %s",
                        stage, line.path("step").asInt(0), version);
                return;
            }
        }
    }

    private void put(JsonNode line, Adapters.Content content) {
        client.put(
                "/models/versions/" + content.version() + "/adapter?base=" + base + "&kind="
                        + line.path("stage").asString("imported"),
                content.zip(),
                "application/zip");
    }

    /**
     * Has the platform know a version of this experiment.
     *
     * @throws LearnException if neither the folder nor the platform has its adapter
     */
    void bringVersion(String version) {
        if (brought.contains(version)) {
            return;
        }
        if (!has(version)) {
            throw new LearnException("the adapter of " + version + " is neither in " + out
                    + " nor in the platform's registry: do its stage again in another folder");
        }
        brought.add(version);
        JsonNode line = kept(version);
        if (line == null || !files(line)) {
            return;
        }
        try {
            put(line, Adapters.read(out, texts(line.path("files"))));
        } catch (IOException e) {
            throw new UncheckedIOException("the adapter of " + version + " can't be read", e);
        }
    }

    /** Whether a version's adapter can be had: from the folder, or because the platform has it. */
    boolean has(String version) {
        JsonNode line = kept(version);
        return line != null && files(line)
                || client.find("/models/" + base + "/versions?limit=200")
                        .map(found -> found.path("data"))
                        .orElse(Json.mapper().createArrayNode())
                        .valueStream()
                        .anyMatch(known -> known.path("id").asString("").equals(version));
    }

    private @Nullable JsonNode kept(String version) {
        return versions().stream()
                .filter(kept -> kept.path("version").asString("").equals(version))
                .findFirst()
                .orElse(null);
    }

    private boolean files(JsonNode line) {
        return texts(line.path("files")).stream().allMatch(name -> Files.exists(out.resolve(name)));
    }

    static List<String> texts(JsonNode array) {
        List<String> texts = new ArrayList<>();
        array.forEach(text -> texts.add(text.asString("")));
        return texts;
    }

    /** Has the platform know the corpora of this experiment; their ids. */
    List<String> bringCorpora() {
        Map<String, JsonNode> runs = new LinkedHashMap<>();
        Map<String, List<JsonNode>> rows = new LinkedHashMap<>();
        for (JsonNode line : file(CORPUS).lines()) {
            String run = line.path("run").asString("");
            switch (line.path("type").asString("")) {
                case "corpus_run" -> runs.put(run, line);
                case "edit" ->
                    rows.computeIfAbsent(run, key -> new ArrayList<>()).add(line);
                default -> {
                    // Teachers' revisions as they came.
                }
            }
        }
        List<String> ids = new ArrayList<>();
        rows.forEach((run, edits) -> {
            boolean accepted = edits.stream()
                    .anyMatch(edit -> edit.path("row").path("reason").isNull()
                            || edit.path("row").path("reason").isMissingNode());
            if (!accepted) {
                return;
            }
            ids.add(run);
            JsonNode known = client.find("/training-runs/" + run).orElse(null);
            if (known != null && !known.path("stop_reason").asString("").equals("imported")) {
                return;
            }
            JsonNode head = runs.get(run);
            if (head == null) {
                throw new LearnException("the file of the corpus lacks the run " + run);
            }
            ObjectNode body = Json.mapper().createObjectNode();
            body.put("base_model", head.path("base_model").asString(""));
            body.set("settings", head.path("settings"));
            ObjectNode harnesses = body.putObject("harnesses");
            ArrayNode data = body.putArray("data");
            for (JsonNode edit : edits) {
                edit.path("harnesses").properties().forEach(entry -> harnesses.set(entry.getKey(), entry.getValue()));
                data.add(edit.path("row"));
            }
            client.put("/training-runs/" + run + "/corpus", Json.mapper().writeValueAsBytes(body), "application/json");
            say("brought the corpus of %s: %d edits", run, edits.size());
        });
        return ids;
    }

    @Override
    public void close() {
        client.close();
    }
}
