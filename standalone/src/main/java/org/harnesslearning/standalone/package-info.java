/** All services in one JVM with an embedded Postgres: the quick start. */
@NullMarked
package org.harnesslearning.standalone;

import org.jspecify.annotations.NullMarked;
