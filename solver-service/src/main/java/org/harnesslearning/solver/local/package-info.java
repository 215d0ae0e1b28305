/** Models that run in this process on llm-runtime. */
@NullMarked
package org.harnesslearning.solver.local;

import org.jspecify.annotations.NullMarked;
