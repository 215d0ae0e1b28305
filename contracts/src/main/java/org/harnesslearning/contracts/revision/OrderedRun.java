package org.harnesslearning.contracts.revision;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;

/**
 * What the trainer reads of an ordered run; everything else stands in Postgres.
 *
 * @param id such as {@code rev_…}
 */
@JsonIgnoreProperties(ignoreUnknown = true)
public record OrderedRun(String id, String state) {}
