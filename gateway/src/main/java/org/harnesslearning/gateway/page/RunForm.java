package org.harnesslearning.gateway.page;

import jakarta.servlet.http.HttpServletRequest;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.FieldError;
import org.harnesslearning.contracts.error.PlatformException;
import org.jspecify.annotations.Nullable;

/**
 * The form that starts an adaptation, as it was filled in. An empty field leaves the choice to the platform; what the
 * values mean and which are allowed, the API alone decides.
 */
record RunForm(Map<String, String> values) {
    private static final List<String> FIELDS = List.of(
            "task",
            "task_seed",
            "feedback",
            "dev",
            "held_out",
            "harness",
            "candidates",
            "rounds",
            "selection",
            "proposer",
            "temperature",
            "demonstrations",
            "reply_form",
            "solver",
            "solver_calls",
            "tokens",
            "wall_clock_s",
            "min_gain",
            "seed",
            "labels");

    RunForm {
        values = Map.copyOf(values);
    }

    static RunForm empty(String task) {
        return new RunForm(Map.of("task", task));
    }

    /** What was sent. */
    static RunForm of(HttpServletRequest request) {
        Map<String, String> values = new LinkedHashMap<>();
        for (String field : FIELDS) {
            String value = request.getParameter(field);
            if (value != null && !value.isBlank()) {
                values.put(field, field.equals("harness") ? value.replace("\r\n", "\n") : value.strip());
            }
        }
        return new RunForm(values);
    }

    /** The same settings again. */
    static RunForm like(RunAnswer run) {
        RunAnswer.Settings settings = run.settings();
        Map<String, String> values = new LinkedHashMap<>();
        put(
                values,
                "task",
                settings.task().reasoningGym() == null
                        ? settings.task().id()
                        : settings.task().name());
        if (settings.task().reasoningGym() != null) {
            put(values, "task_seed", settings.task().reasoningGym().seed());
        }
        put(values, "candidates", settings.candidates());
        put(values, "rounds", settings.rounds());
        put(values, "selection", settings.selection());
        if (settings.proposer() != null) {
            put(values, "proposer", settings.proposer().model());
            put(values, "temperature", settings.proposer().temperature());
            put(values, "demonstrations", settings.proposer().demonstrations());
            put(values, "reply_form", settings.proposer().replyForm());
        }
        if (settings.solver() != null) {
            put(values, "solver", settings.solver().model());
        }
        if (settings.budget() != null) {
            put(values, "solver_calls", settings.budget().solverCalls());
            put(values, "tokens", settings.budget().tokens());
            put(values, "wall_clock_s", settings.budget().wallClockS());
        }
        put(values, "seed", settings.seed());
        return new RunForm(values);
    }

    private static void put(Map<String, String> values, String name, @Nullable Object value) {
        if (value != null) {
            values.put(name, value.toString());
        }
    }

    /** A field as it was filled in; empty when it was not. */
    public String of(String field) {
        return values.getOrDefault(field, "");
    }

    /**
     * The body of {@code POST /adapt}.
     *
     * @throws PlatformException INVALID_FIELD for text where a number belongs
     */
    Map<String, Object> body() {
        List<FieldError> faults = new ArrayList<>();
        Map<String, Object> body = new LinkedHashMap<>();
        String task = of("task");
        if (task.startsWith("tsk_")) {
            body.put("task", Map.of("id", task));
        } else if (!task.isEmpty()) {
            Map<String, Object> family = new LinkedHashMap<>();
            family.put("family", task);
            number(family, "seed", "task_seed", faults);
            body.put("task", Map.of("reasoning_gym", family));
        }
        if (!of("harness").isEmpty()) {
            body.put("harness", Map.of("source", of("harness")));
        }
        Map<String, Object> splits = new LinkedHashMap<>();
        number(splits, "feedback", "feedback", faults);
        number(splits, "dev", "dev", faults);
        number(splits, "held_out", "held_out", faults);
        number(body, "candidates", "candidates", faults);
        number(body, "rounds", "rounds", faults);
        text(body, "selection", "selection");
        Map<String, Object> proposer = new LinkedHashMap<>();
        text(proposer, "model", "proposer");
        number(proposer, "temperature", "temperature", faults);
        text(proposer, "demonstrations", "demonstrations");
        text(proposer, "reply_form", "reply_form");
        Map<String, Object> solver = new LinkedHashMap<>();
        text(solver, "model", "solver");
        Map<String, Object> budget = new LinkedHashMap<>();
        number(budget, "solver_calls", "solver_calls", faults);
        number(budget, "tokens", "tokens", faults);
        number(budget, "wall_clock_s", "wall_clock_s", faults);
        Map<String, Object> gate = new LinkedHashMap<>();
        number(gate, "min_gain", "min_gain", faults);
        part(body, "splits", splits);
        part(body, "proposer", proposer);
        part(body, "solver", solver);
        part(body, "budget", budget);
        part(body, "gate", gate);
        number(body, "seed", "seed", faults);
        Map<String, String> labels = labels(faults);
        if (!labels.isEmpty()) {
            body.put("labels", labels);
        }
        if (!faults.isEmpty()) {
            throw PlatformException.fields(faults);
        }
        return body;
    }

    private static void part(Map<String, Object> body, String name, Map<String, Object> part) {
        if (!part.isEmpty()) {
            body.put(name, part);
        }
    }

    private void text(Map<String, Object> into, String name, String field) {
        if (!of(field).isEmpty()) {
            into.put(name, of(field));
        }
    }

    private void number(Map<String, Object> into, String name, String field, List<FieldError> faults) {
        String text = of(field);
        if (text.isEmpty()) {
            return;
        }
        try {
            into.put(name, text.matches("-?\\d{1,18}") ? (Object) Long.valueOf(text) : Double.valueOf(text));
        } catch (NumberFormatException e) {
            faults.add(new FieldError("/" + field, ErrorCode.INVALID_FIELD, "Field " + field + " must be a number"));
        }
    }

    private Map<String, String> labels(List<FieldError> faults) {
        Map<String, String> labels = new LinkedHashMap<>();
        for (String line : of("labels").split("\\R")) {
            if (line.isBlank()) {
                continue;
            }
            int at = line.indexOf('=');
            if (at < 1) {
                faults.add(new FieldError(
                        "/labels", ErrorCode.INVALID_FIELD, "A label reads name=value, one a line: " + line.strip()));
            } else {
                labels.put(line.substring(0, at).strip(), line.substring(at + 1).strip());
            }
        }
        return labels;
    }
}
