package org.harnesslearning.llm;

/**
 * A token and the natural logarithm of its probability.
 *
 * @param tokenId the token
 * @param logprob natural logarithm of its probability
 */
public record TokenLogprob(int tokenId, float logprob) {}
