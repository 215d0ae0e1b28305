package org.harnesslearning.solver.inference;

/** A validated text completion request. */
public record CompletionCall(String model, Prompt prompt, Decoding decoding) {}
