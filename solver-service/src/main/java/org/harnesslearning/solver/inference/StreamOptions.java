package org.harnesslearning.solver.inference;

import org.jspecify.annotations.Nullable;

/**
 * Wishes for a streamed answer.
 *
 * @param includeUsage whether a last event with the token counts is sent
 * @param includeObfuscation padding against observers of event sizes; never added here
 */
record StreamOptions(
        @Nullable Boolean includeUsage, @Nullable Boolean includeObfuscation) {
    /** Whether usage is wanted; faults are added. */
    static boolean usage(@Nullable StreamOptions options, @Nullable Boolean stream, Faults faults) {
        if (options == null) {
            return false;
        }
        if (!Boolean.TRUE.equals(stream)) {
            faults.add("/stream_options", "It needs stream");
        }
        if (Boolean.TRUE.equals(options.includeObfuscation())) {
            faults.add("/stream_options/include_obfuscation", "Events are not padded");
        }
        return Boolean.TRUE.equals(options.includeUsage());
    }
}
