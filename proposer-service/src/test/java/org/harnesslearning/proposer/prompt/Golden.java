package org.harnesslearning.proposer.prompt;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Collectors;
import org.harnesslearning.testing.SharedData;

/** Committed texts that a change must be looked at in; {@code -Dgolden.write=true} writes them anew. */
final class Golden {
    private Golden() {}

    static void check(String name, String text) throws IOException {
        Path file = SharedData.root()
                .resolve("proposer-service/src/test/resources/golden")
                .resolve(name);
        if (Boolean.getBoolean("golden.write")) {
            Files.writeString(file, text);
        }
        assertThat(text).isEqualTo(Files.readString(file, StandardCharsets.UTF_8));
    }

    static String text(ProposerPrompt prompt) {
        return prompt.messages().stream()
                .map(message -> "#### " + message.role() + "\n" + message.content() + "\n")
                .collect(Collectors.joining());
    }
}
