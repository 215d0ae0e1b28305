/** Trains a tiny model through all services and checks that the training did something: {@code ./harness train --smoke}. */
@NullMarked
package org.harnesslearning.standalone.smoke;

import org.jspecify.annotations.NullMarked;
