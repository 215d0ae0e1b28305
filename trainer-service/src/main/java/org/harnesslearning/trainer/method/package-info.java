/** What all ways of training share: settings of adapter, optimiser and engine, and the model's own tokens. */
@NullMarked
package org.harnesslearning.trainer.method;

import org.jspecify.annotations.NullMarked;
