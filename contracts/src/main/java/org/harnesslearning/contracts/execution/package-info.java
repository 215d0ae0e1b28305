/** Running a harness on items: the executor's HTTP API and its records. */
@NullMarked
package org.harnesslearning.contracts.execution;

import org.jspecify.annotations.NullMarked;
