/** Support for tests of every module: groups and their counts, requirements, shared data, Postgres. */
@NullMarked
package org.harnesslearning.testing;

import org.jspecify.annotations.NullMarked;
