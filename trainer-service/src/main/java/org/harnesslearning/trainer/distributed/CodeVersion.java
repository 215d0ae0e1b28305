package org.harnesslearning.trainer.distributed;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;

/** Which build of the trainer this process runs. */
final class CodeVersion {
    private CodeVersion() {}

    /** Hash of the trainer's classes: of its jar, or of its folder of classes. */
    static String current() {
        try {
            Path source = Path.of(CodeVersion.class
                    .getProtectionDomain()
                    .getCodeSource()
                    .getLocation()
                    .toURI());
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            if (Files.isRegularFile(source)) {
                add(digest, source);
            } else {
                try (Stream<Path> files = Files.walk(source)) {
                    List<Path> classes = files.filter(file -> file.toString().endsWith(".class"))
                            .sorted()
                            .toList();
                    for (Path file : classes) {
                        digest.update(
                                source.relativize(file).toString().getBytes(java.nio.charset.StandardCharsets.UTF_8));
                        add(digest, file);
                    }
                }
            }
            return "sha256:" + HexFormat.of().formatHex(digest.digest());
        } catch (URISyntaxException | NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void add(MessageDigest digest, Path file) throws IOException {
        try (InputStream in = Files.newInputStream(file)) {
            byte[] buffer = new byte[1 << 16];
            for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
                digest.update(buffer, 0, n);
            }
        }
    }
}
