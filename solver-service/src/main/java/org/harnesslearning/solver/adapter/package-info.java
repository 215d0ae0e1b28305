/** LoRA adapters that are loaded and unloaded while the service runs, each a model name of its own. */
@NullMarked
package org.harnesslearning.solver.adapter;

import org.jspecify.annotations.NullMarked;
