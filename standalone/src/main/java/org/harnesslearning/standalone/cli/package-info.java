/** The command line: a client of the public API, and nothing else. */
@NullMarked
package org.harnesslearning.standalone.cli;

import org.jspecify.annotations.NullMarked;
