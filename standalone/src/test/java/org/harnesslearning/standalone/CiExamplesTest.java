package org.harnesslearning.standalone;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.codehaus.groovy.control.CompilationFailedException;
import org.codehaus.groovy.control.CompilationUnit;
import org.codehaus.groovy.control.Phases;
import org.harnesslearning.testing.RequiresPythonTools;
import org.harnesslearning.testing.SharedData;
import org.junit.jupiter.api.Test;

/** The files of {@code examples/ci} that other systems run; evaluate.sh is run by {@link PublicApiTest}. */
class CiExamplesTest {
    private static final Path EXAMPLES = SharedData.root().resolve("examples/ci");

    @Test
    @RequiresPythonTools
    void the_workflows_fit_the_schemas_of_github_and_gitlab() throws Exception {
        check(
                "--builtin-schema",
                "vendor.github-workflows",
                EXAMPLES.resolve("github-actions.yml").toString());
        check(
                "--builtin-schema",
                "vendor.gitlab-ci",
                "--data-transform",
                "gitlab-ci",
                EXAMPLES.resolve("gitlab-ci.yml").toString());
    }

    private static void check(String... arguments) throws Exception {
        List<String> command = new ArrayList<>(
                List.of(SharedData.pythonTool("check-jsonschema").toString()));
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes());
        assertThat(process.waitFor()).as(output).isZero();
    }

    @Test
    void the_jenkinsfile_is_groovy() throws Exception {
        String pipeline = Files.readString(EXAMPLES.resolve("Jenkinsfile"));
        parse(pipeline);
        assertThatThrownBy(() -> parse(pipeline.replace("stages {", "stages ")))
                .isInstanceOf(CompilationFailedException.class);
    }

    private static void parse(String source) {
        CompilationUnit unit = new CompilationUnit();
        unit.addSource("Jenkinsfile", source);
        unit.compile(Phases.CONVERSION);
    }
}
