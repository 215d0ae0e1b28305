package org.harnesslearning.standalone.smoke;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.json.Json;

/**
 * Edits for sums of integers, written by hand: all apply and run, and each adds up another number of terms, so that they
 * score differently. All of them know the missing angle of a polygon too, a task of the families that promotions decide
 * on.
 */
public final class SmokeEdits {
    private static final String EDIT = """
            Add up %s.

            <<<<<<< SEARCH
                return env.llm(question)
            =======
                angles = [int(float(part.split()[-1])) for part in question.split("\u00b0")[:-1]]
                if angles:
                    return str(180 * len(angles) - 180 - sum(angles))
                terms = question.split(":")[-1].strip(" =").replace("- ", "-").replace("+ ", "").split()
                return str(sum(map(int, terms%s)))
            >>>>>>> REPLACE""";

    private SmokeEdits() {}

    /** The replies that hold the edits. */
    public static List<String> replies() {
        return List.of(
                EDIT.formatted("all numbers", ""),
                EDIT.formatted("two numbers", "[:2]"),
                EDIT.formatted("three numbers", "[:3]"),
                EDIT.formatted("four numbers", "[:4]"));
    }

    /** The same as lines of a recorded model, for the first round of one revision. */
    public static String recorded() {
        List<String> lines = new ArrayList<>();
        for (String reply : replies()) {
            Map<String, Object> line = new LinkedHashMap<>();
            line.put("position", "1/" + lines.size());
            line.put("reply", reply);
            line.put("finish_reason", "stop");
            lines.add(Json.write(line));
        }
        return String.join("\n", lines) + "\n";
    }
}
