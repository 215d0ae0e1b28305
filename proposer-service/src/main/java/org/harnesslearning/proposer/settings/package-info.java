/** The settings of a run: what a user may ask for, with the defaults. */
@NullMarked
package org.harnesslearning.proposer.settings;

import org.jspecify.annotations.NullMarked;
