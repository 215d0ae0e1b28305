package org.harnesslearning.proposer.edit;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a reply made of a file.
 *
 * @param code the outcome
 * @param tier with {@link EditCode#OK} the loosest tier that any block needed; otherwise null
 * @param result the file after the edit; the source, unless the code is {@code OK}
 * @param blocks number of blocks in the reply; null where the reply could not be read
 * @param message one sentence for people; names lines and blocks by number and quotes neither file nor reply
 * @param edits with {@code OK} what each block did, in reply order; otherwise empty
 */
public record EditResult(
        EditCode code,
        @Nullable Tier tier,
        String result,
        @Nullable Integer blocks,
        String message,
        List<AppliedEdit> edits) {

    public EditResult {
        edits = List.copyOf(edits);
        if ((code == EditCode.OK) != (tier != null)) {
            throw new IllegalArgumentException("a tier stands beside OK alone");
        }
    }

    static EditResult failed(EditCode code, String source, @Nullable Integer blocks, String message) {
        return new EditResult(code, null, source, blocks, message, List.of());
    }

    /** Whether the result differs from the source. */
    public boolean applied() {
        return code == EditCode.OK;
    }
}
