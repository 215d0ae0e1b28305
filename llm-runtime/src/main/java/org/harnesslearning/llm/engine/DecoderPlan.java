package org.harnesslearning.llm.engine;

import java.util.List;
import java.util.stream.Stream;
import org.harnesslearning.llm.checkpoint.Checkpoint;
import org.harnesslearning.llm.engine.CustomOperators.Operator;
import org.harnesslearning.llm.graph.DecoderGraph;
import org.harnesslearning.llm.graph.DecoderGraph.Built;
import org.harnesslearning.llm.graph.DecoderGraph.Options;
import org.harnesslearning.llm.graph.DecoderGraph.Target;
import org.harnesslearning.llm.graph.ElementType;
import org.harnesslearning.llm.graph.Weight;
import org.jspecify.annotations.Nullable;

/**
 * Which graphs a decoder runs, over the same weights and cache.
 *
 * @param prompt for the tokens of a prompt
 * @param step for one token of each of several rows; the same as {@code prompt} if one graph does both
 * @param single for one token of one row; the same as {@code step} if there is no special one
 * @param adapted for the tokens of a prompt with an adapter; the same as {@code prompt} if that one takes adapters
 * @param adaptedStep for one token of each of several rows of which one has an adapter; the same as {@code adapted} if one
 *     graph does both
 * @param type number type of the cache
 * @param captured whether steps are captured as CUDA graphs
 */
record DecoderPlan(
        Graph prompt, Graph step, Graph single, Graph adapted, Graph adaptedStep, ElementType type, boolean captured) {

    /**
     * A graph and what it was made for.
     *
     * @param built the graph
     * @param target its properties
     */
    record Graph(Built built, Target target) {}

    /** One graph for everything on the host's processor. */
    static DecoderPlan processor(Built built) {
        Graph graph = new Graph(built, Target.processor());
        return new DecoderPlan(graph, graph, graph, graph, graph, ElementType.FLOAT, false);
    }

    /** Two graphs on the host's processor: one for a token of one row without adapter, one for everything else. */
    static DecoderPlan processor(Built built, Built single) {
        Graph graph = new Graph(built, Target.processor());
        return new DecoderPlan(
                graph, graph, new Graph(single, Target.processor()), graph, graph, ElementType.FLOAT, false);
    }

    /** One graph of ONNX Runtime's operators for everything on a GPU, or two if there are adapters. */
    static DecoderPlan gpu(Checkpoint checkpoint, Options options, ElementType type, boolean captured) {
        Graph graph = graph(checkpoint, options.withAdapters(false), Target.gpu(type));
        Graph adapted = options.adapters() ? graph(checkpoint, options, Target.gpu(type)) : graph;
        return new DecoderPlan(graph, graph, graph, adapted, adapted, type, captured);
    }

    /** A graph for each use, with the operators of {@link DecoderOperators}. */
    static DecoderPlan own(Checkpoint checkpoint, Options options, ElementType type, boolean captured) {
        Options plain = options.withAdapters(false);
        Graph prompt = graph(checkpoint, plain, Target.prompt(type));
        Graph step = graph(checkpoint, plain, Target.step(type));
        return new DecoderPlan(
                prompt,
                step,
                DecoderGraph.allDense(checkpoint, type) ? graph(checkpoint, plain, Target.single(type)) : step,
                options.adapters() ? graph(checkpoint, options, Target.prompt(type)) : prompt,
                options.adapters() ? graph(checkpoint, options, Target.step(type)) : step,
                type,
                captured);
    }

    private static Graph graph(Checkpoint checkpoint, Options options, Target target) {
        return new Graph(DecoderGraph.build(checkpoint, options, target), target);
    }

    /** All weights; some may occur more than once. */
    List<Weight> weights() {
        return Stream.of(prompt, step, single, adapted, adaptedStep)
                .distinct()
                .flatMap(graph -> graph.built().weights().stream())
                .toList();
    }

    /** The computations behind the operators that the graphs use beside those of ONNX Runtime. */
    interface DecoderOperators extends AutoCloseable {

        /** ONNX Runtime's name of the execution provider that runs them. */
        String provider();

        List<Operator> operators();

        @Override
        void close();
    }

    /** Nothing beside ONNX Runtime's operators. */
    static @Nullable DecoderOperators noOperators() {
        return null;
    }
}
