/**
 * Docker sandboxes: hardened single-use containers that speak frames on their standard streams, and on top of them the
 * sandbox that runs one harness on questions.
 */
@NullMarked
package org.harnesslearning.executor.sandbox;

import org.jspecify.annotations.NullMarked;
