package org.harnesslearning.trainer.run;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.llm.checkpoint.LoraAdapter;
import org.harnesslearning.store.training.CheckpointStore;
import org.harnesslearning.store.training.TrainingRunRow;
import org.harnesslearning.trainer.decoder.LoraFiles;
import org.harnesslearning.trainer.decoder.TensorFile;
import org.harnesslearning.trainer.registry.ModelRegistry;
import org.harnesslearning.trainer.registry.ModelVersion;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.stereotype.Component;
import org.springframework.util.FileSystemUtils;

/** Makes versions of what runs that did not come to their end have saved. */
@Component
class CheckpointVersions {
    private static final Logger LOG = LoggerFactory.getLogger(CheckpointVersions.class);

    private final TrainingServices services;
    private final ModelRegistry registry;
    private final ObjectProvider<TrainingMethod> methods;

    CheckpointVersions(TrainingServices services, ModelRegistry registry, ObjectProvider<TrainingMethod> methods) {
        this.services = services;
        this.registry = registry;
        this.methods = methods;
    }

    /**
     * Publishes the adapter of a run's newest intact checkpoint; the same one again gives the same version.
     *
     * @return as the {@code result} of a run that ended well
     * @throws PlatformException INVALID_STATE where there is no such checkpoint
     */
    Map<String, Object> publish(TrainingRunRow run) {
        RunSettings settings = Json.mapper().treeToValue(run.settings(), RunSettings.class);
        TrainingMethod method = methods.orderedStream()
                .filter(one -> one.kind() == settings.kind())
                .findFirst()
                .orElseThrow(() -> new PlatformException(
                        ErrorCode.INVALID_STATE,
                        "This trainer does no runs of kind " + settings.kind().json()));
        for (CheckpointStore.Checkpoint checkpoint : services.checkpoints().all(run.id())) {
            try {
                return publish(run, settings, method, checkpoint);
            } catch (CheckpointStore.BrokenCheckpointException e) {
                LOG.warn("{}: {}", run.id(), e.getMessage());
            }
        }
        throw new PlatformException(
                ErrorCode.INVALID_STATE,
                "The run has no checkpoint that could be published"
                        + (run.result() == null ? "" : "; its version stands in its result"));
    }

    private Map<String, Object> publish(
            TrainingRunRow run, RunSettings settings, TrainingMethod method, CheckpointStore.Checkpoint checkpoint)
            throws CheckpointStore.BrokenCheckpointException {
        try {
            Path folder = Files.createTempDirectory(run.id());
            try {
                services.checkpoints().read(run.id(), checkpoint, folder);
                Path adapter = method.adapter(folder);
                LoraFiles files = LoraFiles.read(adapter);
                ModelVersion version = registry.publish(
                        files,
                        settings.baseModel(),
                        TensorFile.texts(adapter.resolve(LoraAdapter.WEIGHTS_FILE))
                                .getOrDefault(LoraAdapter.BASE_HASH, ""),
                        settings.kind().json(),
                        settings.parent(),
                        run.id(),
                        checkpoint.step());
                return result(version, checkpoint.step());
            } finally {
                FileSystemUtils.deleteRecursively(folder);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What a run that ended with a version shows. */
    static Map<String, Object> result(ModelVersion version, long step) {
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("version", version.id());
        result.put("base", version.base());
        result.put("step", step);
        return result;
    }
}
