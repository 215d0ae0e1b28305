package org.harnesslearning.solver.catalog;

import java.io.PrintStream;
import java.util.Locale;

/** Progress for a person: one line that is redrawn on a terminal, a plain line for every tenth elsewhere. */
public final class ConsoleProgress implements FetchProgress {
    private static final int WIDTH = 30;

    private final PrintStream out;
    private final boolean terminal;
    private int lastShown = -1;
    private boolean drawn;

    public ConsoleProgress(PrintStream out, boolean terminal) {
        this.out = out;
        this.terminal = terminal;
    }

    @Override
    public void say(String line) {
        end();
        out.println(line);
    }

    @Override
    public void at(String what, long done, long total) {
        int share = total == 0 ? 100 : (int) (100 * done / total);
        int step = terminal ? share : share / 10;
        if (step == lastShown) {
            return;
        }
        lastShown = step;
        String figures = String.format(Locale.ROOT, "%3d %% of %.0f MB, %s", share, total / 1e6, what);
        if (terminal) {
            int filled = share * WIDTH / 100;
            out.print("\r[" + "#".repeat(filled) + ".".repeat(WIDTH - filled) + "] " + figures + "\u001b[K");
            out.flush();
            drawn = true;
        } else {
            out.println(figures);
        }
    }

    @Override
    public void end() {
        if (drawn) {
            out.println();
        }
        drawn = false;
        lastShown = -1;
    }
}
