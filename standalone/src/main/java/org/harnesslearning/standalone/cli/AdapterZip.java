package org.harnesslearning.standalone.cli;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import java.util.zip.ZipOutputStream;
import org.harnesslearning.contracts.hash.Hashes;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * An adapter as the model registry takes it.
 *
 * @param version {@code sha256:…} of its two files
 * @param bytes zip of the two
 */
record AdapterZip(String version, byte[] bytes) {
    private static final String CONFIG = "adapter_config.json";
    private static final String WEIGHTS = "adapter_model.safetensors";
    private static final List<String> NAMES = List.of(CONFIG, WEIGHTS);

    /**
     * Reads a zip, or a folder of PEFT's two files.
     *
     * @throws CommandException if there is nothing, or one of the two is missing
     */
    static AdapterZip of(Path path) {
        Map<String, byte[]> files = new HashMap<>();
        try {
            if (Files.isDirectory(path)) {
                for (String name : NAMES) {
                    if (Files.exists(path.resolve(name))) {
                        files.put(name, Files.readAllBytes(path.resolve(name)));
                    }
                }
            } else {
                unzip(Files.readAllBytes(path), files);
            }
            byte[] config = present(files.get(CONFIG), CONFIG, path);
            byte[] weights = present(files.get(WEIGHTS), WEIGHTS, path);
            // The registry's id of a version: docs/training.md.
            String lines = hex(config) + " " + CONFIG + "\n" + hex(weights) + " " + WEIGHTS + "\n";
            return new AdapterZip(Hashes.sha256(lines.getBytes(StandardCharsets.UTF_8)), zip(config, weights));
        } catch (IOException e) {
            throw CommandException.usage(path + " can't be read as an adapter: " + e);
        }
    }

    /** Has the platform know it as a version of the base; the platform's answer. */
    JsonNode bring(Api api, String base) {
        return api.putZip(
                "/models/versions/" + version + "/adapter?base=" + URLEncoder.encode(base, StandardCharsets.UTF_8),
                bytes);
    }

    /** Name of the base model with this adapter. */
    String under(String base) {
        return base + "@" + version;
    }

    private static String hex(byte[] bytes) {
        String hash = Hashes.sha256(bytes);
        return hash.substring(hash.indexOf(':') + 1);
    }

    private static byte[] present(byte @Nullable [] content, String name, Path path) {
        if (content == null) {
            throw CommandException.usage(path + " holds no " + name);
        }
        return content;
    }

    private static void unzip(byte[] zipped, Map<String, byte[]> files) throws IOException {
        try (ZipInputStream zip = new ZipInputStream(new ByteArrayInputStream(zipped))) {
            for (ZipEntry entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
                if (NAMES.contains(entry.getName())) {
                    files.put(entry.getName(), zip.readAllBytes());
                }
            }
        }
    }

    private static byte[] zip(byte[] config, byte[] weights) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ZipOutputStream zip = new ZipOutputStream(bytes)) {
            zip.putNextEntry(new ZipEntry(CONFIG));
            zip.write(config);
            zip.putNextEntry(new ZipEntry(WEIGHTS));
            zip.write(weights);
        }
        return bytes.toByteArray();
    }
}
