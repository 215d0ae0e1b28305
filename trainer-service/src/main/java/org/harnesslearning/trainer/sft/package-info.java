/** Supervised training on edits of teachers that were executed and did better: the corpus and the method. */
@NullMarked
package org.harnesslearning.trainer.sft;

import org.jspecify.annotations.NullMarked;
