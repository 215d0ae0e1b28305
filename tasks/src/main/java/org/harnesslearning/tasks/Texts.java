package org.harnesslearning.tasks;

/** Small helpers for texts of users in messages. */
final class Texts {
    private static final int SHOWN = 60;

    private Texts() {}

    /** The first characters of a text, fit for one line of a message. */
    static String clip(String text) {
        String shown = text.length() <= SHOWN ? text : text.substring(0, SHOWN) + "…";
        return shown.replaceAll("\\p{Cntrl}", "?");
    }
}
