package org.harnesslearning.trainer.run;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Scalar;
import org.harnesslearning.contracts.request.Faults;
import org.harnesslearning.contracts.request.Fields;
import org.harnesslearning.trainer.decoder.DecoderSettings;
import org.harnesslearning.trainer.decoder.LoraFiles;
import org.harnesslearning.trainer.decoder.LoraSettings;
import org.harnesslearning.trainer.decoder.Sequence;
import org.harnesslearning.trainer.decoder.TinyModels;
import org.harnesslearning.trainer.decoder.TrainableDecoder;
import org.harnesslearning.trainer.optimizer.AdamW;
import tools.jackson.databind.JsonNode;

/**
 * Really trains a tiny model, with dropout, on sequences from a formula, two of them a step. Where its settings say so it
 * holds in a step or while it saves, until a file {@code free} is in {@code marks}, or can't save: each once, marked by a
 * file there.
 */
public final class DrillMethod implements TrainingMethod {
    record Settings(double learningRate, String marks, long holdAt, long holdInSaveAt, long failSaveAt) {}

    @Override
    public TrainingKind kind() {
        return TrainingKind.SFT;
    }

    @Override
    public Object settings(JsonNode request) {
        Faults faults = new Faults();
        Fields fields = Fields.of(request, faults);
        String marks = fields.text("marks", 1000);
        Settings settings = new Settings(
                fields.number("learning_rate", 0.02, 0, 1),
                marks == null ? "" : marks,
                fields.integer("hold_at", 0, 0, 1000),
                fields.integer("hold_in_save_at", 0, 0, 1000),
                fields.integer("fail_save_at", 0, 0, 1000));
        fields.end();
        faults.check();
        return settings;
    }

    @Override
    public Path adapter(Path checkpoint) {
        return checkpoint.resolve("adapter");
    }

    @Override
    public TrainingWork open(TrainingContext context) {
        return new Work(context);
    }

    private static final class Work implements TrainingWork {
        private final TrainingContext context;
        private final JsonNode settings;
        private final TrainableDecoder decoder;
        private final AdamW optimizer;
        private final List<Sequence> data;
        private long step;

        Work(TrainingContext context) {
            this.context = context;
            this.settings = context.settings();
            this.decoder = TrainableDecoder.open(
                    context.checkpoint(),
                    LoraSettings.of(4, 8).withDropout(0.1),
                    DecoderSettings.onProcessor().withThreads(1),
                    context.seed());
            LoraFiles initial = context.initial();
            if (initial != null) {
                decoder.load(initial);
            }
            this.optimizer = new AdamW(decoder, AdamW.Settings.DEFAULTS);
            this.data = TinyModels.sequences(96, 5, 7, 9, 4, 3, 11, 8, 8, 6, 5, 12, 9);
        }

        @Override
        public Optional<StepReport> step() {
            hold("hold_at", step + 1);
            List<Sequence> batch = IntStream.range(0, 2)
                    .mapToObj(i -> data.get((int) ((2 * step + i + context.seed()) % data.size())))
                    .toList();
            int tokens = batch.stream()
                    .mapToInt(sequence -> sequence.completion().length)
                    .sum();
            double loss = decoder.accumulate(
                    batch,
                    1,
                    context.seed() + step,
                    (first, end, logprobs, entropies) -> logprobs.sum().mul(new Scalar(-1.0 / tokens)));
            double norm = optimizer.step(settings.get("learning_rate").asDouble());
            optimizer.zeroGradients();
            step++;
            return Optional.of(new StepReport(
                    step, Map.of(StepReport.LOSS, loss, StepReport.GRAD_NORM, norm), Map.of(StepReport.TOKENS, (long)
                            tokens)));
        }

        private void hold(String at, long now) {
            if (settings.get(at).asLong() != now || !mark(at + "-" + now)) {
                return;
            }
            context.desk().pending("the mark of the drill");
            while (!Files.exists(Path.of(settings.get("marks").asString(), "free"))) {
                context.check();
                LockSupport.parkNanos(5_000_000);
            }
        }

        /** Whether it is the first time. */
        private boolean mark(String name) {
            Path mark = Path.of(settings.get("marks").asString(), name);
            if (Files.exists(mark)) {
                return false;
            }
            try {
                Files.createFile(mark);
                return true;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public void save(Path folder) throws IOException {
            decoder.adapter().write(folder.resolve("adapter"));
            hold("hold_in_save_at", step);
            if (settings.get("fail_save_at").asLong() == step && mark("fail_save_at-" + step)) {
                throw new IOException("No space left on device");
            }
            optimizer.save(folder.resolve("optimizer.safetensors"));
            Files.writeString(folder.resolve("step"), Long.toString(step));
        }

        @Override
        public void restore(Path folder) throws IOException {
            decoder.load(LoraFiles.read(folder.resolve("adapter")));
            optimizer.load(folder.resolve("optimizer.safetensors"));
            step = Long.parseLong(Files.readString(folder.resolve("step")));
        }

        @Override
        public LoraFiles adapter() {
            return decoder.adapter();
        }

        @Override
        public String baseHash() {
            return decoder.baseHash();
        }

        @Override
        public void close() {
            optimizer.close();
            decoder.close();
        }
    }
}
