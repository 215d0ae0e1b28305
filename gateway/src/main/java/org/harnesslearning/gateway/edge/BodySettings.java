package org.harnesslearning.gateway.edge;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * How large a request's body may be. Each endpoint has a limit of its own besides, which no key passes.
 *
 * @param limit of a key without a limit of its own
 * @param maxLimit most that a key may be given
 */
@ConfigurationProperties("gateway.body")
record BodySettings(
        @DefaultValue("64MB") DataSize limit,
        @DefaultValue("64MB") DataSize maxLimit) {
    BodySettings {
        if (limit.toBytes() < 1 || maxLimit.compareTo(limit) < 0) {
            throw new IllegalArgumentException(
                    "gateway.body.limit must be positive and gateway.body.max-limit not below it");
        }
    }
}
