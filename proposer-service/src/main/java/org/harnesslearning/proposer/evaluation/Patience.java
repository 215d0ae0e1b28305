package org.harnesslearning.proposer.evaluation;

import java.time.Duration;
import java.util.Optional;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;

/**
 * How long one piece of work waits for room at a full executor. Such a refusal is no failed try: nothing was begun and
 * nothing is wrong. The waiting is bounded all the same; beyond it the refusal counts as any other failure.
 */
public final class Patience {
    private static final Duration LONGEST = Duration.ofMinutes(1);

    private final Duration most;
    private final Duration usual;
    private Duration waited = Duration.ZERO;

    /**
     * For one piece of work.
     *
     * @param most longest waiting in all
     * @param usual wait where the executor names none
     */
    public Patience(Duration most, Duration usual) {
        this.most = most;
        this.usual = usual;
    }

    /** How long to wait before the same request is sent again; empty when the failure has to be dealt with otherwise. */
    public Optional<Duration> after(PlatformException failure) {
        if (failure.code() != ErrorCode.QUEUE_FULL || waited.compareTo(most) >= 0) {
            return Optional.empty();
        }
        Integer seconds = failure.retryAfterSeconds();
        Duration asked = seconds == null ? usual : Duration.ofSeconds(seconds);
        Duration wait = asked.compareTo(LONGEST) < 0 ? asked : LONGEST;
        waited = waited.plus(wait);
        return Optional.of(wait);
    }
}
