package org.harnesslearning.proposer.edit;

/** Says where a SEARCH that was not found nearly is: the place where most of its lines agree, blanks at both sides aside. */
final class Nearest {
    /** Places looked at for one line of SEARCH; a line that stands oftener says little about the place. */
    private static final int PLACES_PER_LINE = 8;

    private Nearest() {}

    /**
     * @param stripped finds lines by their text without blanks at both sides
     * @param search numbers of the texts of SEARCH
     */
    static String describe(LineList lines, LineIndex stripped, int[] search, int number, Work work) {
        int length = search.length;
        int[] position = new int[lines.nodes()];
        int line = 0;
        for (int node = lines.next(LineList.RING); node != LineList.RING; node = lines.next(node)) {
            position[node] = line++;
        }
        work.add(line);
        int[] votes = new int[lines.size() + length];
        int best = -1;
        int firstAbsent = -1;
        int wanted = 0;
        for (int i = 0; i < length; i++) {
            if (Lines.isBlank(lines.texts().text(search[i]))) {
                continue;
            }
            wanted++;
            int key = stripped.key(search[i]);
            if (key == LineIndex.ABSENT) {
                firstAbsent = firstAbsent < 0 ? i : firstAbsent;
                continue;
            }
            int text = stripped.firstText(key);
            int node = lines.firstEqual(text);
            for (int places = 0; places < PLACES_PER_LINE && node != LineList.RING; places++) {
                work.add(1);
                int start = position[node] - i + length;
                votes[start]++;
                if (best < 0 || votes[start] > votes[best]) {
                    best = start;
                }
                node = lines.nextEqual(node);
                if (node == LineList.RING) {
                    text = stripped.nextText(text);
                    node = text == LineIndex.ABSENT ? LineList.RING : lines.firstEqual(text);
                }
            }
        }
        String what = "SEARCH of block " + number + " (" + lines(length) + ") is not in the file";
        if (best < 0) {
            return what + "; none of its lines is.";
        }
        int from = Math.max(1, best - length + 1);
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
