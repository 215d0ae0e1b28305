package org.harnesslearning.llm;

import java.time.Duration;

/**
 * Load of an engine at one moment, and its counters since it started.
 *
 * @param running samples that hold a slot
 * @param waiting requests in the queue
 * @param slots sequences that can be decoded together
 * @param kvCacheUsage share of the key-value cells in use by running samples, 0 … 1
 * @param promptTokens prompt tokens received
 * @param cachedPromptTokens prompt tokens taken from an earlier prompt
 * @param generationTokens tokens made
 * @param prefillSteps model steps over prompt chunks
 * @param decodeSteps model steps over running samples
 * @param failedSteps model steps that failed, or whose logits were not finite
 * @param alive whether the engine's thread runs
 * @param turnSoFar how long the engine has been at its present turn, of at most two model steps; zero while it waits for work
 */
public record EngineStatistics(
        int running,
        int waiting,
        int slots,
        double kvCacheUsage,
        long promptTokens,
        long cachedPromptTokens,
        long generationTokens,
        long prefillSteps,
        long decodeSteps,
        long failedSteps,
        boolean alive,
        Duration turnSoFar) {}
