/** The OpenAPI document and its page. */
@NullMarked
package org.harnesslearning.gateway.openapi;

import org.jspecify.annotations.NullMarked;
