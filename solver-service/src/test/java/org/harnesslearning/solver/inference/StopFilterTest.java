package org.harnesslearning.solver.inference;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class StopFilterTest {
    private static String run(List<String> stops, String... pieces) {
        StopFilter filter = new StopFilter(stops);
        StringBuilder out = new StringBuilder();
        for (String piece : pieces) {
            out.append(filter.accept(piece));
        }
        return out.append(filter.finish()).toString();
    }

    @Test
    void a_stop_string_may_span_pieces() {
        assertThat(run(List.of("</answer>"), "42<", "/ans", "wer", "> more")).isEqualTo("42");
        assertThat(run(List.of("</answer>"), "42</ans", "were>")).isEqualTo("42</answere>");
    }

    @Test
    void the_earliest_stop_string_wins() {
        assertThat(run(List.of("cd", "b"), "abcd")).isEqualTo("a");
        assertThat(run(List.of("aab"), "aaab")).isEqualTo("a");
    }

    @Test
    void nothing_that_could_become_a_stop_string_is_shown_early() {
        StopFilter filter = new StopFilter(List.of("\n\n"));
        assertThat(filter.accept("x\n")).isEqualTo("x");
        assertThat(filter.accept("y")).isEqualTo("\ny");
        assertThat(filter.accept("\n")).isEmpty();
        assertThat(filter.accept("\nz")).isEmpty();
        assertThat(filter.stopped()).isTrue();
        assertThat(filter.accept("more")).isEmpty();
        assertThat(filter.finish()).isEmpty();
    }

    @Test
    void any_cut_into_pieces_gives_the_text_before_the_first_stop() {
        Random random = new Random(5);
        for (int round = 0; round < 2000; round++) {
            StringBuilder text = new StringBuilder();
            for (int i = random.nextInt(30); i > 0; i--) {
                text.append((char) ('a' + random.nextInt(3)));
            }
            List<String> stops = List.of("abc", "bb", "cacb");
            int first = stops.stream()
                    .mapToInt(stop -> text.indexOf(stop))
                    .filter(at -> at >= 0)
                    .min()
                    .orElse(text.length());
            StopFilter filter = new StopFilter(stops);
            StringBuilder out = new StringBuilder();
            int at = 0;
            while (at < text.length()) {
                int end = Math.min(text.length(), at + 1 + random.nextInt(4));
                out.append(filter.accept(text.substring(at, end)));
                at = end;
            }
            assertThat(out.append(filter.finish()).toString()).isEqualTo(text.substring(0, first));
        }
    }
}
