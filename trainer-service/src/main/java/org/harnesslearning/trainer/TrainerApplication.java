package org.harnesslearning.trainer;

import org.harnesslearning.contracts.web.InternalWeb;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Import;

/** Starts the trainer. It takes no training runs yet: it answers health and metrics. */
@SpringBootApplication
@Import(InternalWeb.class)
public class TrainerApplication {
    /** Starts the service with its own configuration name, so that several services can share one class path. */
    public static void main(String[] args) {
        System.setProperty("spring.config.name", "trainer-service");
        SpringApplication.run(TrainerApplication.class, args);
    }
}
