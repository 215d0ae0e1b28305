package org.harnesslearning.trainer.method;

import java.util.Locale;
import org.harnesslearning.trainer.decoder.DecoderSettings;
import org.harnesslearning.trainer.decoder.Device;
import org.harnesslearning.trainer.decoder.Precision;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * On what this trainer computes.
 *
 * @param device {@code cpu} or {@code cuda}; with several ranks on a host each takes the GPU of its number
 * @param threads threads of operations on the processor; 0: half of those it has
 */
@ConfigurationProperties("trainer.learner")
public record LearnerProperties(
        @DefaultValue("cpu") String device,
        @DefaultValue("0") int threads) {
    public LearnerProperties {
        if (!device.equals("cpu") && !device.equals("cuda")) {
            throw new IllegalArgumentException("trainer.learner.device is cpu or cuda, not " + device);
        }
    }

    /** How the decoder computes for these settings. */
    public DecoderSettings decoder(EngineSettings engine) {
        boolean gpu = device.equals("cuda");
        Precision usual = gpu ? Precision.BF16 : Precision.FP32;
        return new DecoderSettings(
                gpu ? Device.cuda(0) : Device.cpu(),
                precision(engine.precision(), usual),
                engine.gradientCheckpointing(),
                engine.tokensPerMicroBatch(),
                threads);
    }

    private static Precision precision(@Nullable String wanted, Precision usual) {
        return wanted == null ? usual : Precision.valueOf(wanted.toUpperCase(Locale.ROOT));
    }
}
