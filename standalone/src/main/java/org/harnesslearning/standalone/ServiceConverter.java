package org.harnesslearning.standalone;

import ch.qos.logback.classic.pattern.ClassicConverter;
import ch.qos.logback.classic.spi.ILoggingEvent;
import java.util.Map;

/**
 * Names the service that a log line is from: by its package, else by the thread that wrote it. Lines of shared
 * libraries on shared threads show a dash.
 */
public final class ServiceConverter extends ClassicConverter {
    private static final String ROOT = "org.harnesslearning.";
    private static final Map<String, String> BY_PACKAGE = Map.of(
            "gateway", "gateway",
            "proposer", "proposer",
            "executor", "executor",
            "solver", "solver",
            "llm", "solver",
            "trainer", "trainer",
            "tasks", "executor",
            "standalone", "standalone");

    @Override
    public String convert(ILoggingEvent event) {
        String logger = event.getLoggerName();
        if (logger.startsWith(ROOT)) {
            int end = logger.indexOf('.', ROOT.length());
            String name =
                    BY_PACKAGE.get(end < 0 ? logger.substring(ROOT.length()) : logger.substring(ROOT.length(), end));
            if (name != null) {
                return name;
            }
        }
        String service = event.getMDCPropertyMap().get("service");
        if (service != null) {
            return switch (service) {
                case "solver-service" -> "solver";
                case "harness-executor" -> "executor";
                case "proposer-service" -> "proposer";
                case "trainer-service" -> "trainer";
                default -> service;
            };
        }
        return "-";
    }
}
