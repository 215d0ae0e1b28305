package org.harnesslearning.gateway.page;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** A unified diff as rows for two columns: what was taken away stands beside what came in its place. */
final class DiffRows {
    private static final Pattern HUNK = Pattern.compile("@@ -(\\d+)(?:,\\d+)? \\+(\\d+)(?:,\\d+)? @@.*");

    private DiffRows() {}

    /**
     * One row.
     *
     * @param kind {@code same}, {@code change}, {@code gap}: lines left out before this row
     * @param left number in the file before, null for none
     * @param right number in the file after, null for none
     */
    record Row(
            String kind,
            @Nullable Integer left,
            String before,
            @Nullable Integer right,
            String after) {}

    /** Rows of a diff; empty for an empty one. */
    static List<Row> of(@Nullable String diff) {
        List<Row> rows = new ArrayList<>();
        if (diff == null || diff.isEmpty()) {
            return rows;
        }
        List<String> removed = new ArrayList<>();
        List<String> added = new ArrayList<>();
        int left = 1;
        int right = 1;
        boolean inHunk = false;
        for (String line : diff.split("\n", -1)) {
            Matcher hunk = HUNK.matcher(line);
            if (hunk.matches()) {
                flush(rows, removed, added, left, right);
                removed.clear();
                added.clear();
                left = Integer.parseInt(hunk.group(1));
                right = Integer.parseInt(hunk.group(2));
                if (inHunk || left > 1) {
                    rows.add(new Row("gap", null, "", null, ""));
                }
                inHunk = true;
            } else if (inHunk && line.startsWith("-")) {
                removed.add(line.substring(1));
            } else if (inHunk && line.startsWith("+")) {
                added.add(line.substring(1));
            } else if (inHunk && line.startsWith(" ")) {
                flush(rows, removed, added, left, right);
                left += removed.size();
                right += added.size();
                removed.clear();
                added.clear();
                String text = line.substring(1);
                rows.add(new Row("same", left++, text, right++, text));
            }
        }
        flush(rows, removed, added, left, right);
        return rows;
    }

    private static void flush(List<Row> rows, List<String> removed, List<String> added, int left, int right) {
        for (int i = 0; i < Math.max(removed.size(), added.size()); i++) {
            boolean before = i < removed.size();
            boolean after = i < added.size();
            rows.add(new Row(
                    "change",
                    before ? Integer.valueOf(left + i) : null,
                    before ? removed.get(i) : "",
                    after ? Integer.valueOf(right + i) : null,
                    after ? added.get(i) : ""));
        }
    }
}
