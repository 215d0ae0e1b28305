package org.harnesslearning.proposer.prompt;

import java.util.LinkedHashMap;
import java.util.Map;

/** Text with places of the form {@code {{name}}}. Filled in one pass, so a value is never read as a template. */
record Template(String text) {

    /**
     * Fills the places.
     *
     * @throws IllegalStateException where the template names a value that is not given
     */
    String fill(Map<String, ?> values) {
        StringBuilder out = new StringBuilder(text.length());
        int at = 0;
        while (true) {
            int open = text.indexOf("{{", at);
            if (open < 0) {
                return out.append(text, at, text.length()).toString();
            }
            int close = text.indexOf("}}", open);
            String name = text.substring(open + 2, close);
            Object value = values.get(name);
            if (value == null) {
                throw new IllegalStateException("no value for " + name);
            }
            out.append(text, at, open).append(value);
            at = close + 2;
        }
    }

    /** Reads sections that each begin with a line {@code ## name}. */
    static Map<String, Template> sections(String text) {
        Map<String, Template> sections = new LinkedHashMap<>();
        for (String section : ("\n" + text).split("\n## ")) {
            if (!section.isBlank()) {
                int end = section.indexOf('\n');
                String body = section.substring(end + 1);
                sections.put(
                        section.substring(0, end),
                        new Template(body.endsWith("\n") ? body.substring(0, body.length() - 1) : body));
            }
        }
        return Map.copyOf(sections);
    }
}
