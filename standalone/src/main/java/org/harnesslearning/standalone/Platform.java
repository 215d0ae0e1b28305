package org.harnesslearning.standalone;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.harnesslearning.solver.catalog.ModelCache;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.MDC;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;

/**
 * All services on loopback ports, with their database. The solver loads its models while Postgres starts; the others
 * follow together. They stop in reverse order: first no new requests, last the database.
 */
final class Platform implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Platform.class);
    private static final String LOOPBACK = "127.0.0.1";

    private final Options options;
    private final DataFolder data;
    private final Deque<AutoCloseable> parts = new ArrayDeque<>();
    private final String secret;
    private final String adminKey;
    private final Map<Service, Integer> ports = new EnumMap<>(Service.class);
    private final String databaseUrl;
    private final int databasePort;

    private Platform(Options options, DataFolder data) {
        this.options = options;
        this.data = data;
        this.secret = data.secret("internal-secret", "");
        this.adminKey = data.secret("admin-key", "hl_");
        this.databasePort = freePort();
        this.databaseUrl = Database.jdbcUrl(databasePort);
    }

    /** Starts everything; nothing is left behind when a part fails. */
    static Platform start(Options options, DataFolder data) {
        Platform platform = new Platform(options, data);
        try {
            platform.startParts();
            return platform;
        } catch (RuntimeException e) {
            platform.close();
            throw e;
        }
    }

    /** Where the public API answers. */
    String url() {
        return "http://" + (options.host().equals("0.0.0.0") ? LOOPBACK : options.host()) + ":"
                + ports.get(Service.GATEWAY);
    }

    /** Where each service answers, by name of its module. */
    Map<String, URI> services() {
        Map<String, URI> services = new LinkedHashMap<>();
        for (Service service : Service.values()) {
            services.put(service.module(), URI.create(local(service)));
        }
        return services;
    }

    /** What the services show each other. */
    String secret() {
        return secret;
    }

    /** The first key of scope admin. */
    String adminKey() {
        return adminKey;
    }

    private void startParts() {
        for (Service service : Service.values()) {
            ports.put(
                    service,
                    service == Service.GATEWAY && options.port() != 0 ? Integer.valueOf(options.port()) : freePort());
        }
        try (ExecutorService threads =
                Executors.newThreadPerTaskExecutor(Thread.ofPlatform().factory())) {
            Future<Database> database = threads.submit(() -> add(Database.start(data.postgres(), databasePort)));
            List<Future<ConfigurableApplicationContext>> contexts = new ArrayList<>();
            contexts.add(threads.submit(starting(Service.SOLVER)));
            get(database);
            for (Service service : Service.values()) {
                if (service != Service.SOLVER) {
                    contexts.add(threads.submit(starting(service)));
                }
            }
            RuntimeException failure = null;
            for (Future<ConfigurableApplicationContext> context : contexts) {
                try {
                    get(context);
                } catch (RuntimeException e) {
                    failure = failure == null ? e : failure;
                }
            }
            if (failure != null) {
                throw failure;
            }
        }
    }

    private Callable<ConfigurableApplicationContext> starting(Service service) {
        return () -> {
            Thread.currentThread().setName("start-" + service.module());
            // Names the service on the start's own lines in the log.
            MDC.put("service", service.module());
            long begin = System.nanoTime();
            SpringApplication application = new SpringApplicationBuilder(service.application())
                    .registerShutdownHook(false)
                    .logStartupInfo(false)
                    .build();
            ConfigurableApplicationContext context =
                    application.run(arguments(service).toArray(String[]::new));
            LOG.info("{} ready after {} ms", service.module(), (System.nanoTime() - begin) / 1_000_000);
            return add(context);
        };
    }

    private List<String> arguments(Service service) {
        List<String> arguments = new ArrayList<>();
        property(arguments, "spring.config.name", service.module());
        property(
                arguments,
                "spring.config.additional-location",
                "optional:file:" + data.path().resolve("config") + "/");
        property(arguments, "spring.autoconfigure.exclude", String.join(",", service.excluded()));
        property(arguments, "spring.main.banner-mode", "off");
        property(arguments, "management.metrics.use-global-registry", "false");
        property(arguments, "server.address", service == Service.GATEWAY ? options.host() : LOOPBACK);
        property(arguments, "server.port", Integer.toString(port(service)));
        property(arguments, "platform.internal-secret", secret);
        property(arguments, "platform.solver-url", local(Service.SOLVER));
        property(arguments, "platform.executor-url", local(Service.EXECUTOR));
        property(arguments, "platform.proposer-url", local(Service.PROPOSER));
        property(arguments, "platform.trainer-url", local(Service.TRAINER));
        property(arguments, "db-scheduler.enabled", Boolean.toString(service.hasJobs()));
        if (service.usesDatabase()) {
            property(arguments, "spring.datasource.url", databaseUrl);
            property(arguments, "spring.datasource.username", "postgres");
        }
        if (service == Service.SOLVER) {
            // Asked for the first time when an adapter is: the database may still be starting.
            property(arguments, "solver.registry.url", databaseUrl);
            property(arguments, "solver.registry.username", "postgres");
            if (Files.exists(data.path().resolve("adapters"))) {
                // Models that take adapters decode a little slower: only for who trains.
                property(arguments, "solver.adapters.max-resident", "8");
            }
        }
        if (service == Service.TRAINER) {
            trainable(arguments);
        }
        if (service == Service.GATEWAY) {
            property(arguments, "gateway.key.bootstrap", adminKey);
        }
        return options.over(arguments);
    }

    /** Every fetched model can be trained. */
    private static void trainable(List<String> arguments) {
        Path folder = ModelCache.of(System.getenv()).root().resolve("models");
        if (!Files.isDirectory(folder)) {
            return;
        }
        try (Stream<Path> models = Files.list(folder)) {
            for (Path model : models.sorted().toList()) {
                Path file = model.resolve(model.getFileName() + ".gguf");
                if (Files.isRegularFile(file)) {
                    property(arguments, "trainer.checkpoints[" + model.getFileName() + "]", file.toString());
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException("the model cache " + folder + " can't be read", e);
        }
    }

    private static void property(List<String> arguments, String name, String value) {
        arguments.add("--" + name + "=" + value);
    }

    private String local(Service service) {
        return "http://" + LOOPBACK + ":" + port(service);
    }

    private int port(Service service) {
        Integer port = ports.get(service);
        if (port == null) {
            throw new IllegalStateException("no port for " + service);
        }
        return port;
    }

    private static int freePort() {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        } catch (IOException e) {
            throw new UncheckedIOException("no free port", e);
        }
    }

    private <T extends AutoCloseable> T add(T part) {
        synchronized (parts) {
            parts.push(part);
        }
        return part;
    }

    private static <T> T get(Future<T> future) {
        try {
            return future.get();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException runtime) {
                throw runtime;
            }
            throw new IllegalStateException(e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    @Override
    public void close() {
        data.ready(null);
        while (true) {
            AutoCloseable part;
            synchronized (parts) {
                part = next();
            }
            if (part == null) {
                return;
            }
            try {
                part.close();
            } catch (Exception e) {
                LOG.warn("a part did not stop cleanly", e);
            }
        }
    }

    /** The gateway first, then services as they started last, the database at the end. */
    private @Nullable AutoCloseable next() {
        AutoCloseable chosen = parts.stream()
                .filter(part -> part instanceof ConfigurableApplicationContext context
                        && "gateway".equals(context.getEnvironment().getProperty("spring.application.name")))
                .findFirst()
                .or(() -> parts.stream()
                        .filter(part -> !(part instanceof Database))
                        .findFirst())
                .or(() -> parts.stream().findFirst())
                .orElse(null);
        if (chosen != null) {
            parts.remove(chosen);
        }
        return chosen;
    }
}
