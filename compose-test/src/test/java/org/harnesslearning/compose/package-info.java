/** The platform in containers, as docker-compose.yml starts it. */
@NullMarked
package org.harnesslearning.compose;

import org.jspecify.annotations.NullMarked;
