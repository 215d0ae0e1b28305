package org.harnesslearning.standalone;

import java.util.ArrayList;
import java.util.List;
import org.harnesslearning.executor.ExecutorApplication;
import org.harnesslearning.gateway.GatewayApplication;
import org.harnesslearning.proposer.ProposerApplication;
import org.harnesslearning.solver.SolverApplication;
import org.harnesslearning.trainer.TrainerApplication;

/**
 * The services of the platform, in the order in which one needs the other. All share one class path, so each switches
 * off what Spring Boot would configure for the others.
 */
enum Service {
    SOLVER("solver-service", SolverApplication.class, false),
    EXECUTOR("harness-executor", ExecutorApplication.class, true),
    PROPOSER("proposer-service", ProposerApplication.class, true),
    TRAINER("trainer-service", TrainerApplication.class, true),
    GATEWAY("gateway", GatewayApplication.class, true);

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
    private final Class<?> application;
    private final boolean database;

    Service(String module, Class<?> application, boolean database) {
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

    /** Whether it works off jobs of its own. */
    boolean hasJobs() {
        return this == PROPOSER || this == TRAINER;
    }

    Class<?> application() {
        return application;
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
