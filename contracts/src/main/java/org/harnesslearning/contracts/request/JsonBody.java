package org.harnesslearning.contracts.request;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.json.Json;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Bytes of a request as text and as JSON. */
public final class JsonBody {
    private static final JsonMapper STRICT = Json.mapper()
            .rebuild()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .build();

    private JsonBody() {}

    /**
     * Text of a body.
     *
     * @throws PlatformException NOT_UTF8 with the place of the first bad byte
     */
    public static String text(byte[] body) {
        ByteBuffer in = ByteBuffer.wrap(body);
        try {
            String text = StandardCharsets.UTF_8.newDecoder().decode(in).toString();
            return text.startsWith("\uFEFF") ? text.substring(1) : text;
        } catch (CharacterCodingException e) {
            throw new PlatformException(
                    ErrorCode.NOT_UTF8,
                    "The body is not UTF-8 text; the first bad byte is at offset " + in.position(),
                    e);
        }
    }

    /**
     * A body as JSON object.
     *
     * @throws PlatformException NOT_UTF8, MALFORMED_JSON
     */
    public static JsonNode object(byte[] body) {
        JsonNode node = json(text(body));
        if (!node.isObject()) {
            throw new PlatformException(ErrorCode.MALFORMED_JSON, "The body is not a JSON object");
        }
        return node;
    }

    /**
     * Text as JSON; a name that comes twice in an object is refused.
     *
     * @throws PlatformException MALFORMED_JSON with line and column
     */
    public static JsonNode json(String text) {
        try {
            JsonNode node = STRICT.readTree(text);
            if (node.isMissingNode()) {
                throw new PlatformException(ErrorCode.MALFORMED_JSON, "The body is empty");
            }
            return node;
        } catch (JacksonException e) {
            String where = e.getLocation() == null
                    ? ""
                    : " at line " + e.getLocation().getLineNr() + ", column "
                            + e.getLocation().getColumnNr();
            throw new PlatformException(ErrorCode.MALFORMED_JSON, "The body is not valid JSON" + where, e);
        }
    }
}
