package org.harnesslearning.standalone.cli;

import java.io.PrintStream;
import java.util.List;
import java.util.Set;
import tools.jackson.databind.JsonNode;

/** {@code harness status}: what runs. */
final class StatusCommand {
    static final String HELP = """
            Usage: ./harness status [--url URL] [--key KEY]

            Says whether the platform is ready, its models and its latest runs. Exit code 4 when none answers.
            """;

    private StatusCommand() {}

    static ExitCode run(List<String> given, Surroundings surroundings) {
        Arguments arguments = Arguments.parse(given, Surroundings.OPTIONS, Set.of());
        PrintStream out = surroundings.out();
        try (Api api = surroundings.connect(arguments)) {
            out.println("Platform   " + api.base() + ": "
                    + api.get("/readyz").path("status").asString("?"));
            for (JsonNode model : api.get("/models").path("data")) {
                out.println("Model      " + model.path("id").asString("") + " ("
                        + model.path("kind").asString("?") + ")");
            }
            for (JsonNode run : api.get("/adaptations?limit=5").path("data")) {
                out.println("Run        " + run.path("id").asString("") + " "
                        + run.path("state").asString("") + " "
                        + run.path("progress").path("done").asInt(0) + "/"
                        + run.path("progress").path("planned").asInt(0) + " solver calls");
            }
            return ExitCode.DONE;
        }
    }
}
