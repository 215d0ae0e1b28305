package org.harnesslearning.proposer.edit;

/**
 * One block of an applied reply.
 *
 * @param tier tier at which its SEARCH was found
 * @param shift indentation characters that were added to (or, negative, taken from) its REPLACE lines
 * @param removed lines taken out
 * @param added lines put in
 */
public record AppliedEdit(Tier tier, int shift, int removed, int added) {}
