package org.harnesslearning.tasks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.FieldError;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.Split;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

class OwnTaskTests {
    private static final Scorer EXACT = Scorers.own().forRef(Scorers.own().ref("exact", Map.of()));
    private static final Scorer NUMERIC = Scorers.own().forRef(Scorers.own().ref("numeric", Map.of()));

    private static PlatformException error(ThrowingCallable call) {
        PlatformException e = catchThrowableOfType(PlatformException.class, call);
        assertThat(e).isNotNull();
        return e;
    }

    private static JsonNode json(String text) {
        return Json.mapper().readTree(text.replace('\'', '"'));
    }

    @Test
    void json_lines_are_read_with_blank_lines_crlf_and_a_byte_order_mark() {
        List<OwnItem> items = OwnTask.readJsonl(
                "\uFEFF{\"id\": \"a\", \"question\": \"1+1?\", \"answer\": \"2\", \"metadata\": {\"k\": [1]}}\r\n\r\n"
                        + "{\"question\": \"2+2?\\u2028\", \"answer\": [\"4\", \"four\"], \"split\": \"dev\"}\n",
                "/items");
        assertThat(items).hasSize(2);
        assertThat(items.get(0).id()).isEqualTo("a");
        assertThat(items.get(0).metadata()).containsEntry("k", List.of(1));
        assertThat(items.get(1).question()).isEqualTo("2+2?\u2028");
        assertThat(items.get(1).answers()).containsExactly("4", "four");
        assertThat(items.get(1).split()).isEqualTo(Split.DEV);
    }

    @Test
    void the_example_is_a_task_with_three_splits_that_do_not_overlap() throws IOException {
        String text = Files.readString(Path.of("..", "examples", "pens", "task.jsonl"));
        TaskItems items = OwnTask.split(OwnTask.readJsonl(text, "/items"), false, NUMERIC, "/items");
        assertThat(items.feedback()).hasSize(4);
        assertThat(items.dev()).hasSize(6);
        assertThat(items.heldOut()).hasSize(10);
    }

    @Test
    void every_bad_line_is_reported_with_its_number() {
        PlatformException e = error(() -> OwnTask.readJsonl("""
                {"question": "fine", "answer": "1"}
                {"question": "cut off"
                {"question": " ", "answer": "1"}

                {"answer": "1"}
                {"question": "q", "answer": []}
                {"question": "q", "answer": 3}
                {"question": "q", "answer": "1", "spilt": "dev"}
                {"question": "q", "answer": "1", "split": "test"}
                ["q", "1"]
                {"question": "q", "question": "r", "answer": "1"}
                {"question": "nul \\u0000", "answer": "1"}
                {"question": "half \\ud800", "answer": "1"}
                """, "/items"));
        assertThat(e.code()).isEqualTo(ErrorCode.INVALID_FIELD);
        assertThat(e.errors())
                .extracting(error -> error.detail().split(":")[0])
                .containsExactly(
                        "line 2", "line 3", "line 5", "line 6", "line 7", "line 8", "line 9", "line 10", "line 11",
                        "line 12", "line 13");
        assertThat(e.errors())
                .extracting(FieldError::pointer)
                .contains("/items/1", "/items/2/question", "/items/6/spilt");
        assertThat(e.errors().get(5).code()).isEqualTo(ErrorCode.UNKNOWN_FIELD);
    }

    @Test
    void an_object_gives_each_split_an_array() {
        List<OwnItem> items = OwnTask.readJson(
                json("{'feedback': [{'question': 'a', 'answer': 'x'}], 'dev': [{'question': 'b', 'answer': 'x'}],"
                        + " 'held_out': [{'question': 'c', 'answer': 'x'}]}"),
                "/task/inline/items");
        TaskItems split = OwnTask.split(items, false, EXACT, "/task/inline/items");
        assertThat(split.feedback()).extracting(Item::question).containsExactly("a");
        assertThat(split.dev()).extracting(Item::question).containsExactly("b");
        assertThat(split.heldOut()).extracting(Item::question).containsExactly("c");
        assertThat(split.all()).hasSize(3);

        assertThat(error(() -> OwnTask.readJson(json("{'train': []}"), "/items"))
                        .code())
                .isEqualTo(ErrorCode.UNKNOWN_FIELD);
        assertThat(error(() -> OwnTask.readJson(json("{'dev': {}}"), "/items"))
                        .errors()
                        .getFirst()
                        .pointer())
                .isEqualTo("/items/dev");
        assertThat(error(() -> OwnTask.readJson(
                                json("{'dev': [{'question': 'b', 'answer': 'x', 'split': 'feedback'}]}"), "/items"))
                        .getMessage())
                .contains("stands in dev");
        assertThat(error(() -> OwnTask.readJson(json("3"), "/items")).code()).isEqualTo(ErrorCode.INVALID_FIELD);
        assertThat(error(() -> OwnTask.readJson(json("[]"), "/items")).getMessage())
                .contains("no items");
    }

