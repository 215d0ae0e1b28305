package org.harnesslearning.benchmarks.learning;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.DataFormatException;
import java.util.zip.GZIPOutputStream;
import java.util.zip.Inflater;
import org.harnesslearning.contracts.json.Json;
import tools.jackson.databind.JsonNode;

/**
 * Lines of JSON in gzip that only grow. Each call of {@link #add} writes one member of the gzip file, so what was written
 * before stays readable when the process ends inside a write; the rest is dropped when the file is opened again. A file
 * that becomes larger than 14 MiB is followed by {@code NAME-2}, and so on.
 */
final class RawFile {
    private static final long FULL = 14L << 20;
    private static final String END = ".jsonl.gz";

    /** Bytes before and behind the packed ones of a member. */
    private static final int HEAD = 10;

    private static final int TAIL = 8;

    private static final int HEAD_SUM = 2;
    private static final int EXTRA = 4;
    private static final int NAME = 8;
    private static final int COMMENT = 16;

    private final Path folder;
    private final String name;
    private final List<JsonNode> lines = new ArrayList<>();
    private int part = 1;

    /** @param name without ending */
    RawFile(Path folder, String name) {
        this.folder = folder;
        this.name = name;
        try {
            for (int number = 1; Files.exists(path(number)); number++) {
                part = number;
                read(path(number));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Path path(int number) {
        return folder.resolve(number == 1 ? name + END : name + "-" + number + END);
    }

    private void read(Path file) throws IOException {
        byte[] packed = Files.readAllBytes(file);
        int at = 0;
        while (at < packed.length) {
            ByteArrayOutputStream whole = new ByteArrayOutputStream();
            int length = unpack(packed, at, whole);
            if (length < 0) {
                // The last write was cut off: what came before it is whole.
                try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
                    channel.truncate(at);
                }
                return;
            }
            whole.toString(StandardCharsets.UTF_8)
                    .lines()
                    .forEach(line -> lines.add(Json.mapper().readTree(line)));
            at += length;
        }
    }

    /**
     * Unpacks one member. By hand, since {@link java.util.zip.GZIPInputStream} takes a broken head of a further member for
     * the end of the file.
     *
     * @return its length; -1 when it ends too early
     */
    private static int unpack(byte[] packed, int at, ByteArrayOutputStream out) {
        int from = body(packed, at);
        if (from < 0 || packed.length - from < TAIL) {
            return -1;
        }
        Inflater inflater = new Inflater(true);
        try {
            inflater.setInput(packed, from, packed.length - from);
            byte[] buffer = new byte[1 << 16];
            while (!inflater.finished()) {
                int count = inflater.inflate(buffer);
                if (count == 0 && inflater.needsInput()) {
                    return -1;
                }
                out.write(buffer, 0, count);
            }
            long end = from + inflater.getBytesRead() + TAIL;
            return end > packed.length ? -1 : (int) (end - at);
        } catch (DataFormatException e) {
            throw new LearnException("a raw file is damaged at byte " + at, e);
        } finally {
            inflater.end();
        }
    }

    /** Where the packed bytes of a member begin (RFC 1952, section 2.3); -1 when its head is cut off. */
    private static int body(byte[] packed, int at) {
        if (packed.length - at < HEAD) {
            return -1;
        }
        if (packed[at] != 0x1f || packed[at + 1] != (byte) 0x8b) {
            throw new LearnException("a raw file is no gzip at byte " + at);
        }
        int flags = packed[at + 3];
        int next = at + HEAD;
        if ((flags & EXTRA) != 0) {
            if (next + 2 > packed.length) {
                return -1;
            }
            next += 2 + (packed[next] & 0xff) + ((packed[next + 1] & 0xff) << 8);
        }
        for (int text : new int[] {NAME, COMMENT}) {
            if ((flags & text) != 0) {
                while (next < packed.length && packed[next] != 0) {
                    next++;
                }
                next++;
            }
        }
        if ((flags & HEAD_SUM) != 0) {
            next += 2;
        }
        return next > packed.length ? -1 : next;
    }

    private static byte[] member(List<? extends JsonNode> nodes) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (OutputStream out = new GZIPOutputStream(bytes)) {
            for (JsonNode node : nodes) {
                out.write((Json.write(node) + "\n").getBytes(StandardCharsets.UTF_8));
            }
        }
        return bytes.toByteArray();
    }

    /** Adds lines, all of them or none. */
    synchronized void add(List<? extends JsonNode> nodes) {
        if (nodes.isEmpty()) {
            return;
        }
        try {
            Files.createDirectories(folder);
            if (Files.exists(path(part)) && Files.size(path(part)) > FULL) {
                part++;
            }
            Files.write(path(part), member(nodes), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        lines.addAll(nodes);
    }

    /** All lines, oldest first. */
    synchronized List<JsonNode> lines() {
        return List.copyOf(lines);
    }

    /** Lines whose field {@code type} has this value. */
    List<JsonNode> lines(String type) {
        return lines().stream()
                .filter(line -> line.path("type").asString("").equals(type))
                .toList();
    }
}
