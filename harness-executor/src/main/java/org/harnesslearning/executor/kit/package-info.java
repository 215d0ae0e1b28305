/** What the operator lets tasks add to their sandboxes: images and tools. */
@NullMarked
package org.harnesslearning.executor.kit;

import org.jspecify.annotations.NullMarked;
