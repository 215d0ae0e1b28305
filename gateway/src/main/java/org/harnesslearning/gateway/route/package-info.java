/** The public endpoints and their way to the services behind. */
@NullMarked
package org.harnesslearning.gateway.route;

import org.jspecify.annotations.NullMarked;
