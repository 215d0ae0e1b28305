/** Content hashes: harness, item, solver, canonical JSON. */
@NullMarked
package org.harnesslearning.contracts.hash;

import org.jspecify.annotations.NullMarked;
