/** JSON as all services read and write it. */
@NullMarked
package org.harnesslearning.contracts.json;

import org.jspecify.annotations.NullMarked;
