package org.harnesslearning.standalone.cli;

import java.io.PrintStream;
import java.util.Locale;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import tools.jackson.databind.JsonNode;

/**
 * Shows a run's progress: phase, solver calls done of those planned, time used and time left. On a terminal one line is
 * rewritten each second; elsewhere a line comes every {@value #QUIET_S} seconds and on each step.
 */
final class Progress implements RunProgress, AutoCloseable {
    private static final int QUIET_S = 20;
    private static final int BAR = 24;

    private final PrintStream out;
    private final boolean terminal;
    private final LongSupplier nanoTime;
    private final long begin;
    private final int rounds;
    private final ScheduledExecutorService ticker;
    private String phase = "queued";
    private long done;
    private long planned;
    private long countedS;
    private int shown;
    private boolean stopped;

    /**
     * Starts to show.
     *
     * @param rounds rounds of the run, 0 where it has none
     */
    Progress(PrintStream out, boolean terminal, int rounds, LongSupplier nanoTime) {
        this.out = out;
        this.terminal = terminal;
        this.rounds = rounds;
        this.nanoTime = nanoTime;
        this.begin = nanoTime.getAsLong();
        this.ticker = Executors.newSingleThreadScheduledExecutor(
                Thread.ofPlatform().daemon().name("progress").factory());
        int period = terminal ? 1 : QUIET_S;
        var unused = ticker.scheduleAtFixedRate(this::show, period, period, TimeUnit.SECONDS);
    }

    /** Takes an event of the run. */
    @Override
    public synchronized void event(String type, JsonNode data) {
        switch (type) {
            case "state" -> {
                String state = data.path("state").asString("");
                if (state.equals("running") && phase.equals("queued")) {
                    phase("scoring the starting harness");
                } else if (!state.isEmpty() && !state.equals("running")) {
                    line("state: " + state
                            + (data.path("message").asString("").isEmpty()
                                    ? ""
                                    : " (" + data.path("message").asString("") + ")"));
                }
            }
            case "round.started" -> phase("round " + index(data) + (rounds > 0 ? " of " + rounds : ""));
            case "candidate.finished" -> {
                for (JsonNode round : data.path("rounds")) {
                    for (JsonNode candidate : round.path("candidates")) {
                        line(Texts.candidate(round.path("index").asInt(0), candidate));
                    }
                }
            }
            case "round.finished" -> {
                if (rounds > 0 && index(data) >= rounds) {
                    phase("scoring start and result on the held-out questions");
                }
            }
            case "progress" -> count(data.path("progress"));
            default -> {
                // "finished" is told by the resource itself.
            }
        }
    }

    /** Takes the resource, where there are no events. */
    @Override
    public synchronized void update(JsonNode run) {
        count(run.path("progress"));
        if (!run.path("state").asString("").equals("queued") && phase.equals("queued")) {
            phase = "running";
        }
    }

    /** Prints a line beside the progress. */
    @Override
    public synchronized void say(String text) {
        line(text);
    }

    @Override
    public synchronized void stop() {
        if (!stopped) {
            stopped = true;
            ticker.shutdownNow();
            clear();
        }
    }

    @Override
    public void close() {
        stop();
    }

    private static int index(JsonNode data) {
        JsonNode round = data.path("rounds").path(0);
        return (round.isMissingNode() ? data : round).path("index").asInt(0);
    }

    private void count(JsonNode progress) {
        if (progress.isObject()) {
            long now = progress.path("done").asLong(done);
            if (now != done) {
                done = now;
                countedS = elapsedS();
            }
            planned = progress.path("planned").asLong(planned);
        }
    }

    private void phase(String next) {
        phase = next;
        line(next);
    }

    private void line(String text) {
        if (stopped) {
            return;
        }
        clear();
        out.println("  " + clock(elapsedS()) + "  " + text);
        if (terminal) {
            show();
        }
    }

    private synchronized void show() {
        if (stopped) {
            return;
        }
        String text = status();
        if (terminal) {
            out.print("\r" + text + " ".repeat(Math.max(0, shown - text.length())));
            shown = text.length();
            out.flush();
        } else {
            out.println(text);
        }
    }

    private void clear() {
        if (terminal && shown > 0) {
            out.print("\r" + " ".repeat(shown) + "\r");
            out.flush();
            shown = 0;
        }
    }

    /** Such as {@code  [######......] 120/540 solver calls, 3:05 used, about 6:40 left: round 1 of 2}. */
    private String status() {
        long elapsed = elapsedS();
        StringBuilder text = new StringBuilder("  [");
        int full = planned == 0 ? 0 : (int) Math.min(BAR, done * BAR / planned);
        text.append("#".repeat(full)).append(".".repeat(BAR - full)).append("] ");
        text.append(String.format(Locale.ROOT, "%d/%d solver calls, %s used", done, planned, clock(elapsed)));
        if (done > 0 && planned > done && countedS > 5) {
            // Up to the last call only: while the proposer writes, no solver call is slow.
            text.append(", about ")
                    .append(clock(countedS * (planned - done) / done))
                    .append(" left");
        }
        return text.append(": ").append(phase).toString();
    }

    private long elapsedS() {
        return TimeUnit.NANOSECONDS.toSeconds(nanoTime.getAsLong() - begin);
    }

    private static String clock(long seconds) {
        return String.format(Locale.ROOT, "%d:%02d", seconds / 60, seconds % 60);
    }
}
