package org.harnesslearning.trainer.run;

import java.util.List;
import org.harnesslearning.trainer.TrainerApplication;
import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/** The trainer with the drill as its method for supervised runs, in this JVM or as a process of its own. */
public final class DrillTrainer {
    private DrillTrainer() {}

    /** Without a stereotype, so that no scan of the service itself finds it. */
    static class Methods {
        @Bean
        @Order(Ordered.HIGHEST_PRECEDENCE)
        TrainingMethod drillMethod() {
            return new DrillMethod();
        }
    }

    /** As the trainer's own, for {@code java}. */
    public static void main(String[] arguments) {
        run(arguments);
    }

    public static ConfigurableApplicationContext run(String... arguments) {
        return new SpringApplication(TrainerApplication.class, Methods.class).run(arguments);
    }

    /** Command line for tests: short waits, else as in production. */
    public static List<String> arguments(String jdbcUrl, String models, int port, String checkpoint) {
        return List.of(
                "--spring.config.name=trainer-service",
                "--server.port=" + port,
                "--server.address=127.0.0.1",
                "--spring.datasource.url=" + jdbcUrl,
                "--spring.datasource.username=postgres",
                "--platform.internal-secret=secret",
                "--platform.solver-url=" + models,
                "--platform.proposer-url=" + models,
                "--trainer.checkpoints.tiny=" + checkpoint,
                "--trainer.stall-after=200ms",
                "--trainer.queue-poll=50ms",
                "--trainer.name-sweep=100ms",
                "--trainer.event-poll=20ms",
                "--trainer.heartbeat=200ms",
                "--db-scheduler.heartbeat-interval=250ms",
                "--db-scheduler.polling-interval=50ms");
    }
}
