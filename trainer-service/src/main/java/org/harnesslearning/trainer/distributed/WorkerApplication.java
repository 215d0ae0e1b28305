package org.harnesslearning.trainer.distributed;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.ConfigurableApplicationContext;

/** trainer-service at a rank other than 0: no web server, no database, no jobs. */
@EnableConfigurationProperties(DistributedSettings.class)
public class WorkerApplication {
    /**
     * Works for rank 0 until it is gone.
     *
     * @param arguments properties, {@code trainer.distributed.*} among them
     * @throws DistributedException when rank 0 is lost
     */
    public static void run(RankEnvironment place, String... arguments) {
        SpringApplication application = new SpringApplicationBuilder(WorkerApplication.class)
                .web(WebApplicationType.NONE)
                .build();
        try (ConfigurableApplicationContext context = application.run(arguments)) {
            new Worker(place, context.getBean(DistributedSettings.class)).run();
        }
    }
}
