package org.harnesslearning.llm.graph;

import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * Initialisers of the graph that come from checkpoint tensors, filled only once their memory has been allocated.
 *
 * @param specs names, types and shapes
 * @param filler writes the values
 * @param verbatim stored bytes which, one after another, are the only initialiser's; empty if values are converted
 * @param views initialisers of other graphs that are parts of the only one
 */
public record Weight(List<Spec> specs, Filler filler, List<MemorySegment> verbatim, List<View> views) {

    public Weight {
        specs = List.copyOf(specs);
        verbatim = List.copyOf(verbatim);
        views = List.copyOf(views);
    }

    Weight(List<Spec> specs, Filler filler) {
        this(specs, filler, List.of(), List.of());
    }

    /**
     * A part of an initialiser.
     *
     * @param name name of the initialiser that it is
     * @param offset first byte
     * @param bytes size
     */
    public record View(String name, long offset, long bytes) {}

    /**
     * One initialiser.
     *
     * @param name name in the graph
     * @param type element type
     * @param shape dimensions, slowest first
     * @param packed whether ONNX Runtime's kernel makes a copy in an order of its own and does not read this one again
     */
    public record Spec(String name, ElementType type, List<Long> shape, boolean packed) {

        public Spec {
            shape = List.copyOf(shape);
        }

        Spec(String name, ElementType type, boolean packed, long... shape) {
            this(name, type, java.util.Arrays.stream(shape).boxed().toList(), packed);
        }

        /** Size of its data. */
        public long byteSize() {
            long size = type.bytes();
            for (long dimension : shape) {
                size *= dimension;
            }
            return size;
        }
    }

    /** Writes values; may be called on any thread, once. */
    @FunctionalInterface
    public interface Filler {

        /** @param targets one writable segment for each spec, of exactly its size */
        void fill(List<MemorySegment> targets);
    }
}
