/** Models behind another OpenAI-compatible endpoint. */
@NullMarked
package org.harnesslearning.solver.remote;

import org.jspecify.annotations.NullMarked;
