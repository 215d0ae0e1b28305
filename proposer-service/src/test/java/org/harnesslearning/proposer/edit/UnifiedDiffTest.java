package org.harnesslearning.proposer.edit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class UnifiedDiffTest {

    @Test
    void theFormIsThatOfDiffU() {
        String before = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n";
        String after = "a\nB\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm";
        assertThat(UnifiedDiff.of(before, after, "a/harness.py", "b/harness.py"))
                .isEqualTo("""
                --- a/harness.py
                +++ b/harness.py
                @@ -1,5 +1,5 @@
                 a
                -b
                +B
                 c
                 d
                 e
                @@ -10,3 +10,4 @@
                 j
                 k
                 l
                +m
                \\ No newline at end of file
                """);
        assertThat(UnifiedDiff.of(before, before, "a", "b")).isEmpty();
        assertThat(UnifiedDiff.of("", "x\n", "a", "b")).isEqualTo("--- a\n+++ b\n@@ -0,0 +1 @@\n+x\n");
        assertThat(UnifiedDiff.of("x\n", "", "a", "b")).isEqualTo("--- a\n+++ b\n@@ -1 +0,0 @@\n-x\n");
    }

    @Test
    void appliedToTheParentItGivesTheChild() {
        for (int seed = 0; seed < 3_000; seed++) {
            Random random = new Random(seed);
            String before = text(random, 30);
            String after = random.nextInt(5) == 0 ? text(random, 30) : mutate(before, random);
            String diff = UnifiedDiff.of(before, after, "a", "b");
            assertThat(patch(before, diff)).as("seed %d", seed).isEqualTo(after);
        }
    }

    @Test
    void theDifferenceIsTheSmallest() {
        for (int seed = 0; seed < 1_000; seed++) {
            Random random = new Random(seed);
            List<String> a = LineDiff.lines(text(random, 14));
            List<String> b = LineDiff.lines(text(random, 14));
            LineDiff diff = LineDiff.of(a, b);
            int common = longestCommon(a, b);
            assertThat(diff.removed().cardinality()).as("seed %d", seed).isEqualTo(a.size() - common);
            assertThat(diff.added().cardinality()).as("seed %d", seed).isEqualTo(b.size() - common);
        }
    }

    @Test
    void hugeDifferencesStayCorrect() {
        StringBuilder before = new StringBuilder("head\n");
        StringBuilder after = new StringBuilder("head\n");
        for (int i = 0; i < 40_000; i++) {
            before.append("a").append(i).append('\n');
            after.append("b").append(i).append('\n');
        }
        assertThat(patch(before.toString(), UnifiedDiff.of(before.toString(), after.toString(), "a", "b")))
                .isEqualTo(after.toString());
    }

    @Test
    void addedLinesAreThoseOfTheChildAlone() {
        assertThat(UnifiedDiff.addedText("a\nb\nc\n", "a\nx\nc\nb\n")).contains("x\n");
        assertThat(UnifiedDiff.addedLines("a\nb\n", "a\nnew\nb\n").stream()).containsExactly(1);
    }

    @Test
    void similarityGoesFromNothingToEqual() {
        assertThat(UnifiedDiff.similarity("return env.llm(q)", "return   env.llm( q )\n"))
                .isEqualTo(1);
        assertThat(UnifiedDiff.similarity("", " \n")).isEqualTo(1);
        assertThat(UnifiedDiff.similarity("a b c d", "w x y z")).isZero();
        assertThat(UnifiedDiff.similarity("a b c d", "a b x d")).isEqualTo(0.75, within(1e-9));
        assertThat(UnifiedDiff.similarity("a b", "")).isZero();
    }

    private static String text(Random random, int most) {
        StringBuilder text = new StringBuilder();
        for (int i = random.nextInt(most + 1); i > 0; i--) {
            text.append(List.of("a", "b", "c", "", "x\r", "-", "+ y").get(random.nextInt(7)))
                    .append('\n');
        }
        return random.nextInt(3) == 0 && !text.isEmpty() ? text.substring(0, text.length() - 1) : text.toString();
    }

    private static String mutate(String text, Random random) {
        List<String> lines = new ArrayList<>(LineDiff.lines(text));
        for (int i = random.nextInt(3); i >= 0; i--) {
            int at = random.nextInt(lines.size() + 1);
            if (at < lines.size() && random.nextBoolean()) {
                lines.remove(at);
            } else {
                lines.add(at, "new" + i + "\n");
            }
        }
        String joined = String.join("", lines);
        return joined.contains("\n") || !joined.isEmpty() ? joined : "z\n";
    }

    /** Reads the unified form strictly: every context and removed line must be where the header says. */
    private static String patch(String before, String diff) {
        if (diff.isEmpty()) {
            return before;
        }
        List<String> source = LineDiff.lines(before);
        List<String> lines = LineDiff.lines(diff);
        StringBuilder out = new StringBuilder();
        int at = 0;
        for (int i = 2; i < lines.size(); i++) {
            String line = lines.get(i);
            if (line.startsWith("@@")) {
                String[] range = line.split(" ")[1].substring(1).split(",");
                int from = Integer.parseInt(range[0]) - (range.length == 2 && range[1].equals("0") ? 0 : 1);
                assertThat(from).isGreaterThanOrEqualTo(at);
                source.subList(at, from).forEach(out::append);
                at = from;
                continue;
            }
            String content = line.substring(1);
            if (i + 1 < lines.size() && lines.get(i + 1).startsWith("\\")) {
                content = content.substring(0, content.length() - 1);
            }
            switch (line.charAt(0)) {
                case ' ' -> {
                    assertThat(source.get(at++)).isEqualTo(content);
                    out.append(content);
                }
                case '-' -> assertThat(source.get(at++)).isEqualTo(content);
                case '+' -> out.append(content);
                default -> assertThat(line).startsWith("\\");
            }
        }
        source.subList(at, source.size()).forEach(out::append);
        return out.toString();
    }

    private static int longestCommon(List<String> a, List<String> b) {
        int[][] best = new int[a.size() + 1][b.size() + 1];
        for (int i = 1; i <= a.size(); i++) {
            for (int j = 1; j <= b.size(); j++) {
                best[i][j] = a.get(i - 1).equals(b.get(j - 1))
                        ? best[i - 1][j - 1] + 1
                        : Math.max(best[i - 1][j], best[i][j - 1]);
            }
        }
        return best[a.size()][b.size()];
    }
}
