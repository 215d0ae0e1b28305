package org.harnesslearning.trainer.decoder;

import java.nio.charset.StandardCharsets;
import org.harnesslearning.contracts.hash.Hashes;

/**
 * An adapter as Hugging Face PEFT saves it.
 *
 * @param config {@code adapter_config.json}
 * @param weights {@code adapter_model.safetensors}
 */
public record LoraFiles(byte[] config, byte[] weights) {
    /** The hash under which llm-runtime knows the adapter. */
    public String hash() {
        String lines = hex(config) + " adapter_config.json\n" + hex(weights) + " adapter_model.safetensors\n";
        return Hashes.sha256(lines.getBytes(StandardCharsets.UTF_8));
    }

    private static String hex(byte[] file) {
        return Hashes.sha256(file).substring("sha256:".length());
    }
}
