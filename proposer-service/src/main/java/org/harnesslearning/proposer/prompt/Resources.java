package org.harnesslearning.proposer.prompt;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/** Text files that ship with the service. */
final class Resources {
    private Resources() {}

    /**
     * Reads a file of the class path.
     *
     * @param path absolute path
     * @throws IllegalArgumentException if there is none
     */
    static String read(String path) {
        try (InputStream in = Resources.class.getResourceAsStream(path)) {
            if (in == null) {
                throw new IllegalArgumentException("there is no " + path.substring(1));
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
