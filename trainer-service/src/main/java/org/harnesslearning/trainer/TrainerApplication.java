package org.harnesslearning.trainer;

import org.harnesslearning.contracts.web.InternalWeb;
import org.harnesslearning.trainer.distributed.DistributedException;
import org.harnesslearning.trainer.distributed.RankEnvironment;
import org.harnesslearning.trainer.distributed.WorkerApplication;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Import;

/** Starts the trainer; at a rank other than 0, a worker that computes its share for rank 0. */
@SpringBootApplication
@Import(InternalWeb.class)
public class TrainerApplication {
    /** Starts the service with its own configuration name, so that several services can share one class path. */
    public static void main(String[] args) {
        System.setProperty("spring.config.name", "trainer-service");
        try {
            RankEnvironment place = RankEnvironment.of(System.getenv());
            if (!place.leads()) {
                WorkerApplication.run(place, args);
                return;
            }
        } catch (DistributedException e) {
            System.err.println("trainer-service: " + e.getMessage());
            System.exit(1);
        }
        SpringApplication.run(TrainerApplication.class, args);
    }
}
