package org.harnesslearning.tasks;

/** The harness that an adaptation starts from when the request names none. */
public final class SeedHarness {
    /** Hands the question to the model and returns its reply. */
    public static final String MINIMAL = "def run(question, env):\n    return env.llm(question)\n";

    private SeedHarness() {}
}
