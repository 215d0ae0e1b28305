package org.harnesslearning.standalone.cli;

import java.io.Console;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;

/** Entry of the command line; the script {@code harness} calls it after it has set things up. */
public final class HarnessCommand {
    private static final String UP_HELP = """
            Usage: ./harness up [options]

            Starts the platform in the background: every service and Postgres in a container of its own
            (docker-compose.yml), or all services in one JVM.

              --port N              port of the API (8080)
              --host ADDRESS        address that the API listens on (127.0.0.1)
              --small               fetch qwen2.5-coder-0.5b instead of qwen2.5-coder-1.5b
              --scale SERVICE=N     replicas of a service; may be repeated
              --observability       Prometheus and Grafana as well
              --gpu                 models and training on an NVIDIA GPU
              --standalone          one JVM, with a Postgres of its own
              --set NAME=VALUE      with --standalone: a property of any service, see docs/configuration.md; may be
                                    repeated
            """;

    private HarnessCommand() {}

    /** Runs one command and ends the process with its exit code. */
    public static void main(String[] arguments) {
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
        Console console = System.console();
        Surroundings surroundings =
                new Surroundings(out, console != null && console.isTerminal(), System.getenv(), System::nanoTime);
        System.exit(run(Arrays.asList(arguments), surroundings, System.err).value());
    }

    static ExitCode run(List<String> arguments, Surroundings surroundings, PrintStream errors) {
        try {
            String command = arguments.isEmpty() ? "" : arguments.getFirst();
            List<String> options = arguments.isEmpty() ? List.of() : arguments.subList(1, arguments.size());
            if (options.contains("--help") || options.contains("-h")) {
                surroundings.out().print(help(command));
                return ExitCode.DONE;
            }
            return switch (command) {
                case "adapt" -> forCi(() -> AdaptCommand.run(options, surroundings));
                case "eval" -> forCi(() -> EvalCommand.run(options, surroundings));
                case "revise" -> ReviseCommand.run(options, surroundings);
                case "demo" -> DemoCommand.run(options, surroundings);
                case "train" -> TrainCommand.run(options, surroundings);
                case "models" -> ModelsCommand.run(options, surroundings);
                case "runs" -> RunsCommand.run(options, surroundings);
                case "status" -> StatusCommand.run(options, surroundings);
                default -> throw CommandException.usage("unknown command '" + command + "'");
            };
        } catch (CommandException e) {
            errors.println("harness: " + e.getMessage());
            return e.code();
        }
    }

    /** CI knows four exit codes: a platform that can't be reached is infrastructure like a run that failed. */
    private static ExitCode forCi(Supplier<ExitCode> command) {
        try {
            return command.get();
        } catch (CommandException e) {
            throw e.code() == ExitCode.UNREACHABLE ? new CommandException(ExitCode.FAILED, e.getMessage()) : e;
        }
    }

    private static String help(String command) {
        return switch (command) {
            case "adapt" -> AdaptCommand.HELP;
            case "revise" -> ReviseCommand.HELP;
            case "demo" -> DemoCommand.HELP;
            case "eval" -> EvalCommand.HELP;
            case "train" -> TrainCommand.HELP;
            case "models" -> ModelsCommand.HELP;
            case "runs" -> RunsCommand.HELP;
            case "status" -> StatusCommand.HELP;
            case "up" -> UP_HELP;
            default -> throw CommandException.usage("unknown command '" + command + "'");
        };
    }
}
