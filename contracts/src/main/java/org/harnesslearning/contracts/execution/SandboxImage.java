package org.harnesslearning.contracts.execution;

/**
 * An image that tasks may name for their sandboxes.
 *
 * @param name the operator's name for it
 * @param reference what the engine starts, with a tag or a digest; part of the evaluation cache's key
 * @param description what a harness finds in it, for the proposer
 */
public record SandboxImage(String name, String reference, String description) {}
