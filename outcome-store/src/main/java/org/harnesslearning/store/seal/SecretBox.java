package org.harnesslearning.store.seal;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.Arrays;
import javax.crypto.Cipher;
import javax.crypto.KDF;
import javax.crypto.SecretKey;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.HKDFParameterSpec;

/**
 * Encrypts what is stored, so that a copy of the database alone does not give it away: AES-256-GCM under a key that
 * HKDF-SHA256 (RFC 5869) derives from a secret that is not stored. A sealed value is 12 random bytes, then the ciphertext
 * with its tag.
 */
public final class SecretBox {
    private static final int NONCE_BYTES = 12;
    private static final int TAG_BITS = 128;
    private static final int KEY_BYTES = 32;

    private final SecretKey key;
    private final SecureRandom random;

    /**
     * @param secret never stored
     * @param purpose two boxes of one secret with different purposes can't open each other's values
     */
    public SecretBox(String secret, String purpose, SecureRandom random) {
        this.random = random;
        try {
            this.key = KDF.getInstance("HKDF-SHA256")
                    .deriveKey(
                            "AES",
                            HKDFParameterSpec.ofExtract()
                                    .addIKM(secret.getBytes(StandardCharsets.UTF_8))
                                    .thenExpand(purpose.getBytes(StandardCharsets.UTF_8), KEY_BYTES));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("HKDF-SHA256 is missing", e);
        }
    }

    /** Encrypts. */
    public byte[] seal(byte[] plain) {
        byte[] nonce = new byte[NONCE_BYTES];
        random.nextBytes(nonce);
        byte[] sealed = run(Cipher.ENCRYPT_MODE, nonce, plain, 0, plain.length);
        byte[] out = Arrays.copyOf(nonce, NONCE_BYTES + sealed.length);
        System.arraycopy(sealed, 0, out, NONCE_BYTES, sealed.length);
        return out;
    }

    /**
     * Decrypts.
     *
     * @throws IllegalStateException when the value was sealed under another secret or purpose, or changed since
     */
    public byte[] open(byte[] sealed) {
        if (sealed.length < NONCE_BYTES) {
            throw new IllegalStateException("a sealed value is too short");
        }
        return run(
                Cipher.DECRYPT_MODE,
                Arrays.copyOf(sealed, NONCE_BYTES),
                sealed,
                NONCE_BYTES,
                sealed.length - NONCE_BYTES);
    }

    private byte[] run(int mode, byte[] nonce, byte[] bytes, int offset, int length) {
        try {
            Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
            cipher.init(mode, key, new GCMParameterSpec(TAG_BITS, nonce));
            return cipher.doFinal(bytes, offset, length);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("a sealed value can't be read: was the installation's secret changed?", e);
        }
    }
}
