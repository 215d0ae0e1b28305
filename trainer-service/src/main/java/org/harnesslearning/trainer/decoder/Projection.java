package org.harnesslearning.trainer.decoder;

import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.harnesslearning.llm.checkpoint.DecoderConfig;

/** The projections of a block: those with the same input are one matrix, whose rows are theirs one after the other. */
enum Projection {
    ATTENTION_IN(Module.QUERY, Module.KEY, Module.VALUE),
    ATTENTION_OUT(Module.OUTPUT),
    FEED_FORWARD_IN(Module.GATE, Module.UP),
    FEED_FORWARD_OUT(Module.DOWN);

    private final List<Module> modules;

    Projection(Module... modules) {
        this.modules = List.of(modules);
    }

    /** A projection that may have an adapter of its own. */
    enum Module {
        QUERY("self_attn.q_proj", "attn_q"),
        KEY("self_attn.k_proj", "attn_k"),
        VALUE("self_attn.v_proj", "attn_v"),
        OUTPUT("self_attn.o_proj", "attn_output"),
        GATE("mlp.gate_proj", "ffn_gate"),
        UP("mlp.up_proj", "ffn_up"),
        DOWN("mlp.down_proj", "ffn_down");

        private final String path;
        private final String part;

        Module(String path, String part) {
            this.path = path;
            this.part = part;
        }

        /** The name that PEFT's target modules use. */
        String target() {
            return path.substring(path.indexOf('.') + 1);
        }

        /** PEFT's name of a factor in a layer. */
        String factor(int layer, char side) {
            return "base_model.model.model.layers." + layer + "." + path + ".lora_" + side + ".weight";
        }

        /** The name of its tensors in a {@link org.harnesslearning.llm.checkpoint.Checkpoint}. */
        String part() {
            return part;
        }

        int outputs(DecoderConfig config) {
            return switch (this) {
                case QUERY -> config.queryWidth();
                case KEY, VALUE -> config.keyValueWidth();
                case GATE, UP -> config.feedForward();
                case OUTPUT, DOWN -> config.hidden();
            };
        }
    }

    List<Module> modules() {
        return modules;
    }

    /** Those of its modules that are targets. */
    List<Module> targets(Set<String> names) {
        return modules.stream()
                .filter(module -> names.contains(module.target()))
                .toList();
    }

    int inputs(DecoderConfig config) {
        return switch (this) {
            case ATTENTION_IN, FEED_FORWARD_IN -> config.hidden();
            case ATTENTION_OUT -> config.queryWidth();
            case FEED_FORWARD_OUT -> config.feedForward();
        };
    }

    /** Rows of the whole matrix. */
    int outputs(DecoderConfig config) {
        return modules.stream().mapToInt(module -> module.outputs(config)).sum();
    }

    /** The first row of one of its modules. */
    int firstRow(Module module, DecoderConfig config) {
        return modules.subList(0, modules.indexOf(module)).stream()
                .mapToInt(before -> before.outputs(config))
                .sum();
    }

    static List<Projection> all() {
        return Arrays.asList(values());
    }
}
