/** What every request passes first: key, scope, rate and size; and what every error looks like. */
@NullMarked
package org.harnesslearning.gateway.edge;

import org.jspecify.annotations.NullMarked;
