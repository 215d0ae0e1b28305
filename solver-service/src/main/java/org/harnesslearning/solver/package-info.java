/** The platform's one model endpoint: an OpenAI-compatible server for local, remote and recorded models. */
@NullMarked
package org.harnesslearning.solver;

import org.jspecify.annotations.NullMarked;
