package org.harnesslearning.benchmarks;

import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.harnesslearning.proposer.edit.EditResult;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.CommandLineOptionException;
import org.openjdk.jmh.runner.options.CommandLineOptions;
import org.openjdk.jmh.runner.options.OptionsBuilder;

/**
 * Time to apply a hostile reply of one megabyte; beside it, on a size at which it ends, the one regular expression over the
 * whole reply that such engines are often made of.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 1, jvmArgsAppend = "-Xmx2g")
public class EditEngineBenchmark {
    private static final Pattern WHOLE_REPLY = Pattern.compile(
            "<<<<<<< SEARCH\\s*\\n(.*?)\\n\\s*=======\\s*\\n(.*?)\\n\\s*>>>>>>> REPLACE", Pattern.DOTALL);

    /** One megabyte of each kind. */
    @State(Scope.Benchmark)
    public static class Megabyte {
        @Param
        public HostileReply reply = HostileReply.BLANK_LINES;

        HostileReply.Input input = reply.make(100);

        /** Makes the input and checks what it is for. */
        @Setup
        public void make() {
            input = reply.make(HostileReply.MEGABYTE);
            EditResult result = input.apply();
            if (result.code() != reply.expected() || input.replyBytes() > HostileReply.MEGABYTE) {
                throw new IllegalStateException(reply + ": " + result.message());
            }
        }
    }

    /** A few hundred blank lines: enough to see how the regular expression grows. */
    @State(Scope.Benchmark)
    public static class Small {
        @Param({"200", "400"})
        public int lines = 200;

        HostileReply.Input input = HostileReply.BLANK_LINES.make(100);

        /** Makes the input. */
        @Setup
        public void make() {
            input = HostileReply.BLANK_LINES.make(lines + 15);
        }
    }

    /** The engine on a megabyte. */
    @Benchmark
    public EditResult engine(Megabyte state) {
        return state.input.apply();
    }

    /** The engine on the peer's size. */
    @Benchmark
    public EditResult engineSmall(Small state) {
        return state.input.apply();
    }

    /** The peer. */
    @Benchmark
    public boolean regexSmall(Small state) {
        return WHOLE_REPLY.matcher(state.input.reply()).find();
    }

    /** Runs this benchmark; arguments are JMH's. */
    public static void main(String[] arguments) throws RunnerException, CommandLineOptionException {
        new Runner(new OptionsBuilder()
                        .parent(new CommandLineOptions(arguments))
                        .include(EditEngineBenchmark.class.getSimpleName())
                        .build())
                .run();
    }
}
