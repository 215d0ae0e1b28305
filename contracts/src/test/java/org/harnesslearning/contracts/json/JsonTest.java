package org.harnesslearning.contracts.json;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.execution.Limits;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.Split;
import org.junit.jupiter.api.Test;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.exc.UnrecognizedPropertyException;

class JsonTest {
    @Test
    void canonical_text_does_not_depend_on_the_order_of_keys_at_any_depth() {
        Map<String, Object> one = new LinkedHashMap<>();
        one.put("b", List.of(Map.of("y", 1, "x", 2)));
        one.put("a", "ü");
        Map<String, Object> other = new LinkedHashMap<>();
        other.put("a", "ü");
        other.put("b", List.of(Map.of("x", 2, "y", 1)));

        assertThat(Json.canonical(one))
                .isEqualTo(Json.canonical(other))
                .isEqualTo("{\"a\":\"\\u00FC\",\"b\":[{\"x\":2,\"y\":1}]}");
    }

    @Test
    void names_are_snake_case_and_times_rfc_3339() {
        assertThat(Json.write(new Limits(1, 2, 3)))
                .isEqualTo("{\"solver_calls_per_question\":1,\"question_wall_clock_s\":2,\"memory_mib\":3}");
        assertThat(Json.write(Map.of("at", Instant.EPOCH))).isEqualTo("{\"at\":\"1970-01-01T00:00:00Z\"}");
        assertThat(Json.write(Split.HELD_OUT)).isEqualTo("\"held_out\"");
        assertThat(Json.read("\"held_out\"", Split.class)).isEqualTo(Split.HELD_OUT);
    }

    @Test
    void unknown_fields_and_trailing_text_are_refused() {
        assertThatThrownBy(() -> Json.read("{\"memory_mib\":3,\"colour\":1}", Limits.class))
                .isInstanceOf(UnrecognizedPropertyException.class);
        assertThatThrownBy(() -> Json.read("1 2", Integer.class)).isInstanceOf(JacksonException.class);
    }

    @Test
    void an_item_keeps_its_value_through_json() {
        Item item = Item.of("2 + 2 = ?", List.of("4", "four"));
        assertThat(Json.read(Json.write(item), Item.class)).isEqualTo(item);
    }
}
