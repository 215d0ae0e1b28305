package org.harnesslearning.standalone;

import java.util.ArrayList;
import java.util.List;

/**
 * The services of the platform, in the order in which one needs the other. All share one class path, so each switches
 * off what Spring Boot would configure for the others.
 */
enum Service {
    SOLVER("solver-service", "org.harnesslearning.solver.SolverApplication", false),
    EXECUTOR("harness-executor", "org.harnesslearning.executor.ExecutorApplication", true),
    PROPOSER("proposer-service", "org.harnesslearning.proposer.ProposerApplication", true),
    TRAINER("trainer-service", "org.harnesslearning.trainer.TrainerApplication", true),
    GATEWAY("gateway", "org.harnesslearning.gateway.GatewayApplication", true);

    private static final List<String> DATABASE = List.of(
            "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration",
            "org.springframework.boot.flyway.autoconfigure.FlywayAutoConfiguration");
    private static final List<String> CLOUD_GATEWAY = List.of(
            "org.springframework.cloud.gateway.server.mvc.GatewayServerMvcAutoConfiguration",
            "org.springframework.cloud.gateway.server.mvc.GatewayMvcClassPathWarningAutoConfiguration",
            "org.springframework.cloud.gateway.server.mvc.filter.FilterAutoConfiguration",
            "org.springframework.cloud.gateway.server.mvc.handler.HandlerFunctionAutoConfiguration",
            "org.springframework.cloud.gateway.server.mvc.handler.GatewayMultipartAutoConfiguration",
            "org.springframework.cloud.gateway.server.mvc.predicate.PredicateAutoConfiguration",
            "org.springframework.cloud.gateway.server.mvc.config.DefaultFunctionConfiguration");

    private final String module;
    private final String application;
    private final boolean database;

    Service(String module, String application, boolean database) {
        this.module = module;
        this.application = application;
        this.database = database;
    }

    /** Name of the module, of its configuration file and in the logs. */
    String module() {
        return module;
    }

    boolean usesDatabase() {
        return database;
    }

    Class<?> application() {
        try {
            return Class.forName(application);
        } catch (ClassNotFoundException e) {
            throw new StandaloneException("the build lacks " + module, e);
        }
    }

    /** Auto-configurations that belong to other services. */
    List<String> excluded() {
        List<String> excluded = new ArrayList<>();
        if (this != GATEWAY) {
            excluded.addAll(CLOUD_GATEWAY);
        }
        if (!database) {
            excluded.addAll(DATABASE);
        }
        return excluded;
    }
}
