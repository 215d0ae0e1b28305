package org.harnesslearning.trainer.optimizer;

import java.util.List;
import org.harnesslearning.trainer.decoder.NonFiniteException;

/** A step was refused because gradients are no numbers; weights and optimiser state are as before. */
public final class NonFiniteGradientException extends NonFiniteException {

    private static final long serialVersionUID = 1;

    private final transient List<String> parameters;

    NonFiniteGradientException(List<String> parameters) {
        super("the step is refused and nothing is changed: gradients that are no numbers in " + parameters.size()
                + " parameters, the first " + parameters.getFirst());
        this.parameters = List.copyOf(parameters);
    }

    /** The parameters at fault. */
    public List<String> parameters() {
        return parameters;
    }
}
