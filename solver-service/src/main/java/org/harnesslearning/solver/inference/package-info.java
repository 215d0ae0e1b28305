/** The OpenAI-compatible API, the registry of models and the interface that all back-ends fulfil. */
@NullMarked
package org.harnesslearning.solver.inference;

import org.jspecify.annotations.NullMarked;
