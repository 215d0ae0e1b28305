package org.harnesslearning.proposer.webhook;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Signatures in the form of Standard Webhooks (https://www.standardwebhooks.com): HMAC-SHA256 over id, time and body with
 * dots between, in base64 after {@code v1,}. A secret is base64 after {@code whsec_}.
 */
final class Signature {
    static final String SECRET_PREFIX = "whsec_";

    private Signature() {}

    /**
     * Value of the header {@code webhook-signature}.
     *
     * @param secret as its owner knows it, with prefix
     * @param id value of {@code webhook-id}
     * @param timestamp value of {@code webhook-timestamp}, seconds since 1970
     */
    static String of(String secret, String id, long timestamp, String body) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(
                    Base64.getDecoder().decode(secret.substring(SECRET_PREFIX.length())), "HmacSHA256"));
            byte[] signed = mac.doFinal((id + "." + timestamp + "." + body).getBytes(StandardCharsets.UTF_8));
            return "v1," + Base64.getEncoder().encodeToString(signed);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("HmacSHA256 is missing", e);
        }
    }
}
