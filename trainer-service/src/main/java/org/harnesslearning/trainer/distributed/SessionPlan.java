package org.harnesslearning.trainer.distributed;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.TreeSet;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.trainer.decoder.DecoderSettings;
import org.harnesslearning.trainer.decoder.Device;
import org.harnesslearning.trainer.decoder.LoraSettings;
import org.harnesslearning.trainer.decoder.Precision;
import org.harnesslearning.trainer.optimizer.AdamW;

/** {@link LearnerSettings} as rank 0 passes them to the others; devices are left to each rank. */
record SessionPlan(
        String checkpoint,
        int rank,
        double alpha,
        double dropout,
        boolean rankStabilised,
        List<String> targetModules,
        boolean cuda,
        Precision precision,
        boolean gradientCheckpointing,
        int tokensPerMicroBatch,
        int threads,
        AdamW.Settings optimizer,
        long seed) {
    static SessionPlan of(LearnerSettings settings) {
        LoraSettings lora = settings.lora();
        DecoderSettings decoder = settings.decoder();
        return new SessionPlan(
                settings.checkpoint().toString(),
                lora.rank(),
                lora.alpha(),
                lora.dropout(),
                lora.rankStabilised(),
                List.copyOf(lora.targetModules()),
                decoder.device() instanceof Device.Cuda,
                decoder.precision(),
                decoder.gradientCheckpointing(),
                decoder.tokensPerMicroBatch(),
                decoder.threads(),
                settings.optimizer(),
                settings.seed());
    }

    ProcessGroupBackend backend() {
        return cuda ? ProcessGroupBackend.NCCL : ProcessGroupBackend.GLOO;
    }

    /** The settings of one rank. */
    LearnerSettings at(RankEnvironment place) {
        return new LearnerSettings(
                Path.of(checkpoint),
                new LoraSettings(rank, alpha, dropout, rankStabilised, new TreeSet<>(targetModules)),
                new DecoderSettings(
                        cuda ? Device.cuda(place.localRank()) : Device.cpu(),
                        precision,
                        gradientCheckpointing,
                        tokensPerMicroBatch,
                        threads),
                optimizer,
                seed);
    }

    /** What must be equal at all ranks: name and value, alternating. */
    List<String> identity(String baseHash) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            digest.update(Json.canonical(this).getBytes(StandardCharsets.UTF_8));
            return List.of(
                    "settings",
                    "sha256:" + HexFormat.of().formatHex(digest.digest()),
                    "base model",
                    baseHash,
                    "code version",
                    CodeVersion.current());
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }
}
