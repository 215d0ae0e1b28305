package org.harnesslearning.gateway;

import java.security.SecureRandom;
import java.time.Clock;
import java.util.function.LongSupplier;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.web.ProblemAdvice;
import org.harnesslearning.contracts.web.RequestIdFilter;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.ConfigurationPropertiesScan;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import tools.jackson.databind.json.JsonMapper;

/** Starts the gateway. */
@SpringBootApplication
@ConfigurationPropertiesScan
@Import(ProblemAdvice.class)
public class GatewayApplication {
    /** Starts the service with its own configuration name, so that several services can share one class path. */
    public static void main(String[] args) {
        System.setProperty("spring.config.name", "gateway");
        SpringApplication.run(GatewayApplication.class, args);
    }

    @Bean
    RequestIdFilter requestIdFilter() {
        return new RequestIdFilter();
    }

    @Bean
    JsonMapper jsonMapper() {
        return Json.mapper();
    }

    @Bean
    Clock clock() {
        return Clock.systemUTC();
    }

    @Bean
    LongSupplier nanoTime() {
        return System::nanoTime;
    }

    @Bean
    SecureRandom secureRandom() {
        return new SecureRandom();
    }
}
