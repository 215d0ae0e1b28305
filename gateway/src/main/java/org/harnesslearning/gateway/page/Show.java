package org.harnesslearning.gateway.page;

import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * How pages write values. An absent value is a dash.
 *
 * @param now the time that relative ones refer to
 */
record Show(Instant now) {
    private static final String NONE = "–";
    private static final DateTimeFormatter EXACT = DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss 'UTC'", Locale.ROOT)
            .withZone(ZoneOffset.UTC);
    private static final int HASH_SHOWN = 10;

    /** A score or another figure from 0 to 1, two decimals. */
    public String score(@Nullable Double value) {
        return value == null ? NONE : String.format(Locale.ROOT, "%.2f", value);
    }

    /** A small figure, three significant digits. */
    public String figure(@Nullable Double value) {
        if (value == null || value.isNaN()) {
            return NONE;
        }
        double size = Math.abs(value);
        if (size == 0 || (size >= 0.001 && size < 10)) {
            return String.format(Locale.ROOT, "%.3f", value);
        }
        if (size < 0.001) {
            return String.format(Locale.ROOT, "%.1e", value);
        }
        return size < 1000 ? String.format(Locale.ROOT, "%.1f", value) : count((long) value.doubleValue());
    }

    /** A difference with its sign, two decimals. */
    public String gain(@Nullable Double value) {
        if (value == null) {
            return NONE;
        }
        String text = String.format(Locale.ROOT, "%.2f", Math.abs(value));
        return (text.equals("0.00") ? "±" : value > 0 ? "+" : "−") + text;
    }

    /** A share in per cent. */
    public String percent(@Nullable Double value) {
        return value == null ? NONE : String.format(Locale.ROOT, "%.0f %%", 100 * value);
    }

    /** An interval of scores. */
    public String interval(RunAnswer.@Nullable Interval interval) {
        return interval == null ? "" : score(interval.low()) + " to " + score(interval.high());
    }

    /** An interval of differences. */
    public String gainInterval(RunAnswer.@Nullable Interval interval) {
        return interval == null ? "" : gain(interval.low()) + " to " + gain(interval.high());
    }

    /** A whole number with thousands apart. */
    public String count(@Nullable Long value) {
        return value == null ? NONE : String.format(Locale.ROOT, "%,d", value);
    }

    /** A whole number in at most four characters and a unit. */
    public String compact(@Nullable Long value) {
        if (value == null) {
            return NONE;
        }
        if (value < 10_000) {
            return count(value);
        }
        return value < 1_000_000
                ? String.format(Locale.ROOT, "%.1fk", value / 1e3)
                : String.format(Locale.ROOT, "%.2fM", value / 1e6);
    }

    /** A number of bytes in the largest unit that it fills. */
    public String bytes(@Nullable Long value) {
        if (value == null) {
            return NONE;
        }
        return value < 10_240
                ? count(value) + " B"
                : value < 10_485_760 ? count(value / 1024) + " KiB" : count(value / 1_048_576) + " MiB";
    }

    /** An amount of the installation's currency. */
    public String cost(@Nullable Double value) {
        return value == null ? NONE : String.format(Locale.ROOT, value < 1 ? "%.4f" : "%.2f", value);
    }

    /** A duration in milliseconds, two units at most. */
    public String duration(@Nullable Long ms) {
        if (ms == null) {
            return NONE;
        }
        if (ms < 1000) {
            return ms + " ms";
        }
        if (ms < 60_000) {
            return String.format(Locale.ROOT, "%.1f s", ms / 1000.0);
        }
        long minutes = ms / 60_000;
        return minutes < 60
                ? minutes + " min " + ms / 1000 % 60 + " s"
                : minutes < 48 * 60 ? minutes / 60 + " h " + minutes % 60 + " min" : minutes / 1440 + " days";
    }

    /** From one time to another, or until now. */
    public String between(@Nullable Instant from, @Nullable Instant to) {
        return from == null
                ? NONE
                : duration(Math.max(
                        0, Duration.between(from, to == null ? now : to).toMillis()));
    }

    /** A time as people say it. */
    public String ago(@Nullable Instant at) {
        if (at == null) {
            return NONE;
        }
        long seconds = Duration.between(at, now).toSeconds();
        boolean ahead = seconds < -1;
        long size = Math.abs(seconds);
        String text;
        if (size < 45) {
            return ahead ? "in a moment" : "just now";
        } else if (size < 3600) {
            text = Math.max(1, Math.round(size / 60.0)) + " min";
        } else if (size < 86_400) {
            text = size / 3600 + " h";
        } else {
            text = size / 86_400 == 1 ? "1 day" : size / 86_400 + " days";
        }
        return ahead ? "in " + text : text + " ago";
    }

    /** A time exactly. */
    public String exact(@Nullable Instant at) {
        return at == null ? "" : EXACT.format(at);
    }

    /** The first characters of a hash. */
    public String hash(@Nullable String hash) {
        if (hash == null) {
            return NONE;
        }
        String hex = hash.startsWith("sha256:") ? hash.substring("sha256:".length()) : hash;
        return hex.length() > HASH_SHOWN ? hex.substring(0, HASH_SHOWN) : hex;
    }

    /** A name of the API as words. */
    public String words(@Nullable String name) {
        return name == null ? NONE : name.replace('_', ' ').toLowerCase(Locale.ROOT);
    }
}
