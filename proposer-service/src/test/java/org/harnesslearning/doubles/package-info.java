/** The whole proposer service against scripted loopback doubles of executor and model, on a real Postgres. */
@NullMarked
package org.harnesslearning.doubles;

import org.jspecify.annotations.NullMarked;
