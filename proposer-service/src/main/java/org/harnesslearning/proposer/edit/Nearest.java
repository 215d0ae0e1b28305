package org.harnesslearning.proposer.edit;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Says where a SEARCH that was not found nearly is: the place where most of its lines agree, blanks at both sides aside. */
final class Nearest {
    /** Places looked at for one line of SEARCH; a line that stands oftener says little about the place. */
    private static final int PLACES_PER_LINE = 32;

    private Nearest() {}

    static String describe(LineList lines, List<String> search, int number, Work work) {
        Map<String, List<Integer>> places = new HashMap<>();
        int line = 0;
        for (int node = lines.next(LineList.RING); node != LineList.RING; node = lines.next(node)) {
            String text = Lines.strip(lines.text(node));
            work.add(lines.text(node).length() + 1L);
            List<Integer> known = places.computeIfAbsent(text, absent -> new ArrayList<>(1));
            if (known.size() < PLACES_PER_LINE && !text.isEmpty()) {
                known.add(line);
            }
            line++;
        }
        int[] votes = new int[lines.size() + search.size()];
        int best = -1;
        int firstAbsent = -1;
        int wanted = 0;
        for (int i = 0; i < search.size(); i++) {
            work.add(search.get(i).length() + 1L);
            String text = Lines.strip(search.get(i));
            if (text.isEmpty()) {
                continue;
            }
            wanted++;
            List<Integer> known = places.get(text);
            if (known == null) {
                firstAbsent = firstAbsent < 0 ? i : firstAbsent;
                continue;
            }
            for (int place : known) {
                work.add(1);
                int start = place - i + search.size();
                votes[start]++;
                if (best < 0 || votes[start] > votes[best]) {
                    best = start;
                }
            }
        }
        String what = "SEARCH of block " + number + " (" + lines(search.size()) + ") is not in the file";
        if (best < 0) {
            return what + "; none of its lines is.";
        }
        int from = Math.max(1, best - search.size() + 1);
        int to = Math.min(lines.size(), best);
        String near = "; nearest " + (from == to ? "is line " + from : "are lines " + from + " to " + to);
        if (votes[best] == wanted) {
            return what + near + ", which differ in indentation or blank lines alone.";
        }
        String agree = ", where " + votes[best] + " of " + wanted + " lines agree";
        return what
                + near
                + agree
                + (firstAbsent < 0 ? "." : "; line " + (firstAbsent + 1) + " of SEARCH is nowhere in the file.");
    }

    static String lines(int count) {
        return count == 1 ? "1 line" : count + " lines";
    }
}
