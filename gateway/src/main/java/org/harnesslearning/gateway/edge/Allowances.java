package org.harnesslearning.gateway.edge;

import java.util.ArrayList;
import java.util.List;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.FieldError;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.gateway.route.Endpoint;
import org.harnesslearning.store.key.KeyLimits;
import org.jspecify.annotations.Nullable;
import org.springframework.stereotype.Component;

/**
 * What a key may do: its own limit where it has one, else that of every key; never more than the operator's maximum, also
 * when that was lowered after the key was made.
 */
@Component
public final class Allowances {
    private static final double LEAST_RATE = 0.001;

    private final RateSettings rates;
    private final BodySettings bodies;

    Allowances(RateSettings rates, BodySettings bodies) {
        this.rates = rates;
        this.bodies = bodies;
    }

    /**
     * Checks the limits of a new key.
     *
     * @throws PlatformException INVALID_FIELD with one error a limit that is out of range
     */
    public void check(KeyLimits wished) {
        List<FieldError> faults = new ArrayList<>();
        range(faults, "rate_per_second", wished.ratePerSecond(), LEAST_RATE, rates.mostPerSecond());
        range(faults, "rate_burst", wished.rateBurst(), 1, rates.mostBurst());
        range(
                faults,
                "max_body_bytes",
                wished.maxBodyBytes(),
                1,
                bodies.maxLimit().toBytes());
        if (!faults.isEmpty()) {
            throw PlatformException.fields(faults);
        }
    }

    private static void range(
            List<FieldError> faults, String field, @Nullable Number value, double least, double most) {
        if (value != null && !(value.doubleValue() >= least && value.doubleValue() <= most)) {
            faults.add(new FieldError(
                    "/" + field,
                    ErrorCode.INVALID_FIELD,
                    field + " must be from " + plain(least) + " to " + plain(most) + " on this installation"));
        }
    }

    private static String plain(double value) {
        return value == Math.rint(value) ? Long.toString((long) value) : Double.toString(value);
    }

    /** What holds for a key of these limits, with no value left out. */
    public KeyLimits of(KeyLimits own) {
        return new KeyLimits(perSecond(own), burst(own), body(own));
    }

    double perSecond(KeyLimits own) {
        return own.ratePerSecond() == null ? rates.perSecond() : Math.min(own.ratePerSecond(), rates.mostPerSecond());
    }

    int burst(KeyLimits own) {
        return own.rateBurst() == null ? rates.burst() : Math.min(own.rateBurst(), rates.mostBurst());
    }

    private long body(KeyLimits own) {
        return own.maxBodyBytes() == null
                ? bodies.limit().toBytes()
                : Math.min(own.maxBodyBytes(), bodies.maxLimit().toBytes());
    }

    /** Most bytes that a caller may send to an endpoint; without a caller the endpoint's own limit. */
    long body(@Nullable Caller caller, Endpoint endpoint) {
        long its = endpoint.maxBody().toBytes();
        return caller == null ? its : Math.min(its, body(caller.limits()));
    }
}