    @Test
    void items_without_a_split_are_divided_by_the_hash_of_the_question() {
        List<OwnItem> items = IntStream.range(0, 5000)
                .mapToObj(i -> new OwnItem("/" + i, null, "question " + i, List.of("a"), null, Map.of(), false))
                .toList();
        TaskItems split = OwnTask.split(items, false, EXACT, "/items");
        assertThat(split.feedback().size()).isBetween(900, 1100);
        assertThat(split.dev().size()).isBetween(1400, 1600);
        assertThat(split.heldOut().size()).isBetween(2350, 2650);

        TaskItems fewer = OwnTask.split(items.subList(0, 2500), false, EXACT, "/items");
        assertThat(split.heldOut()).containsAll(fewer.heldOut());
        assertThat(split.feedback()).containsAll(fewer.feedback());
    }

    private static List<OwnItem> items(String... splitAndQuestion) {
        List<OwnItem> items = new ArrayList<>();
        for (String text : splitAndQuestion) {
            String[] parts = text.split(":", 2);
            items.add(new OwnItem(
                    "/items/" + items.size(), null, parts[1], List.of("1"), Split.valueOf(parts[0]), Map.of(), false));
        }
        return items;
    }

    @Test
    void splits_that_share_a_question_are_refused() {
        PlatformException e = error(
                () -> OwnTask.split(items("FEEDBACK:a", "DEV:b", "DEV:b", "HELD_OUT:a "), false, EXACT, "/items"));
        assertThat(e.code()).isEqualTo(ErrorCode.OVERLAPPING_SPLITS);
        assertThat(e.errors())
                .extracting(FieldError::pointer)
                .containsExactly("/items/3/question", "/items/2/question");
        assertThat(e.getMessage()).contains("/items/0").contains("feedback").contains("held_out");
    }

    @Test
    void a_question_twice_in_a_split_is_refused() {
        PlatformException e =
                error(() -> OwnTask.split(items("FEEDBACK:a", "DEV:b", "DEV:b", "HELD_OUT:c"), false, EXACT, "/items"));
        assertThat(e.code()).isEqualTo(ErrorCode.INVALID_FIELD);
        assertThat(e.errors()).hasSize(1);
    }

    @Test
    void a_missing_held_out_set_is_refused_unless_allowed() {
        List<OwnItem> items = items("FEEDBACK:a", "DEV:b");
        assertThat(error(() -> OwnTask.split(items, false, EXACT, "/items")).code())
                .isEqualTo(ErrorCode.MISSING_HELD_OUT);
        assertThat(OwnTask.split(items, true, EXACT, "/items").heldOut()).isEmpty();
        assertThat(error(() -> OwnTask.split(items("DEV:b", "HELD_OUT:c"), true, EXACT, "/items"))
                        .getMessage())
                .contains("feedback");
    }

    @Test
    void items_that_the_scorer_cannot_score_are_refused() {
        List<OwnItem> items = new ArrayList<>(items("FEEDBACK:a", "DEV:b", "HELD_OUT:c"));
        items.set(1, new OwnItem("/items/1", null, "b", List.of("1", "many"), Split.DEV, Map.of(), false));
        PlatformException e = error(() -> OwnTask.split(items, false, NUMERIC, "/items"));
        assertThat(e.errors().getFirst().pointer()).isEqualTo("/items/1/answer");
        assertThat(e.getMessage()).contains("many");
    }

    @Test
    void sizes_are_capped() {
        String line = "{\"question\": \"q\", \"answer\": \"1\"}\n";
        assertThat(error(() -> OwnTask.readJsonl(line.repeat(OwnTask.MAX_ITEMS + 1), "/items"))
                        .code())
                .isEqualTo(ErrorCode.TOO_LARGE);
        assertThat(error(() -> OwnTask.readJsonl(" ".repeat(OwnTask.MAX_TEXT + 1), "/items"))
                        .code())
                .isEqualTo(ErrorCode.TOO_LARGE);
        assertThat(error(() -> OwnTask.readJsonl(
                                "{\"question\": \"" + "x".repeat(OwnTask.MAX_QUESTION + 1) + "\", \"answer\": \"1\"}",
                                "/items"))
                        .getMessage())
                .contains("longer than");
        assertThat(error(() -> OwnTask.readJsonl(
                                "{\"id\": \"a\", \"question\": \"1\", \"answer\": \"1\"}\n"
                                        + "{\"id\": \"a\", \"question\": \"2\", \"answer\": \"1\"}",
                                "/items"))
                        .getMessage())
                .contains("two items have the id");
    }
}
