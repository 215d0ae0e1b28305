/** How other services order revisions and evaluations at proposer-service; what came of them they read in Postgres. */
@NullMarked
package org.harnesslearning.contracts.revision;

import org.jspecify.annotations.NullMarked;
