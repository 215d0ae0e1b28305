package org.harnesslearning.standalone;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.json.Json;
import org.jspecify.annotations.Nullable;

/**
 * What is kept between runs: the database, the logs, the installation's secret and the first API key. One process at a
 * time owns it.
 */
final class DataFolder implements AutoCloseable {
    private static final int SECRET_BYTES = 32;

    private final Path path;
    private final FileChannel lock;

    private DataFolder(Path path, FileChannel lock) {
        this.path = path;
        this.lock = lock;
    }

    /**
     * Takes the folder for this process.
     *
     * @throws StandaloneException when another process has it
     */
    static DataFolder open(Path path) {
        try {
            Files.createDirectories(path.resolve("logs"));
            // The lock lives with the process, so that a killed one leaves none behind.
            FileChannel lock =
                    FileChannel.open(path.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            if (lock.tryLock() == null) {
                lock.close();
                throw inUse(path);
            }
            Files.deleteIfExists(path.resolve("ready"));
            Files.writeString(
                    path.resolve("pid"), Long.toString(ProcessHandle.current().pid()));
            return new DataFolder(path, lock);
        } catch (java.nio.channels.OverlappingFileLockException e) {
            throw inUse(path);
        } catch (IOException e) {
            throw new UncheckedIOException("the data folder " + path + " can't be used", e);
        }
    }

    private static StandaloneException inUse(Path path) {
        String pid = "?";
        try {
            pid = Files.readString(path.resolve("pid")).strip();
        } catch (IOException e) {
            // The other process may be about to write it.
        }
        return new StandaloneException("the data folder " + path + " is in use by process " + pid
                + "; stop it with './harness down' or name another folder in HARNESS_DATA");
    }

    Path path() {
        return path;
    }

    Path postgres() {
        return path.resolve("postgres");
    }

    /** The secret in a file of this folder, made on first use; readable by its owner only. */
    String secret(String name, String prefix) {
        Path file = path.resolve(name);
        try {
            if (Files.exists(file)) {
                return Files.readString(file, StandardCharsets.UTF_8).strip();
            }
            byte[] bytes = new byte[SECRET_BYTES];
            new SecureRandom().nextBytes(bytes);
            String value = prefix + Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
            Files.createFile(file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
            Files.writeString(file, value + "\n", StandardCharsets.UTF_8);
            return value;
        } catch (IOException e) {
            throw new UncheckedIOException(file + " can't be used", e);
        }
    }

    /** Whether this is the first time that something is noted here; notes it. */
    boolean first(String what) {
        try {
            Files.createFile(path.resolve(what));
            return true;
        } catch (FileAlreadyExistsException e) {
            return false;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Says, for other processes, that the platform answers at this address; null says that it does not. */
    void ready(@Nullable String url) {
        try {
            if (url == null) {
                Files.deleteIfExists(path.resolve("ready"));
            } else {
                // Renamed into place: a reader never sees half of it.
                Path file = Files.writeString(path.resolve("ready.part"), url + "\n");
                Files.move(file, path.resolve("ready"), java.nio.file.StandardCopyOption.ATOMIC_MOVE);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Writes down where the services answer, as a file of Prometheus' file-based service discovery. */
    void targets(Map<String, URI> services) {
        List<Map<String, Object>> groups = services.entrySet().stream()
                .map(service -> Map.of(
                        "targets", List.of(service.getValue().getAuthority()),
                        "labels", Map.of("job", service.getKey())))
                .toList();
        try {
            Path file = Files.writeString(path.resolve("targets.part"), Json.write(groups) + "\n");
            Files.move(file, path.resolve("targets.json"), java.nio.file.StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        try {
            ready(null);
            Files.deleteIfExists(path.resolve("pid"));
            lock.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
