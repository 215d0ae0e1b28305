package org.harnesslearning.trainer.distributed;

import java.nio.file.Path;
import org.harnesslearning.trainer.decoder.DecoderSettings;
import org.harnesslearning.trainer.decoder.LoraSettings;
import org.harnesslearning.trainer.optimizer.AdamW;

/**
 * What is trained and how; the same on all ranks.
 *
 * @param checkpoint folder or GGUF file, at the same place on the host of each rank
 * @param decoder on GPUs each rank takes the one of its number on its host
 * @param seed of the adapter's first weights and of dropout
 */
public record LearnerSettings(
        Path checkpoint, LoraSettings lora, DecoderSettings decoder, AdamW.Settings optimizer, long seed) {}
