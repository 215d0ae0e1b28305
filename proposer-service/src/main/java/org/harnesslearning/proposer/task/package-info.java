/** Tasks: the users' own and the built-in ones, and how a request's task becomes items. */
@NullMarked
package org.harnesslearning.proposer.task;

import org.jspecify.annotations.NullMarked;
