package org.harnesslearning.solver.adapter;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.llm.checkpoint.CheckpointException;
import org.harnesslearning.llm.checkpoint.LoraAdapter;
import org.jspecify.annotations.Nullable;

/** The adapters below one folder. Requests name them by path, and no path leads out of the folder. */
final class AdapterFolder implements AdapterSource {
    private final @Nullable Path folder;

    /** @param folder null: none, every request is refused */
    AdapterFolder(@Nullable Path folder) {
        this.folder = folder;
    }

    @Override
    public LoraAdapter find(String reference) {
        if (folder == null) {
            throw refused("This server reads no adapters: solver.adapters.folder is not set");
        }
        try {
            Path root = folder.toRealPath();
            Path asked = root.resolve(reference).normalize();
            if (!asked.startsWith(root)) {
                throw refused("It lies outside the folder of adapters");
            }
            if (!Files.isDirectory(asked)) {
                throw refused("There is no such folder");
            }
            Path real = asked.toRealPath(); // links must not lead out either
            for (String file : new String[] {LoraAdapter.CONFIG_FILE, LoraAdapter.WEIGHTS_FILE}) {
                Path path = real.resolve(file);
                if (!real.startsWith(root)
                        || Files.exists(path) && !path.toRealPath().startsWith(root)) {
                    throw refused("It lies outside the folder of adapters");
                }
            }
            return LoraAdapter.read(real);
        } catch (InvalidPathException e) {
            throw refused("It is no path");
        } catch (CheckpointException e) {
            // Of the path only the file's name: where the folder lies is not the client's business.
            throw refused("The adapter cannot be used: " + Path.of(e.file()).getFileName() + ": " + e.reason());
        } catch (IOException e) {
            throw new PlatformException(ErrorCode.INTERNAL, "The adapter cannot be read", e);
        }
    }

    private static PlatformException refused(String detail) {
        return PlatformException.field(ErrorCode.INVALID_FIELD, "/lora_path", detail);
    }
}
