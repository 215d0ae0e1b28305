/** From a request's body to a stored run: settings read and checked, items resolved, nothing stored on any fault. */
@NullMarked
package org.harnesslearning.proposer.order;

import org.jspecify.annotations.NullMarked;
