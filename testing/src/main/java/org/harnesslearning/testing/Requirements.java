package org.harnesslearning.testing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.platform.commons.support.AnnotationSupport;

/** The conditions behind the annotations of this package. */
final class Requirements {
    private Requirements() {}

    private static ConditionEvaluationResult decide(@Nullable String missing) {
        if (missing == null) {
            return ConditionEvaluationResult.enabled("present");
        }
        if ("true".equals(System.getenv("CI"))) {
            throw new IllegalStateException(missing + "; under CI this is a failure, not a skip");
        }
        return ConditionEvaluationResult.disabled(missing);
    }

    static final class Docker implements ExecutionCondition {
        private static final boolean PRESENT = present();

        private static boolean present() {
            try {
                Process process = new ProcessBuilder("docker", "version", "--format", "{{.Server.Version}}")
                        .redirectErrorStream(true)
                        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                        .start();
                return process.waitFor(20, TimeUnit.SECONDS) && process.exitValue() == 0;
            } catch (IOException e) {
                return false;
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return false;
            }
        }

        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
            return decide(PRESENT ? null : "no Docker engine answers");
        }
    }

    static final class Model implements ExecutionCondition {
        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
            String name = context.getElement()
                    .flatMap(element -> AnnotationSupport.findAnnotation(element, RequiresModel.class))
                    .map(RequiresModel::value)
                    .orElse("smollm2-135m");
            Path file = SharedData.model(name);
            return decide(
                    Files.isRegularFile(file)
                            ? null
                            : "model " + name + " is not in the cache: run ./harness model fetch " + name);
        }
    }

    static final class Browser implements ExecutionCondition {
        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
            return decide(
                    SharedData.program("chromium").isPresent()
                                    && SharedData.program("chromedriver").isPresent()
                            ? null
                            : "no Chromium with its driver is on the path (Debian: chromium, chromium-driver)");
        }
    }

    static final class PythonTools implements ExecutionCondition {
        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
            return decide(
                    Files.isExecutable(SharedData.pythonTool("schemathesis"))
                            ? null
                            : "the Python tools are not in the cache: run ./harness verify, or install"
                                    + " testing/python-tools.txt into a virtual environment and set HARNESS_PYTHON_TOOLS");
        }
    }

    static final class Shared implements ExecutionCondition {
        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
            return decide(SharedData.shared().isPresent() ? null : "the shared data is not beside the checkout");
        }
    }

    static final class Tools implements ExecutionCondition {
        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
            return decide(CheckTools.present() ? null : "k8s/tools.sh failed: " + CheckTools.problem());
        }
    }

    static final class Postgres implements ExecutionCondition {
        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
            return decide(null);
        }
    }
}
