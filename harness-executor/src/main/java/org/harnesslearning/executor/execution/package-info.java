/** Executions: a harness on many items, resumable by key, each finished question scored and committed at once. */
@NullMarked
package org.harnesslearning.executor.execution;

import org.jspecify.annotations.NullMarked;
