package org.harnesslearning.gateway.page;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The questions of one split against everything that was measured on them.
 *
 * @param rows question by question, each with a cell a column; null where a column has not answered it
 */
record Matrix(String split, List<Column> columns, List<Row> rows) {
    /** What the API answers. */
    record Listed(List<Measurement> data) {}

    record Measurement(
            String id,
            int round,
            @Nullable Integer candidate,
            String role,
            String split,
            int repeat,
            String harness,
            int questions,
            String state,
            RunAnswer.@Nullable Score score,
            List<CandidateAnswer.Question> results) {}

    /** One harness; {@code place} names its candidate, null for none. */
    record Column(
            String label,
            String title,
            String harness,
            int repeat,
            @Nullable String place,
            @Nullable Double mean) {}

    record Row(String item, List<@Nullable Cell> cells) {}

    /** One answer; {@code kind} is full, part, zero or fault. */
    record Cell(String kind, String text, String title) {}

    /** The matrix of a split. */
    static Matrix of(String split, List<Measurement> measurements) {
        List<Column> columns = new ArrayList<>();
        Map<String, List<@Nullable Cell>> rows = new LinkedHashMap<>();
        for (Measurement measurement : measurements) {
            if (!measurement.split().equals(split) || measurement.results().isEmpty()) {
                continue;
            }
            int at = columns.size();
            columns.add(column(measurement));
            for (CandidateAnswer.Question question : measurement.results()) {
                List<@Nullable Cell> cells = rows.computeIfAbsent(question.itemHash(), item -> new ArrayList<>());
                while (cells.size() < at) {
                    cells.add(null);
                }
                cells.add(cell(question));
            }
        }
        List<Row> full = new ArrayList<>();
        rows.forEach((item, cells) -> {
            while (cells.size() < columns.size()) {
                cells.add(null);
            }
            full.add(new Row(item, cells));
        });
        return new Matrix(split, columns, full);
    }

    private static Column column(Measurement measurement) {
        Integer candidate = measurement.candidate();
        String role = measurement.role().toLowerCase(Locale.ROOT);
        String place = candidate == null ? null : measurement.round() + "/" + candidate;
        String label = switch (role) {
            case "candidate" -> place == null ? role : place;
            case "seed" -> "start";
            case "noise" -> "start again";
            case "incumbent" -> "round " + measurement.round();
            case "result" -> "chosen";
            case "demonstration" -> "demo";
            default -> role;
        };
        return new Column(
                label,
                role + (place == null ? "" : " " + place),
                measurement.harness(),
                measurement.repeat(),
                role.equals("candidate") ? place : null,
                measurement.score() == null ? null : measurement.score().mean());
    }

    private static Cell cell(CandidateAnswer.Question question) {
        String code = question.code().toLowerCase(Locale.ROOT);
        if (!code.equals("ok")) {
            return new Cell("fault", code.replace('_', ' '), code);
        }
        String kind = question.score() >= 1 ? "full" : question.score() > 0 ? "part" : "zero";
        return new Cell(
                kind,
                String.format(Locale.ROOT, "%.2f", question.score()),
                question.answer() == null ? "answered" : question.answer());
    }
}
