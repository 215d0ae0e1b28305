package org.harnesslearning.executor;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import java.net.URI;
import java.nio.file.Path;
import java.time.Clock;
import java.util.UUID;
import org.harnesslearning.contracts.model.ModelApi;
import org.harnesslearning.contracts.web.InternalClients;
import org.harnesslearning.contracts.web.InternalWeb;
import org.harnesslearning.executor.broker.BrokerSettings;
import org.harnesslearning.executor.broker.ModelBroker;
import org.harnesslearning.executor.broker.ToolBroker;
import org.harnesslearning.executor.check.HarnessChecker;
import org.harnesslearning.executor.execution.ExecutionSettings;
import org.harnesslearning.executor.execution.Executions;
import org.harnesslearning.executor.kit.KitSettings;
import org.harnesslearning.executor.kit.Kits;
import org.harnesslearning.executor.sandbox.AdmissionSettings;
import org.harnesslearning.executor.sandbox.DockerEngine;
import org.harnesslearning.executor.sandbox.DockerSandboxes;
import org.harnesslearning.executor.sandbox.Heartbeats;
import org.harnesslearning.executor.sandbox.ImageBuild;
import org.harnesslearning.executor.sandbox.OccupancyReport;
import org.harnesslearning.executor.sandbox.PoolSettings;
import org.harnesslearning.executor.sandbox.Protection;
import org.harnesslearning.executor.sandbox.Reaper;
import org.harnesslearning.executor.sandbox.ReaperSettings;
import org.harnesslearning.executor.sandbox.SandboxSettings;
import org.harnesslearning.executor.sandbox.Sandboxes;
import org.harnesslearning.executor.sandbox.SelfCheck;
import org.harnesslearning.executor.sandbox.StoredHeartbeats;
import org.harnesslearning.store.execution.ExecutionStoreConfiguration;
import org.harnesslearning.store.execution.ExecutorInstances;
import org.harnesslearning.store.execution.ModelCalls;
import org.harnesslearning.store.execution.QuestionResults;
import org.harnesslearning.store.execution.RunBudgets;
import org.harnesslearning.store.execution.ToolCalls;
import org.harnesslearning.tasks.ScorerFactory;
import org.harnesslearning.tasks.Scorers;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;

/** harness-executor: runs harnesses in Docker sandboxes against the solver, scores and stores what they answer. */
@SpringBootApplication
@Import({InternalWeb.class, ExecutionStoreConfiguration.class})
@EnableConfigurationProperties({
    SandboxSettings.class,
    PoolSettings.class,
    AdmissionSettings.class,
    ReaperSettings.class,
    BrokerSettings.class,
    KitSettings.class,
    ExecutionSettings.class
})
public class ExecutorApplication {
    /** Starts the service with its own configuration name, so that several services can share one class path. */
    public static void main(String[] args) {
        System.setProperty("spring.config.name", "harness-executor");
        SpringApplication.run(ExecutorApplication.class, args);
    }

    @Bean
    Clock clock() {
        return Clock.systemUTC();
    }

    @Bean
    Heartbeats heartbeats(ExecutorInstances instances) {
        return new StoredHeartbeats(instances);
    }

    @Bean
    DockerEngine dockerEngine(SandboxSettings settings, Clock clock, Heartbeats heartbeats) {
        return DockerEngine.connect(settings, clock, heartbeats.registry());
    }

    @Bean
    Reaper reaper(DockerEngine engine, Heartbeats heartbeats, ReaperSettings settings, MeterRegistry metrics) {
        Reaper reaper = Reaper.start(engine, heartbeats, settings);
        FunctionCounter.builder("executor.containers.reaped", reaper, Reaper::removed)
                .description("Containers of lost executors that this one removed")
                .register(metrics);
        return reaper;
    }

    /** The image of sandboxes, and a host that was found to hold them; the reaper's first heartbeat comes before. */
    @Bean
    DockerSandboxes sandboxes(
            DockerEngine engine,
            Reaper reaper,
            SandboxSettings settings,
            PoolSettings pool,
            AdmissionSettings admission,
            MeterRegistry metrics)
            throws InterruptedException {
        String image = ImageBuild.resolve(
                engine,
                settings.image(),
                Path.of(settings.imageBuild()),
                settings.imageBuildTimeout(),
                "executor.sandbox.image");
        Gauge.builder("executor.containers", engine, DockerEngine::containers)
                .description("Containers started and not removed yet")
                .register(metrics);
        Gauge.builder("executor.containers.quarantined", engine, DockerEngine::quarantined)
                .description("Containers that the engine did not remove when asked to")
                .register(metrics);
        SelfCheck check = SelfCheck.run(engine, image, settings);
        for (Protection protection : Protection.values()) {
            Gauge.builder("executor.sandbox.gap", () -> check.gaps().contains(protection) ? 1 : 0)
                    .tag("protection", protection.name())
                    .description("1 where this host lacks the protection and a setting accepts that")
                    .register(metrics);
        }
        return new DockerSandboxes(engine, image, settings, check, pool, admission, metrics);
    }

    @Bean
    OccupancyReport occupancyReport(DockerEngine engine, DockerSandboxes sandboxes, ExecutorInstances instances) {
        return new OccupancyReport(engine, sandboxes, instances);
    }

    @Bean
    HealthIndicator docker(DockerEngine engine, Sandboxes sandboxes) {
        return () -> (engine.healthy() ? Health.up() : Health.down())
                .withDetail("containers", engine.containers())
                .withDetail("quarantined", engine.quarantined())
                .withDetail("sandbox_gaps", sandboxes.gaps())
                .build();
    }

    @Bean
    Scorers scorers(ObjectProvider<ScorerFactory> factories) {
        Scorers scorers = Scorers.own();
        for (ScorerFactory factory : factories) {
            scorers = scorers.with(factory);
        }
        return scorers;
    }

    @Bean
    ModelBroker modelBroker(
            @Value("${platform.solver-url}") URI solver,
            @Value("${platform.internal-secret:}") String secret,
            ModelCalls calls,
            RunBudgets budgets,
            BrokerSettings settings,
            Clock clock,
            MeterRegistry metrics,
            ObservationRegistry observations) {
        ModelApi model = InternalClients.create(ModelApi.class, solver, secret, settings.callTimeout(), observations);
        return new ModelBroker(model, calls, budgets, settings, clock, UUID::randomUUID, metrics);
    }

    @Bean
    Kits kits(KitSettings settings) {
        return new Kits(settings);
    }

    @Bean
    ToolBroker toolBroker(
            Kits kits,
            ToolCalls calls,
            RunBudgets budgets,
            BrokerSettings settings,
            Clock clock,
            MeterRegistry metrics) {
        return new ToolBroker(kits, calls, budgets, settings, clock, UUID::randomUUID, metrics);
    }

    @Bean
    Executions executions(
            Sandboxes sandboxes,
            ModelBroker broker,
            ToolBroker tools,
            QuestionResults results,
            RunBudgets budgets,
            Scorers scorers,
            ExecutionSettings settings,
            MeterRegistry metrics,
            ObservationRegistry observations) {
        return new Executions(sandboxes, broker, tools, results, budgets, scorers, settings, metrics, observations);
    }

    @Bean
    HarnessChecker harnessChecker(Sandboxes sandboxes, ObservationRegistry observations) {
        return new HarnessChecker(sandboxes, observations);
    }
}
