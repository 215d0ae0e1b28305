package org.harnesslearning.contracts.execution;

/**
 * Check a harness without any model call: compile and walk the syntax tree, then import it and call its entry point
 * once with canned replies, in a sandbox.
 */
public record CheckRequest(String source, Limits limits) {}
