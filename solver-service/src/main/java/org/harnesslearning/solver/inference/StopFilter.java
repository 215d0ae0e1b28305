package org.harnesslearning.solver.inference;

import java.util.List;

/**
 * Ends a growing text at the first of several stop strings, which may begin in one token and end in another. What could
 * still become a stop string is held back. Not thread-safe.
 */
public final class StopFilter {
    private final List<String> stops;
    private final StringBuilder held = new StringBuilder();
    private boolean stopped;

    public StopFilter(List<String> stops) {
        this.stops = List.copyOf(stops);
    }

    /** Adds text; answers what is certain to belong to the reply. */
    public String accept(String text) {
        if (stopped || stops.isEmpty()) {
            return stopped ? "" : text;
        }
        held.append(text);
        int first = -1;
        for (String stop : stops) {
            int at = held.indexOf(stop);
            if (at >= 0 && (first < 0 || at < first)) {
                first = at;
            }
        }
        if (first >= 0) {
            stopped = true;
            return take(first);
        }
        int keep = 0;
        for (String stop : stops) {
            for (int length = Math.min(stop.length() - 1, held.length()); length > keep; length--) {
                if (stop.startsWith(held.substring(held.length() - length))) {
                    keep = length;
                    break;
                }
            }
        }
        return take(held.length() - keep);
    }

    /** The rest, once no more text comes; empty after a stop string. */
    public String finish() {
        return stopped ? "" : take(held.length());
    }

    /** Whether a stop string was found. */
    public boolean stopped() {
        return stopped;
    }

    private String take(int length) {
        String text = held.substring(0, length);
        held.delete(0, length);
        return text;
    }
}
