package org.harnesslearning.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestTag;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/**
 * Counts tests by group (JUnit tag; {@code unit} for none; a test tagged {@code cuda} in that group alone) and appends one line a group to the file named by the system
 * property {@code harness.testGroups}: group, ran, failed, skipped, tab-separated.
 */
public final class TestGroups implements TestExecutionListener {
    private final Map<String, int[]> counts = new TreeMap<>();
    private @Nullable TestPlan plan;

    @Override
    public void testPlanExecutionStarted(TestPlan testPlan) {
        plan = testPlan;
    }

    @Override
    public synchronized void executionSkipped(TestIdentifier identifier, String reason) {
        if (identifier.isTest()) {
            count(identifier, 2);
        } else if (plan != null) {
            plan.getDescendants(identifier).stream()
                    .filter(TestIdentifier::isTest)
                    .forEach(test -> count(test, 2));
        }
    }

    @Override
    public synchronized void executionFinished(TestIdentifier identifier, TestExecutionResult result) {
        boolean failed = result.getStatus() == TestExecutionResult.Status.FAILED;
        if (identifier.isTest()) {
            if (result.getStatus() == TestExecutionResult.Status.ABORTED) {
                count(identifier, 2);
                return;
            }
            count(identifier, 0);
        }
        if (failed) {
            count(identifier, 1);
        }
    }

    @Override
    public synchronized void testPlanExecutionFinished(TestPlan testPlan) {
        String file = System.getProperty("harness.testGroups", "");
        if (file.isBlank() || counts.isEmpty()) {
            return;
        }
        StringBuilder lines = new StringBuilder();
        counts.forEach(
                (group, count) -> lines.append("%s\t%d\t%d\t%d%n".formatted(group, count[0], count[1], count[2])));
        try {
            Files.createDirectories(Path.of(file).getParent());
            Files.writeString(Path.of(file), lines.toString(), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void count(TestIdentifier identifier, int column) {
        Set<String> groups = new TreeSet<>();
        // Dynamic tests carry no tags of their own: those of the factory and its class count.
        for (TestIdentifier at = identifier; at != null; at = parent(at)) {
            at.getTags().stream().map(TestTag::getName).forEach(groups::add);
        }
        // On a machine without a GPU its tests are skipped for that reason alone, whatever else they need.
        if (groups.contains("cuda")) {
            groups.retainAll(Set.of("cuda"));
        }
        if (groups.isEmpty()) {
            groups.add("unit");
        }
        for (String group : groups) {
            counts.computeIfAbsent(group, name -> new int[3])[column]++;
        }
    }

    private @Nullable TestIdentifier parent(TestIdentifier identifier) {
        return plan == null ? null : plan.getParent(identifier).orElse(null);
    }
}
