/**
 * The ops pages: templates filled with what the public API answers to the one who looks. Pages read and change nothing by
 * any other way, but for keys and sessions, which are the gateway's own.
 */
@NullMarked
package org.harnesslearning.gateway.page;

import org.jspecify.annotations.NullMarked;
