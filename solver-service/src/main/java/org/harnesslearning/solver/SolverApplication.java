package org.harnesslearning.solver;

import org.harnesslearning.contracts.web.InternalWeb;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.flyway.autoconfigure.FlywayAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.context.annotation.Import;

/**
 * Starts the platform's one model endpoint. It needs no database: where the model registry is configured, its own small
 * pool reads it.
 */
@SpringBootApplication(exclude = {DataSourceAutoConfiguration.class, FlywayAutoConfiguration.class})
@Import(InternalWeb.class)
public class SolverApplication {
    /** Starts the service with its own configuration name, so that several services can share one class path. */
    public static void main(String[] args) {
        System.setProperty("spring.config.name", "solver-service");
        SpringApplication.run(SolverApplication.class, args);
    }
}
