package org.harnesslearning.llm.checkpoint;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.Objects;
import java.util.stream.StreamSupport;
import java.util.zip.GZIPInputStream;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The files written by {@code src/test/golden/make_logits_goldens.py}. */
public final class Goldens {

    private static final JsonMapper JSON = JsonMapper.builder().build();

    private Goldens() {}

    public static JsonNode json(String name) {
        try (InputStream in = open(name + ".json")) {
            return JSON.readTree(in.readAllBytes());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Little-endian floats of a gzip file. */
    public static float[] floats(String name) {
        try (InputStream in = new GZIPInputStream(open(name))) {
            ByteBuffer bytes = ByteBuffer.wrap(in.readAllBytes()).order(ByteOrder.LITTLE_ENDIAN);
            float[] values = new float[bytes.remaining() / Float.BYTES];
            bytes.asFloatBuffer().get(values);
            return values;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public static int[] ints(JsonNode array) {
        return StreamSupport.stream(array.spliterator(), false)
                .mapToInt(JsonNode::asInt)
                .toArray();
    }

    public static float[] floats(JsonNode array) {
        float[] values = new float[array.size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) array.get(i).asDouble();
        }
        return values;
    }

    /** The directory of an adapter that Hugging Face PEFT wrote. */
    public static Path adapter(String name) {
        return folder("adapters/" + name + "/" + LoraAdapter.CONFIG_FILE);
    }

    /** The directory that holds a golden file. */
    public static Path folder(String file) {
        try {
            return Path.of(Objects.requireNonNull(Goldens.class.getResource("/golden/" + file), file)
                            .toURI())
                    .getParent();
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }

    private static InputStream open(String name) throws IOException {
        InputStream in = Goldens.class.getResourceAsStream("/golden/" + name);
        if (in == null) {
            throw new IOException("no golden file " + name);
        }
        return in;
    }
}
