package org.harnesslearning.gateway.page;

import jakarta.servlet.http.HttpServletRequest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.FieldError;
import org.harnesslearning.contracts.error.PlatformException;

/**
 * The form that starts a training run, as it was filled in. A field's name is its place in the request with dots, so that
 * what the API says of a place stands at its field. An empty field leaves the choice to the platform; what values mean and
 * which are allowed, the API alone decides.
 */
record TrainingForm(Map<String, String> values) {
    private static final Set<String> NUMBERS = Set.of(
            "seed",
            "checkpoint_every",
            "budget.steps",
            "budget.wall_clock_s",
            "budget.solver_calls",
            "budget.tokens",
            "method.states",
            "method.candidates",
            "method.epochs",
            "method.batch_size",
            "method.min_gain",
            "method.groups_per_batch",
            "method.kl_coefficient",
            "method.max_staleness",
            "method.depth",
            "method.rollout.feedback",
            "method.rollout.dev",
            "method.rollout.temperature",
            "method.lora.rank",
            "method.lora.alpha",
            "method.optimizer.learning_rate");
    private static final Set<String> TEXTS = Set.of(
            "kind",
            "name",
            "base_model",
            "parent",
            "method.corpus",
            "method.reward_mode",
            "method.selection",
            "method.rollout.reply_form",
            "method.rollout.solver_model",
            "method.optimizer.schedule");
    private static final Set<String> LISTS = Set.of("families", "method.teachers");
    /** Fields that only some kinds have. */
    private static final Map<String, Set<String>> OF_KINDS = Map.ofEntries(
            Map.entry("method.teachers", Set.of("sft")),
            Map.entry("method.corpus", Set.of("sft")),
            Map.entry("method.states", Set.of("sft")),
            Map.entry("method.epochs", Set.of("sft")),
            Map.entry("method.batch_size", Set.of("sft")),
            Map.entry("method.min_gain", Set.of("sft")),
            Map.entry("method.groups_per_batch", Set.of("grpo", "multistep")),
            Map.entry("method.reward_mode", Set.of("grpo", "multistep")),
            Map.entry("method.kl_coefficient", Set.of("grpo", "multistep")),
            Map.entry("method.max_staleness", Set.of("grpo", "multistep")),
            Map.entry("method.depth", Set.of("multistep")),
            Map.entry("method.selection", Set.of("multistep")));

    TrainingForm {
        values = Map.copyOf(values);
    }

    static TrainingForm empty() {
        return new TrainingForm(Map.of());
    }

    /** What was sent. */
    static TrainingForm of(HttpServletRequest request) {
        Map<String, String> values = new LinkedHashMap<>();
        for (Set<String> fields : List.of(NUMBERS, TEXTS, LISTS)) {
            for (String field : fields) {
                String value = request.getParameter(field);
                if (value != null && !value.isBlank()) {
                    values.put(field, value.strip());
                }
            }
        }
        return new TrainingForm(values);
    }

    /** A field as it was filled in; empty when it was not. */
    public String of(String field) {
        return values.getOrDefault(field, "");
    }

    /**
     * The body of {@code POST /training-runs}: what is filled in and belongs to the chosen kind.
     *
     * @throws PlatformException INVALID_FIELD for text where a number belongs
     */
    Map<String, Object> body() {
        List<FieldError> faults = new ArrayList<>();
        Map<String, Object> body = new LinkedHashMap<>();
        values.forEach((field, text) -> {
            if (!OF_KINDS.getOrDefault(field, Set.of(of("kind"))).contains(of("kind"))) {
                return;
            }
            if (NUMBERS.contains(field)) {
                try {
                    put(body, field, text.matches("-?\\d{1,18}") ? (Object) Long.valueOf(text) : Double.valueOf(text));
                } catch (NumberFormatException e) {
                    faults.add(new FieldError(
                            "/" + field.replace('.', '/'), ErrorCode.INVALID_FIELD, "This must be a number"));
                }
            } else if (LISTS.contains(field)) {
                List<String> names = Arrays.stream(text.split("[\\s,]+"))
                        .filter(name -> !name.isEmpty())
                        .toList();
                put(
                        body,
                        field,
                        field.equals("families")
                                ? names
                                : names.stream()
                                        .map(name -> Map.of("model", name))
                                        .toList());
            } else {
                put(body, field, text);
            }
        });
        if (!faults.isEmpty()) {
            throw PlatformException.fields(faults);
        }
        return body;
    }

    @SuppressWarnings("unchecked")
    private static void put(Map<String, Object> body, String field, Object value) {
        Map<String, Object> into = body;
        String[] path = field.split("\\.");
        for (int i = 0; i < path.length - 1; i++) {
            into = (Map<String, Object>) into.computeIfAbsent(path[i], part -> new LinkedHashMap<String, Object>());
        }
        into.put(path[path.length - 1], value);
    }

    /** What is wrong, by field; what is wrong inside a list stands at the list, the rest under the empty name. */
    static Map<String, String> wrong(List<FieldError> errors) {
        Map<String, String> wrong = new LinkedHashMap<>();
        for (FieldError error : errors) {
            String field = error.pointer().replaceFirst("^/", "").replace('/', '.');
            while (!field.isEmpty() && !NUMBERS.contains(field) && !TEXTS.contains(field) && !LISTS.contains(field)) {
                field = field.substring(0, Math.max(0, field.lastIndexOf('.')));
            }
            wrong.merge(field, error.detail(), (first, second) -> first + "; " + second);
        }
        return wrong;
    }
}
