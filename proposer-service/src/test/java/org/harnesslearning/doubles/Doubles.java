package org.harnesslearning.doubles;

import java.time.Clock;
import java.util.Map;
import javax.sql.DataSource;
import org.harnesslearning.contracts.web.InternalWeb;
import org.harnesslearning.store.execution.ModelCalls;
import org.harnesslearning.store.execution.QuestionResults;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.web.server.servlet.context.ServletWebServerApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.core.env.Environment;
import org.springframework.jdbc.core.simple.JdbcClient;

/** Executor and model endpoint of the tests, served on a loopback port over the tests' database. */
final class Doubles implements AutoCloseable {
    static final String SECRET = "test-secret";

    private final ConfigurableApplicationContext context;

    /** The server. */
    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration(
            excludeName = {
                "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration",
                "org.springframework.boot.flyway.autoconfigure.FlywayAutoConfiguration",
                "com.github.kagkarlsson.scheduler.boot.autoconfigure.DbSchedulerAutoConfiguration"
            })
    @Import(InternalWeb.class)
    static class Application {
        @Bean
        DoubleExecutor doubleExecutor(DataSource dataSource) {
            JdbcClient jdbc = JdbcClient.create(dataSource);
            return new DoubleExecutor(
                    new QuestionResults(jdbc, Clock.systemUTC()), new ModelCalls(jdbc, Clock.systemUTC()));
        }

        @Bean
        DoubleModel doubleModel() {
            return new DoubleModel();
        }

        @Bean
        DataSource dataSource(Environment environment) {
            return Platform.pool(environment.getRequiredProperty("tests.database"));
        }
    }

    Doubles(String database) {
        SpringApplication application = new SpringApplication(Application.class);
        application.setDefaultProperties(Map.of(
                "spring.config.name", "doubles",
                "server.port", "0",
                "server.address", "127.0.0.1",
                "spring.main.banner-mode", "off",
                "platform.internal-secret", SECRET,
                "spring.threads.virtual.enabled", "true",
                "management.endpoints.enabled-by-default", "false",
                "tests.database", database));
        context = application.run();
    }

    String url() {
        return "http://127.0.0.1:"
                + ((ServletWebServerApplicationContext) context).getWebServer().getPort();
    }

    DoubleExecutor executor() {
        return context.getBean(DoubleExecutor.class);
    }

    DoubleModel model() {
        return context.getBean(DoubleModel.class);
    }

    @Override
    public void close() {
        context.close();
    }
}
