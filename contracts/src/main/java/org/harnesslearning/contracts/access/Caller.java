package org.harnesslearning.contracts.access;

/**
 * Who is calling, from the headers that the gateway sets after it has checked the key: {@code X-Key-Id} and
 * {@code X-Key-Scope}.
 *
 * @param key id of the API key
 */
public record Caller(String key, Scope scope) {
    /** Header with the id of the caller's key. */
    public static final String KEY_HEADER = "X-Key-Id";
    /** Header with the scope of the caller's key. */
    public static final String SCOPE_HEADER = "X-Key-Scope";

    /** Whether texts of held-out questions may be shown. */
    public boolean admin() {
        return scope == Scope.ADMIN;
    }
}
