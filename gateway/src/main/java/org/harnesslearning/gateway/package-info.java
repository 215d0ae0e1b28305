/** The edge: public API, keys, limits, OpenAPI. */
@NullMarked
package org.harnesslearning.gateway;

import org.jspecify.annotations.NullMarked;
