/** The trainable decoder with its LoRA adapter. */
@NullMarked
package org.harnesslearning.trainer.decoder;

import org.jspecify.annotations.NullMarked;
