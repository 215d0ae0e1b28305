package org.harnesslearning.compose;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.harnesslearning.testing.SharedData;
import org.junit.jupiter.api.Test;

class SecurityDocumentTest {
    private static final Pattern NAMED = Pattern.compile("`([A-Z]\\w+Tests?)(?:\\.([a-z]\\w+))?`");
    private static final Path DOCUMENT = SharedData.root().resolve("docs/security.md");

    @Test
    void every_risk_has_a_row_and_every_test_that_is_named_exists() throws IOException {
        String document = Files.readString(DOCUMENT);
        for (int risk = 1; risk <= 10; risk++) {
            String row = row(document, "API" + risk);
            assertThat(NAMED.matcher(row).find()).as(row).isTrue();
        }

        Set<String> missing = new LinkedHashSet<>();
        List<Path> tests = tests();
        for (Matcher named = NAMED.matcher(document); named.find(); ) {
            String method = named.group(2);
            boolean there = false;
            for (Path test : tests) {
                if (test.getFileName().toString().equals(named.group(1) + ".java")) {
                    there |= method == null || Files.readString(test).contains("void " + method + "(");
                }
            }
            if (!there) {
                missing.add(named.group());
            }
        }
        assertThat(missing).isEmpty();
    }

    private static String row(String document, String risk) {
        return document.lines()
                .filter(line -> line.startsWith("| " + risk + " "))
                .findFirst()
                .orElseThrow(() -> new AssertionError("no row for " + risk));
    }

    private static List<Path> tests() throws IOException {
        try (Stream<Path> files = Files.find(
                SharedData.root(),
                14,
                (path, attributes) -> path.toString().contains("/src/test/java/")
                        && path.toString().endsWith(".java"))) {
            return files.toList();
        }
    }
}
