package org.harnesslearning.benchmarks.learning;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.harnesslearning.contracts.json.Json;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.node.ObjectNode;

class RawFileTest {
    @TempDir
    private Path folder;

    private static ObjectNode line(int number) {
        return Json.mapper()
                .createObjectNode()
                .put("type", number % 2 == 0 ? "even" : "odd")
                .put("number", number);
    }

    @Test
    void lines_that_were_added_are_read_again_in_order() {
        RawFile file = new RawFile(folder, "lines");
        file.add(List.of(line(1), line(2)));
        file.add(List.of(line(3)));
        RawFile again = new RawFile(folder, "lines");
        assertThat(again.lines()).containsExactly(line(1), line(2), line(3));
        assertThat(again.lines("odd")).containsExactly(line(1), line(3));
    }

    @Test
    void a_write_that_was_cut_off_is_dropped_and_what_follows_is_kept() throws Exception {
        RawFile file = new RawFile(folder, "lines");
        file.add(List.of(line(1)));
        long whole = Files.size(folder.resolve("lines.jsonl.gz"));
        file.add(List.of(line(2), line(3)));
        byte[] bytes = Files.readAllBytes(folder.resolve("lines.jsonl.gz"));
        for (int length : new int[] {(int) whole + 1, (int) whole + 12, bytes.length - 9, bytes.length - 1}) {
            Files.write(folder.resolve("lines.jsonl.gz"), Arrays.copyOf(bytes, length));
            RawFile mended = new RawFile(folder, "lines");
            assertThat(mended.lines()).as("%d bytes", length).startsWith(line(1));
            mended.add(List.of(line(4)));
            assertThat(new RawFile(folder, "lines").lines())
                    .as("%d bytes", length)
                    .startsWith(line(1))
                    .endsWith(line(4));
        }
    }

    @Test
    void a_file_that_another_program_packed_with_a_name_is_read_too() throws Exception {
        RawFile file = new RawFile(folder, "lines");
        file.add(List.of(line(1)));
        Path path = folder.resolve("lines.jsonl.gz");
        byte[] plain = Files.readAllBytes(path);
        byte[] name = "lines.jsonl\0".getBytes(StandardCharsets.UTF_8);
        byte[] named = new byte[plain.length + name.length];
        System.arraycopy(plain, 0, named, 0, 10);
        named[3] = 8;
        System.arraycopy(name, 0, named, 10, name.length);
        System.arraycopy(plain, 10, named, 10 + name.length, plain.length - 10);
        Files.write(path, named);
        new RawFile(folder, "lines").add(List.of(line(2)));
        assertThat(new RawFile(folder, "lines").lines()).containsExactly(line(1), line(2));
    }

    @Test
    void a_file_that_is_full_is_followed_by_another_one() {
        Random random = new Random(1);
        byte[] noise = new byte[8 << 20];
        RawFile file = new RawFile(folder, "lines");
        for (int i = 0; i < 3; i++) {
            random.nextBytes(noise);
            file.add(List.of(line(i).put("noise", noise)));
        }
        file.add(List.of(line(3)));
        assertThat(folder.resolve("lines-2.jsonl.gz")).exists();
        assertThat(folder.resolve("lines.jsonl.gz").toFile().length()).isLessThan(27L << 20);
        List<Integer> numbers = new RawFile(folder, "lines")
                .lines().stream().map(line -> line.path("number").asInt(-1)).toList();
        assertThat(numbers).containsExactly(0, 1, 2, 3);
    }
}
