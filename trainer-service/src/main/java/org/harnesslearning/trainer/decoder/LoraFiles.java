package org.harnesslearning.trainer.decoder;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.harnesslearning.llm.checkpoint.LoraAdapter;

/**
 * An adapter as Hugging Face PEFT saves it.
 *
 * @param config {@code adapter_config.json}
 * @param weights {@code adapter_model.safetensors}, with the base's hash in its metadata
 */
public record LoraFiles(byte[] config, byte[] weights) {

    /** Reads a folder with both files. */
    public static LoraFiles read(Path folder) throws IOException {
        return new LoraFiles(
                Files.readAllBytes(folder.resolve(LoraAdapter.CONFIG_FILE)),
                Files.readAllBytes(folder.resolve(LoraAdapter.WEIGHTS_FILE)));
    }

    /** Writes both files into a folder, which is made if needed; a reader sees each whole or not at all. */
    public void write(Path folder) throws IOException {
        Files.createDirectories(folder);
        write(folder.resolve(LoraAdapter.WEIGHTS_FILE), weights);
        write(folder.resolve(LoraAdapter.CONFIG_FILE), config);
    }

    /** The hash under which llm-runtime knows the adapter: {@link LoraAdapter#hash()}. */
    public String hash() {
        return LoraAdapter.hash(config, weights);
    }

    private static void write(Path file, byte[] content) throws IOException {
        Path part = file.resolveSibling(file.getFileName() + ".part");
        Files.write(part, content);
        Files.move(part, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }
}
