package org.harnesslearning.proposer.edit;

import java.text.Normalizer;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** The tiers as the contract words them, place by place and without any index: the oracle of the property tests. */
final class NaiveEngine {
    record Answer(EditCode code, Tier tier, List<String> lines) {}

    private NaiveEngine() {}

    static Answer apply(List<String> file, List<EditBlock> blocks, EditOptions options) {
        List<String> lines = new ArrayList<>(file);
        Tier loosest = Tier.EXACT;
        for (EditBlock block : blocks) {
            if (block.search().stream().allMatch(line -> strip(line).isEmpty())) {
                if (!lines.isEmpty()) {
                    return new Answer(EditCode.EMPTY_SEARCH, null, file);
                }
                lines.addAll(block.replace());
                continue;
            }
            boolean found = false;
            for (Tier tier : Tier.values()) {
                if (found || tier == Tier.UNICODE && !options.unicodeTier()) {
                    break;
                }
                int hits = 0;
                List<String> written = null;
                int at = -1;
                for (int start = 0; start + block.search().size() <= lines.size(); start++) {
                    List<String> replacement = fit(
                            tier, lines.subList(start, start + block.search().size()), block);
                    if (replacement != null) {
                        if (hits == 0) {
                            written = replacement;
                            at = start;
                        }
                        hits++;
                    }
                }
                if (hits > 1 && !options.firstMatch()) {
                    return new Answer(EditCode.AMBIGUOUS, null, file);
                }
                if (hits > 0) {
                    lines.subList(at, at + block.search().size()).clear();
                    lines.addAll(at, written);
                    loosest = loosest.loosest(tier);
                    found = true;
                }
            }
            if (!found) {
                return new Answer(EditCode.SEARCH_NOT_FOUND, null, file);
            }
        }
        return lines.equals(file)
                ? new Answer(EditCode.NO_CHANGE, null, file)
                : new Answer(EditCode.OK, loosest, lines);
    }

    /** What REPLACE becomes at one place, or null if the place does not fit at this tier. */
    private static List<String> fit(Tier tier, List<String> window, EditBlock block) {
        return switch (tier) {
            case EXACT -> window.equals(block.search()) ? block.replace() : null;
            case TRAILING_WS ->
                map(window, NaiveEngine::stripEnd).equals(map(block.search(), NaiveEngine::stripEnd))
                        ? block.replace()
                        : null;
            case INDENT -> shifted(window, block.search(), block.replace());
            case UNICODE -> {
                List<String> foldedWindow = map(window, NaiveEngine::fold);
                List<String> foldedSearch = map(block.search(), NaiveEngine::fold);
                yield map(foldedWindow, NaiveEngine::stripEnd).equals(map(foldedSearch, NaiveEngine::stripEnd))
                        ? block.replace()
                        : shifted(foldedWindow, foldedSearch, block.replace());
            }
        };
    }

    private static List<String> shifted(List<String> window, List<String> search, List<String> replace) {
        Set<Integer> shifts = new TreeSet<>();
        StringBuilder indentation = new StringBuilder();
        for (int i = 0; i < window.size(); i++) {
            if (!strip(window.get(i)).equals(strip(search.get(i)))) {
                return null;
            }
            if (!strip(window.get(i)).isEmpty()) {
                shifts.add(indentation(window.get(i)).length()
                        - indentation(search.get(i)).length());
                indentation.append(indentation(window.get(i))).append(indentation(search.get(i)));
            }
        }
        List<String> solid =
                replace.stream().filter(line -> !strip(line).isEmpty()).toList();
        solid.forEach(line -> indentation.append(indentation(line)));
        if (shifts.size() != 1 || indentation.indexOf(" ") >= 0 && indentation.indexOf("\t") >= 0) {
            return null;
        }
        int shift = shifts.iterator().next();
        if (solid.stream().anyMatch(line -> indentation(line).length() + shift < 0)) {
            return null;
        }
        String unit = indentation.isEmpty() ? " " : indentation.substring(0, 1);
        return map(
                replace,
                line -> strip(line).isEmpty() ? line : shift < 0 ? line.substring(-shift) : unit.repeat(shift) + line);
    }

    private static List<String> map(List<String> lines, java.util.function.UnaryOperator<String> form) {
        return lines.stream().map(form).collect(Collectors.toList());
    }

    private static String stripEnd(String line) {
        return line.replaceAll("[ \t]+$", "");
    }

    private static String strip(String line) {
        return stripEnd(line).replaceAll("^[ \t]+", "");
    }

    private static String indentation(String line) {
        return line.substring(0, line.length() - line.replaceAll("^[ \t]+", "").length());
    }

    private static String fold(String line) {
        String folded = line.replaceAll("[\u2018-\u201B]", "'")
                .replaceAll("[\u201C-\u201F]", "\"")
                .replaceAll("[\u2010-\u2015\u2212]", "-")
                .replaceAll("[\u00A0\u2000-\u200A\u202F\u205F\u3000]", " ")
                .replaceAll("[\u200B\u2060\uFEFF]", "");
        return Normalizer.normalize(folded, Normalizer.Form.NFC);
    }
}
