package org.harnesslearning.proposer.edit;

import java.text.Normalizer;

/** The comparison form of tier {@link Tier#UNICODE}: look-alikes become ASCII, then NFC. */
final class Folding {
    /**
     * Canonical ordering sorts a run of combining marks by insertion, which is quadratic on a hostile run. Longer runs are
     * normalised piecewise; the limit is that of the Stream-Safe Text Format (UAX #15, section 13).
     */
    private static final int LONGEST_MARK_RUN = 30;

    private Folding() {}

    static String fold(String line) {
        int at = 0;
        while (at < line.length() && line.charAt(at) < 0xA0) {
            at++;
        }
        if (at == line.length()) {
            return line;
        }
        StringBuilder out = new StringBuilder(line.length());
        out.append(line, 0, at);
        int pieceStart = 0;
        StringBuilder done = null;
        int marks = 0;
        while (at < line.length()) {
            int point = line.codePointAt(at);
            at += Character.charCount(point);
            int folded = fold(point);
            if (folded < 0) {
                continue;
            }
            marks = isMark(folded) ? marks + 1 : 0;
            if (marks == LONGEST_MARK_RUN) {
                done = done == null ? new StringBuilder(line.length()) : done;
                done.append(Normalizer.normalize(out.substring(pieceStart), Normalizer.Form.NFC));
                pieceStart = out.length();
                marks = 0;
            }
            out.appendCodePoint(folded);
        }
        String rest = Normalizer.normalize(out.substring(pieceStart), Normalizer.Form.NFC);
        return done == null ? rest : done.append(rest).toString();
    }

    /** The code point that stands for {@code point}; -1 if it is removed. */
    private static int fold(int point) {
        if (point >= 0x2018 && point <= 0x201B) {
            return '\'';
        }
        if (point >= 0x201C && point <= 0x201F) {
            return '"';
        }
        if (point >= 0x2010 && point <= 0x2015 || point == 0x2212) {
            return '-';
        }
        if (point == 0x00A0
                || point >= 0x2000 && point <= 0x200A
                || point == 0x202F
                || point == 0x205F
                || point == 0x3000) {
            return ' ';
        }
        return point == 0x200B || point == 0x2060 || point == 0xFEFF ? -1 : point;
    }

    private static boolean isMark(int point) {
        int type = Character.getType(point);
        return type == Character.NON_SPACING_MARK
                || type == Character.COMBINING_SPACING_MARK
                || type == Character.ENCLOSING_MARK;
    }
}
