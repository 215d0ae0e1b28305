/** Training of the proposer from outcomes in Postgres. */
@NullMarked
package org.harnesslearning.trainer;

import org.jspecify.annotations.NullMarked;
