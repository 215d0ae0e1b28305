package org.harnesslearning.llm.graph;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/** Collects nodes and initialisers and writes them as an ONNX model (onnx.proto, IR version 10). */
final class GraphBuilder {

    static final String MICROSOFT = "com.microsoft";

    /** Operators of this project, which only some sessions know. */
    static final String OWN = "org.harnesslearning";

    private static final int IR_VERSION = 10;
    private static final int OPSET = 21;

    private final ProtoWriter graph = new ProtoWriter();
    private final List<Weight> weights = new ArrayList<>();
    private int nextName;
    private boolean ownUsed;

    /** A name not used before. */
    String fresh(String hint) {
        return hint + "_" + nextName++;
    }

    void input(String name, ElementType type, Object... dimensions) {
        graph.message(11, valueInfo(name, type, dimensions));
    }

    void output(String name, ElementType type, Object... dimensions) {
        graph.message(12, valueInfo(name, type, dimensions));
    }

    /** Declares initialisers whose data are handed over when the session is made. */
    void weight(Weight weight) {
        for (Weight.Spec spec : weight.specs()) {
            ProtoWriter tensor = new ProtoWriter();
            spec.shape().forEach(dimension -> tensor.integer(1, dimension));
            tensor.integer(2, spec.type().id());
            tensor.text(8, spec.name());
            tensor.message(13, new ProtoWriter().text(1, "location").text(2, "in-memory"));
            tensor.integer(14, 1); // EXTERNAL
            graph.message(5, tensor);
        }
        weights.add(weight);
    }

    /** A small constant kept inside the model. */
    String constant(long... values) {
        String name = fresh("constant");
        ByteBuffer data = ByteBuffer.allocate(values.length * Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        for (long value : values) {
            data.putLong(value);
        }
        graph.message(
                5,
                new ProtoWriter()
                        .integer(1, values.length)
                        .integer(2, ElementType.INT64.id())
                        .text(8, name)
                        .bytes(9, data.array()));
        return name;
    }

    /** Adds a node with one output and returns the output's name. */
    String node(String domain, String operator, List<String> inputs, Attribute... attributes) {
        String output = fresh(operator);
        node(domain, operator, inputs, List.of(output), attributes);
        return output;
    }

    /** Adds a node; an empty name stands for an input or output that is left out. */
    void node(String domain, String operator, List<String> inputs, List<String> outputs, Attribute... attributes) {
        ProtoWriter node = new ProtoWriter();
        inputs.forEach(name -> node.text(1, name));
        outputs.forEach(name -> node.text(2, name));
        node.text(3, fresh("node")).text(4, operator);
        for (Attribute attribute : attributes) {
            node.message(5, attribute.proto());
        }
        node.text(7, domain);
        ownUsed |= domain.equals(OWN);
        graph.message(1, node);
    }

    List<Weight> weights() {
        return List.copyOf(weights);
    }

    /** The serialised {@code ModelProto}. */
    byte[] model() {
        graph.text(2, "decoder");
        ProtoWriter model = new ProtoWriter()
                .integer(1, IR_VERSION)
                .text(2, "harness-learning")
                .message(7, graph)
                .message(8, new ProtoWriter().text(1, "").integer(2, OPSET))
                .message(8, new ProtoWriter().text(1, MICROSOFT).integer(2, 1));
        if (ownUsed) {
            model.message(8, new ProtoWriter().text(1, OWN).integer(2, 1));
        }
        return model.toByteArray();
    }

    /** @param dimensions a {@link String} names a free dimension, a {@link Number} fixes one */
    private static ProtoWriter valueInfo(String name, ElementType type, Object... dimensions) {
        ProtoWriter shape = new ProtoWriter();
        for (Object dimension : dimensions) {
            ProtoWriter entry = new ProtoWriter();
            if (dimension instanceof Number fixed) {
                entry.integer(1, fixed.longValue());
            } else {
                entry.text(2, dimension.toString());
            }
            shape.message(1, entry);
        }
        ProtoWriter tensor = new ProtoWriter().integer(1, type.id()).message(2, shape);
        return new ProtoWriter().text(1, name).message(2, new ProtoWriter().message(1, tensor));
    }

    /** A node attribute. */
    record Attribute(ProtoWriter proto) {

        static Attribute of(String name, long value) {
            return new Attribute(
                    new ProtoWriter().text(1, name).integer(3, value).integer(20, 2));
        }

        static Attribute of(String name, float value) {
            return new Attribute(new ProtoWriter().text(1, name).real(2, value).integer(20, 1));
        }
    }
}
