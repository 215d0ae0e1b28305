package org.harnesslearning.trainer.run;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.harnesslearning.trainer.TrainerApplication;
import org.harnesslearning.trainer.distributed.Learner;
import org.harnesslearning.trainer.distributed.LearnerSettings;
import org.harnesslearning.trainer.distributed.Learners;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;

/**
 * The trainer as it is, in this JVM or as a process of its own. Where {@code tests.hold=accumulate:5:FOLDER} is given, each
 * learner stops once it has done that call for the fifth time and leaves a file {@code held…} in the folder, until a file
 * {@code free} is there. One that is opened leaves {@code opened…}, one that is closed {@code closed…}.
 */
public final class LoopTrainer {
    private LoopTrainer() {}

    /** Without a stereotype, so that no scan of the service itself finds it. */
    static class Holding {
        @Bean
        static BeanPostProcessor holdingLearners(Environment environment) {
            String hold = environment.getProperty("tests.hold");
            return new BeanPostProcessor() {
                @Override
                public Object postProcessAfterInitialization(Object bean, String name) {
                    return hold != null && bean instanceof Learners learners
                            ? new HoldingLearners(learners, hold.split(":", 3))
                            : bean;
                }
            };
        }
    }

    private record HoldingLearners(Learners learners, String[] hold) implements Learners {
        @Override
        public Learner open(LearnerSettings settings) {
            return holding(learners.open(settings), hold);
        }

        @Override
        public void dismiss() {
            learners.dismiss();
        }
    }

    private static Learner holding(Learner learner, String[] hold) {
        AtomicInteger calls = new AtomicInteger();
        Path folder = Path.of(hold[2]);
        mark(folder, "opened");
        return (Learner) Proxy.newProxyInstance(
                Learner.class.getClassLoader(), new Class<?>[] {Learner.class}, (proxy, method, arguments) -> {
                    Object result;
                    try {
                        result = method.invoke(learner, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                    if (method.getName().equals("close")) {
                        mark(folder, "closed");
                    }
                    if (method.getName().equals(hold[0])
                            && calls.incrementAndGet() == Integer.parseInt(hold[1])
                            && !free(folder)) {
                        mark(folder, "held");
                        while (!free(folder)) {
                            LockSupport.parkNanos(10_000_000);
                        }
                    }
                    return result;
                });
    }

    private static boolean free(Path folder) {
        return Files.exists(folder.resolve("free"));
    }

    private static void mark(Path folder, String what) {
        try {
            Files.createTempFile(folder, what, "");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Waits until so many learners hold. */
    static void awaitHeld(Path folder, int held, BooleanSupplier alive) {
        await(() -> count(folder, "held") == held, alive);
    }

    /** Waits until so many learners are open. */
    static void awaitOpen(Path folder, int open) {
        await(() -> count(folder, "opened") - count(folder, "closed") == open, () -> true);
    }

    private static void await(BooleanSupplier reached, BooleanSupplier alive) {
        long end = System.nanoTime() + Duration.ofSeconds(90).toNanos();
        while (!reached.getAsBoolean()) {
            if (System.nanoTime() > end || !alive.getAsBoolean()) {
                throw new AssertionError("not reached in time");
            }
            LockSupport.parkNanos(10_000_000);
        }
    }

    private static long count(Path folder, String what) {
        return Arrays.stream(Objects.requireNonNull(folder.toFile().list()))
                .filter(name -> name.startsWith(what))
                .count();
    }

    /** As the trainer's own, for {@code java}. */
    public static void main(String[] arguments) {
        run(arguments);
    }

    /**
     * Starts a JVM of its own.
     *
     * @param main this class or the trainer's own
     * @param environment variables beside those of this process
     */
    static Process start(Class<?> main, Path log, Map<String, String> environment, String... arguments)
            throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Xmx512m",
                "-cp",
                System.getProperty("java.class.path"),
                main.getName()));
        command.addAll(List.of(arguments));
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile());
        builder.environment().putAll(environment);
        return builder.start();
    }

    /** A port that was free a moment ago. */
    static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }

    public static ConfigurableApplicationContext run(String... arguments) {
        return new SpringApplication(TrainerApplication.class, Holding.class).run(arguments);
    }

    /**
     * Command line for tests: short waits, two runs at once, else as in production.
     *
     * @param neighbours URL of proposer-service and solver-service
     * @param more further ones
     */
    public static String[] arguments(String jdbcUrl, String neighbours, int port, Path checkpoint, String... more) {
        List<String> all = new ArrayList<>(DrillTrainer.arguments(jdbcUrl, neighbours, port, checkpoint.toString()));
        all.addAll(List.of(
                "--trainer.parallel-runs=2",
                "--trainer.learner.threads=1",
                "--trainer.rollout.poll=10ms",
                "--trainer.rollout.retry-delay=10ms"));
        all.addAll(List.of(more));
        return all.toArray(String[]::new);
    }
}
