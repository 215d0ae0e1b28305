/** The models known by short name, and how they get into the local cache: verified, resumable, nothing executed. */
@NullMarked
package org.harnesslearning.solver.catalog;

import org.jspecify.annotations.NullMarked;
