package org.harnesslearning.standalone;

import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.slf4j.LoggerFactory;
import org.slf4j.bridge.SLF4JBridgeHandler;

/** Runs the whole platform in this JVM until it is told to stop (SIGTERM, SIGINT). */
public final class StandaloneApplication {
    private static final String MARK = "[standalone] ";

    private StandaloneApplication() {}

    /**
     * Starts the platform.
     *
     * @param arguments {@code --data FOLDER}, {@code --host ADDRESS}, {@code --port N}, {@code --set NAME=VALUE}
     */
    public static void main(String[] arguments) {
        PrintStream out = System.out;
        try {
            Options options = Options.of(arguments, System.getenv());
            if (options.training()) {
                train(options);
                // Whatever thread a library may have left must not keep the JVM from writing its cache.
                System.exit(0);
            }
            prepareLogging(options.data(), options.jsonLogs());
            run(options, out);
        } catch (StandaloneException e) {
            System.err.println("harness: " + e.getMessage());
            System.exit(3);
        } catch (RuntimeException e) {
            LoggerFactory.getLogger(StandaloneApplication.class).error("the platform did not start", e);
            System.err.println("harness: the platform did not start: " + rootMessage(e));
            System.exit(3);
        }
    }

    /** Logging is one for all services: each would otherwise set it up again under its own name. */
    static void prepareLogging(Path data, boolean json) {
        if (json) {
            System.setProperty("logback.configurationFile", "logback-json.xml");
        }
        System.setProperty("harness.logs", data.resolve("logs").toString());
        System.setProperty("org.springframework.boot.logging.LoggingSystem", "none");
        SLF4JBridgeHandler.removeHandlersForRootLogger();
        SLF4JBridgeHandler.install();
    }

    private static void run(Options options, PrintStream out) {
        long begin = System.nanoTime();
        DataFolder data = DataFolder.open(options.data());
        CountDownLatch stopped = new CountDownLatch(1);
        Platform platform;
        try {
            platform = Platform.start(options, data);
        } catch (RuntimeException e) {
            data.close();
            throw e;
        }
        Runtime.getRuntime()
                .addShutdownHook(new Thread(
                        () -> {
                            platform.close();
                            data.close();
                            stopped.countDown();
                        },
                        "shutdown"));
        data.targets(platform.services());
        data.ready(platform.url());
        out.println(MARK + "ready after %.1f s: %s".formatted((System.nanoTime() - begin) / 1e9, platform.url()));
        out.println(MARK + "API: " + platform.url() + "/docs   logs: "
                + options.data().resolve("logs") + "   stop: ./harness down");
        if (data.first("started")) {
            out.println(MARK + "API key (scope admin, shown once; kept in "
                    + options.data().resolve("admin-key") + "): "
                    + platform.adminKey());
        }
        out.flush();
        try {
            stopped.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Starts on an empty folder and stops again, so that the JVM can note which classes a start needs. */
    private static void train(Options options) {
        Path folder;
        try {
            folder = Files.createTempDirectory("harness-training");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        try {
            prepareLogging(folder, options.jsonLogs());
            Options own = new Options(folder, "127.0.0.1", 0, true, options.properties());
            try (DataFolder data = DataFolder.open(folder);
                    Platform platform = Platform.start(own, data)) {
                Warmup.run(platform.url(), platform.adminKey());
            }
        } finally {
            delete(folder);
        }
    }

    private static void delete(Path folder) {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String rootMessage(Throwable e) {
        Throwable root = e;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return root.getMessage() == null ? root.toString() : root.getMessage();
    }
}
