package org.harnesslearning.tasks;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.FieldError;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.task.Item;
import org.harnesslearning.contracts.task.Split;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * A user's own questions. An item is {@code {"id"?, "question", "answer": string | [string], "split"?, "metadata"?, "regression"?}};
 * items come as JSON Lines, as one JSON array, or as an object with one array a split. All faults are reported at once, up
 * to {@value #MAX_ERRORS}, each with a JSON Pointer to the item and for JSON Lines with the line's number.
 */
public final class OwnTask {
    /** Most items of a task. */
    public static final int MAX_ITEMS = 10_000;

    /** Most characters of a question. */
    public static final int MAX_QUESTION = 100_000;

    /** Most accepted answers of an item. */
    public static final int MAX_ANSWERS = 100;

    /** Most characters of an answer. */
    public static final int MAX_ANSWER = 20_000;

    /** Most characters of all items together, as they were sent. */
    public static final int MAX_TEXT = 20_000_000;

    private static final int MAX_ID = 200;
    private static final int MAX_ERRORS = 20;
    private static final Set<String> FIELDS = Set.of("id", "question", "answer", "split", "metadata", "regression");
    private static final int FEEDBACK_PERCENT = 20;
    private static final int DEV_PERCENT = 30;

    private static final JsonMapper MAPPER = Json.mapper()
            .rebuild()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .build();

    private OwnTask() {}

    /**
     * Reads JSON Lines: one item a line, blank lines skipped; {@code \n} or {@code \r\n}, a byte order mark is ignored.
     *
     * @param pointer where the items stand in the request, such as {@code /items}; an item's index is appended
     * @throws PlatformException INVALID_FIELD or UNKNOWN_FIELD for bad lines; TOO_LARGE
     */
    public static List<OwnItem> readJsonl(String text, String pointer) {
        checkSize(text.length());
        List<OwnItem> items = new ArrayList<>();
        List<FieldError> errors = new ArrayList<>();
        int number = 0;
        for (String line : (text.startsWith("\uFEFF") ? text.substring(1) : text).split("\n", -1)) {
            number++;
            if (line.isBlank()) {
                continue;
            }
            String at = pointer + "/" + (items.size());
            String place = "line " + number + ": ";
            JsonNode node;
            try {
                node = MAPPER.readTree(line);
            } catch (JacksonException e) {
                errors.add(new FieldError(
                        at, ErrorCode.INVALID_FIELD, place + "not JSON: " + Texts.clip(e.getOriginalMessage())));
                node = null;
            }
            items.add(node == null ? BROKEN : item(node, at, place, null, errors));
            checkCount(items.size(), pointer);
            if (errors.size() >= MAX_ERRORS) {
                break;
            }
        }
        return done(items, errors, pointer);
    }

    /**
     * Reads items of a JSON value: an array of items, or an object with the arrays {@code feedback}, {@code dev} and
     * {@code held_out}.
     *
     * @param pointer where the value stands in the request, such as {@code /task/inline/items}
     * @throws PlatformException INVALID_FIELD or UNKNOWN_FIELD; TOO_LARGE
     */
    public static List<OwnItem> readJson(JsonNode value, String pointer) {
        List<OwnItem> items = new ArrayList<>();
        List<FieldError> errors = new ArrayList<>();
        if (value.isArray()) {
            readArray(value, pointer, null, items, errors);
        } else if (value.isObject()) {
            for (Map.Entry<String, JsonNode> entry : value.properties()) {
                Split split = split(entry.getKey());
                String at = pointer + "/" + escape(entry.getKey());
                if (split == null) {
                    errors.add(new FieldError(
                            at,
                            ErrorCode.UNKNOWN_FIELD,
                            "there is no split \"" + Texts.clip(entry.getKey())
                                    + "\"; known are feedback, dev and held_out"));
                } else if (entry.getValue().isArray()) {
                    readArray(entry.getValue(), at, split, items, errors);
                } else {
                    errors.add(new FieldError(at, ErrorCode.INVALID_FIELD, "must be an array of items"));
                }
            }
        } else {
            errors.add(new FieldError(
                    pointer,
                    ErrorCode.INVALID_FIELD,
                    "must be an array of items, or an object with the arrays feedback, dev and held_out"));
        }
        return done(items, errors, pointer);
    }

    /**
     * Divides items into the three splits. An item without a split goes to feedback, dev or held_out by the hash of its
     * question (20 / 30 / 50 %), so that it stays where it is when others are added.
     *
     * @param allowMissingHeldOut whether a task without held-out items is taken
     * @param scorer asked whether it can score each item
     * @param pointer where the items stand in the request
     * @throws PlatformException OVERLAPPING_SPLITS when two splits share a question; MISSING_HELD_OUT; INVALID_FIELD for
     *     a question that comes twice in a split, an empty feedback or dev split, and items that the scorer can't score
     */
    public static TaskItems split(List<OwnItem> given, boolean allowMissingHeldOut, Scorer scorer, String pointer) {
        Map<Split, List<Item>> splits = new EnumMap<>(Split.class);
        for (Split split : Split.values()) {
            splits.put(split, new ArrayList<>());
        }
        Map<String, Place> places = new HashMap<>();
        List<FieldError> errors = new ArrayList<>();
        for (OwnItem own : given) {
            if (errors.size() >= MAX_ERRORS) {
                break;
            }
            Item plain = Item.of(own.question(), own.answers());
            Item item = new Item(plain.hash(), plain.question(), plain.answers(), null, own.mark());
            Split split = own.split() == null ? byHash(item.hash(), own.regression()) : own.split();
            // A blank more or less at an end makes no new question.
            Place earlier = places.putIfAbsent(own.question().strip(), new Place(own.pointer(), split));
            if (earlier != null) {
                boolean same = earlier.split() == split;
                errors.add(new FieldError(
                        own.pointer() + "/question",
                        same ? ErrorCode.INVALID_FIELD : ErrorCode.OVERLAPPING_SPLITS,
                        same
                                ? "the question of " + earlier.pointer() + " comes again in " + split.json()
                                : "the question of " + earlier.pointer() + " in "
                                        + earlier.split().json() + " comes again in " + split.json()));
                continue;
            }
            if (own.regression() && split == Split.FEEDBACK) {
                errors.add(new FieldError(
                        own.pointer() + "/regression",
                        ErrorCode.INVALID_FIELD,
                        "feedback questions are not asked again at the end; an item of the regression set stands in dev"
                                + " or held_out"));
                continue;
            }
            String fault = scorer.fault(item);
            if (fault != null) {
                errors.add(new FieldError(own.pointer() + "/answer", ErrorCode.INVALID_FIELD, fault));
                continue;
            }
            splits.computeIfAbsent(split, absent -> new ArrayList<>()).add(item);
        }
        if (!errors.isEmpty()) {
            throw PlatformException.fields(leading(errors));
        }
        TaskItems items = new TaskItems(
                splits.getOrDefault(Split.FEEDBACK, List.of()),
                splits.getOrDefault(Split.DEV, List.of()),
                splits.getOrDefault(Split.HELD_OUT, List.of()));
        for (Split split : List.of(Split.FEEDBACK, Split.DEV)) {
            if (items.of(split).isEmpty()) {
                throw PlatformException.field(
                        ErrorCode.INVALID_FIELD,
                        pointer,
                        "there is no item in " + split.json()
                                + "; give items a \"split\", or more of them to be divided by hash");
            }
        }
        if (items.heldOut().isEmpty() && !allowMissingHeldOut) {
            throw PlatformException.field(
                    ErrorCode.MISSING_HELD_OUT,
                    pointer,
                    "there is no item in held_out, so a gain can't be told from luck; add some, or send"
                            + " \"allow_missing_held_out\": true");
        }
        return items;
    }

    private record Place(String pointer, Split split) {}

    private static final OwnItem BROKEN = new OwnItem("", null, "", List.of(), null, Map.of(), false);

    private static void readArray(
            JsonNode array, String pointer, @Nullable Split split, List<OwnItem> items, List<FieldError> errors) {
        int index = 0;
        for (JsonNode node : array) {
            if (errors.size() >= MAX_ERRORS) {
                return;
            }
            items.add(item(node, pointer + "/" + index, "", split, errors));
            checkCount(items.size(), pointer);
            index++;
        }
    }

    private static OwnItem item(
            JsonNode node, String at, String place, @Nullable Split given, List<FieldError> errors) {
        if (!node.isObject()) {
            errors.add(new FieldError(at, ErrorCode.INVALID_FIELD, place + "an item must be a JSON object"));
            return BROKEN;
        }
        int before = errors.size();
        for (String name : node.propertyNames()) {
            if (!FIELDS.contains(name)) {
                errors.add(new FieldError(
                        at + "/" + escape(name),
                        ErrorCode.UNKNOWN_FIELD,
                        place + "there is no field \"" + Texts.clip(name) + "\""));
            }
        }
        Reader reader = new Reader(at, place, errors);
        String id = reader.optional(node.get("id"), "id", MAX_ID);
        String question = reader.text(node.get("question"), "/question", "question", MAX_QUESTION);
        if (question != null && question.isBlank()) {
            reader.fault("/question", "question must not be blank");
        }
        List<String> answers = reader.answers(node.get("answer"));
        Split split = reader.split(node.get("split"), given);
        Map<String, Object> metadata = reader.metadata(node.get("metadata"));
        JsonNode regression = node.get("regression");
        if (regression != null && !regression.isNull() && !regression.isBoolean()) {
            reader.fault("/regression", "regression must be true or false");
        }
        return errors.size() > before || question == null
                ? BROKEN
                : new OwnItem(
                        at, id, question, answers, split, metadata, regression != null && regression.asBoolean(false));
    }

    /** Reads the fields of one item. */
    private record Reader(String at, String place, List<FieldError> errors) {
        void fault(String field, String detail) {
            errors.add(new FieldError(at + field, ErrorCode.INVALID_FIELD, place + detail));
        }

        @Nullable
        String text(@Nullable JsonNode node, String field, String name, int max) {
            if (node == null || node.isNull()) {
                fault(field, name + " is missing");
                return null;
            }
            if (!node.isString()) {
                fault(field, name + " must be a text");
                return null;
            }
            String text = node.stringValue();
            if (text.length() > max) {
                fault(field, name + " is longer than " + max + " characters");
                return null;
            }
            if (text.indexOf('\0') >= 0 || hasLoneSurrogate(text)) {
                fault(field, name + " has a character that is no text (NUL, or half of a surrogate pair)");
                return null;
            }
            return text;
        }

        @Nullable
        String optional(@Nullable JsonNode node, String name, int max) {
            return node == null || node.isNull() ? null : text(node, "/" + name, name, max);
        }

        List<String> answers(@Nullable JsonNode node) {
            if (node == null || !node.isArray()) {
                String answer = text(node, "/answer", "answer", MAX_ANSWER);
                return answer == null ? List.of() : List.of(answer);
            }
            if (node.isEmpty() || node.size() > MAX_ANSWERS) {
                fault("/answer", "answer must have 1 to " + MAX_ANSWERS + " texts");
                return List.of();
            }
            List<String> answers = new ArrayList<>();
            for (int i = 0; i < node.size(); i++) {
                String answer = text(node.get(i), "/answer/" + i, "an answer", MAX_ANSWER);
                if (answer != null) {
                    answers.add(answer);
                }
            }
            return answers;
        }

        @Nullable
        Split split(@Nullable JsonNode node, @Nullable Split given) {
            if (node == null || node.isNull()) {
                return given;
            }
            Split split = node.isString() ? OwnTask.split(node.stringValue()) : null;
            if (split == null) {
                fault("/split", "split must be feedback, dev or held_out");
            } else if (given != null && split != given) {
                fault("/split", "split is " + split.json() + " but the item stands in " + given.json());
            }
            return split;
        }

        Map<String, Object> metadata(@Nullable JsonNode node) {
            if (node == null || node.isNull()) {
                return Map.of();
            }
            if (!node.isObject()) {
                fault("/metadata", "metadata must be a JSON object");
                return Map.of();
            }
            Map<String, Object> metadata = new LinkedHashMap<>();
            node.properties().forEach(entry -> {
                if (!entry.getValue().isNull()) {
                    metadata.put(entry.getKey(), MAPPER.treeToValue(entry.getValue(), Object.class));
                }
            });
            return metadata;
        }
    }

    private static List<OwnItem> done(List<OwnItem> items, List<FieldError> errors, String pointer) {
        if (!errors.isEmpty()) {
            throw PlatformException.fields(errors);
        }
        if (items.isEmpty()) {
            throw PlatformException.field(ErrorCode.INVALID_FIELD, pointer, "there are no items");
        }
        Set<String> ids = new HashSet<>();
        for (int i = 0; i < items.size(); i++) {
            String id = items.get(i).id();
            if (id != null && !ids.add(id)) {
                throw PlatformException.field(
                        ErrorCode.INVALID_FIELD, pointer, "two items have the id \"" + Texts.clip(id) + "\"");
            }
        }
        return List.copyOf(items);
    }

    private static void checkCount(int items, String pointer) {
        if (items > MAX_ITEMS) {
            throw PlatformException.field(ErrorCode.TOO_LARGE, pointer, "a task has at most " + MAX_ITEMS + " items");
        }
    }

    private static void checkSize(int characters) {
        if (characters > MAX_TEXT) {
            throw new PlatformException(
                    ErrorCode.TOO_LARGE, "the items of a task have at most " + MAX_TEXT + " characters");
        }
    }

    /** Overlapping splits are the graver fault, so they name the error. */
    private static List<FieldError> leading(List<FieldError> errors) {
        List<FieldError> ordered = new ArrayList<>(errors);
        ordered.sort(Comparator.comparing(error -> error.code() != ErrorCode.OVERLAPPING_SPLITS));
        return ordered;
    }

    /** Items of the regression set go to dev in place of feedback. */
    private static Split byHash(String hash, boolean regression) {
        int percent =
                (int) (Long.parseLong(hash.substring(hash.indexOf(':') + 1).substring(0, 12), 16) % 100);
        if (percent < FEEDBACK_PERCENT) {
            return regression ? Split.DEV : Split.FEEDBACK;
        }
        return percent < FEEDBACK_PERCENT + DEV_PERCENT ? Split.DEV : Split.HELD_OUT;
    }

    private static @Nullable Split split(String name) {
        for (Split split : Split.values()) {
            if (split.json().equals(name)) {
                return split;
            }
        }
        return null;
    }

    private static String escape(String name) {
        return name.replace("~", "~0").replace("/", "~1");
    }

    private static boolean hasLoneSurrogate(String text) {
        return text.codePoints()
                .anyMatch(point -> point >= Character.MIN_SURROGATE && point <= Character.MAX_SURROGATE);
    }
}
