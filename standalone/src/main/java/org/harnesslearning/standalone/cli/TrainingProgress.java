package org.harnesslearning.standalone.cli;

import java.io.PrintStream;
import java.util.List;
import java.util.Locale;
import java.util.function.LongSupplier;
import tools.jackson.databind.JsonNode;

/** Tells of a training run, a line for each step and whatever else happens. */
final class TrainingProgress implements RunProgress {
    private static final List<String> SHOWN = List.of(
            "loss",
            "held_out_loss",
            "reward",
            "valid_rate",
            "zero_spread_share",
            "kl",
            "entropy",
            "grad_norm",
            "tokens_per_second");

    private final PrintStream out;
    private final LongSupplier nanoTime;
    private final long begin;
    private long planned;

    TrainingProgress(PrintStream out, LongSupplier nanoTime) {
        this.out = out;
        this.nanoTime = nanoTime;
        this.begin = nanoTime.getAsLong();
    }

    @Override
    public void event(String type, JsonNode data) {
        switch (type) {
            case "step" -> say(step(data));
            case "state" ->
                say("state: " + data.path("state").asString("")
                        + (data.path("message").asString("").isEmpty()
                                ? ""
                                : " (" + data.path("message").asString("") + ")"));
            case "stalled" -> say("stalled: " + data);
            case "resumed" -> say("resumed at step " + data.path("step").asLong(0));
            case "checkpoint" -> say("checkpoint of step " + data.path("step").asLong(0));
            default -> {
                // The end is told by the resource itself; methods may have further events.
            }
        }
    }

    private String step(JsonNode data) {
        StringBuilder text = new StringBuilder("step " + data.path("step").asLong(0));
        if (planned > 0) {
            text.append(" of ").append(planned);
        }
        text.append(':');
        for (String name : SHOWN) {
            JsonNode value = data.path("metrics").path(name);
            if (value.isNumber()) {
                text.append(' ')
                        .append(name.replace('_', ' '))
                        .append(' ')
                        .append(number(value.asDouble(0)))
                        .append(',');
            }
        }
        return text.substring(0, text.length() - 1);
    }

    /** A number in about four digits. */
    static String number(double value) {
        double size = Math.abs(value);
        if (size == 0 || size >= 1000) {
            return String.format(Locale.ROOT, "%.0f", value);
        }
        return String.format(Locale.ROOT, size < 0.001 ? "%.2e" : "%.4g", value);
    }

    @Override
    public void update(JsonNode run) {
        planned = run.path("progress").path("planned").asLong(planned);
    }

    @Override
    public void say(String text) {
        long seconds = (nanoTime.getAsLong() - begin) / 1_000_000_000;
        out.printf(Locale.ROOT, "  %d:%02d  %s%n", seconds / 60, seconds % 60, text);
    }

    @Override
    public void stop() {
        // Nothing runs beside the caller.
    }
}
