@NullMarked
package org.harnesslearning.executor.kit;

import org.jspecify.annotations.NullMarked;
