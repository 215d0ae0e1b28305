package org.harnesslearning.store;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class IdsAndColumnsTests {
    @Test
    void ids_grow_within_a_millisecond_and_with_time() {
        Instant start = Instant.parse("2026-01-01T00:00:00Z");
        Ids first = new Ids(Clock.fixed(start, ZoneOffset.UTC), new Random(1));
        Ids later = new Ids(Clock.fixed(start.plusMillis(1), ZoneOffset.UTC), new Random(2));
        List<String> ids = new ArrayList<>();
        for (int i = 0; i < 2000; i++) {
            ids.add(first.next("adp"));
        }
        ids.add(later.next("adp"));

        assertThat(ids).isSorted().doesNotHaveDuplicates().allMatch(id -> id.matches("adp_[0-9a-hjkmnp-tv-z]{26}"));
    }

    @Test
    void text_without_nul_and_half_pairs_is_unchanged_and_the_rest_is_replaced() {
        assertThat(Columns.storable("plain \uD83D\uDE00")).isEqualTo("plain \uD83D\uDE00");
        assertThat(Columns.storable("a\0b\uD800c\uDC00")).isEqualTo("a\uFFFDb\uFFFDc\uFFFD");
    }

    @Test
    void json_columns_hold_no_nul_escape_but_keep_a_written_one() {
        assertThat(Columns.json(Map.of("k", "a\0b"))).isEqualTo("{\"k\":\"a\\ufffdb\"}");
        assertThat(Columns.json(Map.of("k", "a\\u0000b"))).isEqualTo("{\"k\":\"a\\\\u0000b\"}");
        assertThat(Columns.json(null)).isNull();
    }
}
