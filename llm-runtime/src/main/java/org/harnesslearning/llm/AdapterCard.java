package org.harnesslearning.llm;

/**
 * A resident adapter.
 *
 * @param name name in requests
 * @param hash {@code sha256:<hex>} of its files, see {@link org.harnesslearning.llm.checkpoint.LoraAdapter#hash()}
 * @param rank its largest rank
 * @param requests requests that wait or run with it
 */
public record AdapterCard(String name, String hash, int rank, int requests) {}
