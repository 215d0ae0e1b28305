package org.harnesslearning.gateway.key;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The first key.
 *
 * @param bootstrap a key of scope admin that is valid from the first start on; empty for none. At least 32 characters.
 */
@ConfigurationProperties("gateway.key")
record KeySettings(@DefaultValue("") String bootstrap) {
    KeySettings {
        if (!bootstrap.isEmpty() && bootstrap.length() < 32) {
            throw new IllegalArgumentException("gateway.key.bootstrap must have at least 32 characters");
        }
    }
}
