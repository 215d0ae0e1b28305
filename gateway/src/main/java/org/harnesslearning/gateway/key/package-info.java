/** API keys: who may call, and their management. */
@NullMarked
package org.harnesslearning.gateway.key;

import org.jspecify.annotations.NullMarked;
