/** Reports of finished runs as JSON, Markdown and JUnit XML. */
@NullMarked
package org.harnesslearning.proposer.report;

import org.jspecify.annotations.NullMarked;
