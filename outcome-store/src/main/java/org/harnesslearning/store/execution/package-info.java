/** Executions in Postgres: results of questions under their cache key, the ledger of model calls, budgets of runs. */
@NullMarked
package org.harnesslearning.store.execution;

import org.jspecify.annotations.NullMarked;
