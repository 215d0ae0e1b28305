/**
 * What the proposer reads: versioned prompt files, demonstrations on other families, and the execution report as text.
 */
@NullMarked
package org.harnesslearning.proposer.prompt;

import org.jspecify.annotations.NullMarked;
