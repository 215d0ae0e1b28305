/**
 * The learning experiment: corpus, supervised training, policy optimisation and the evaluation of what was learned, driven
 * through the public API of a running platform. Everything that comes out is kept in files, from which the tables are made.
 */
@NullMarked
package org.harnesslearning.benchmarks.learning;

import org.jspecify.annotations.NullMarked;
