/** Chooses tokens from the candidates of a model step, reproducibly by seed. */
@NullMarked
package org.harnesslearning.llm.sampling;

import org.jspecify.annotations.NullMarked;
