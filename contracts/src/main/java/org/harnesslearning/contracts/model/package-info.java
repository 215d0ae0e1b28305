/** The OpenAI-compatible chat API of solver-service with its extensions. */
@NullMarked
package org.harnesslearning.contracts.model;

import org.jspecify.annotations.NullMarked;
