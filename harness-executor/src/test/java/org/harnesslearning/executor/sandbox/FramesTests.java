package org.harnesslearning.executor.sandbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

class FramesTests {
    @Test
    void frames_come_out_whole_however_the_stream_is_cut() throws IOException {
        Random random = new Random(7);
        for (int round = 0; round < 200; round++) {
            List<String> texts = new ArrayList<>();
            byte[] stream = {};
            for (int i = 0; i < 5; i++) {
                texts.add("é".repeat(random.nextInt(3000)));
                byte[] frame = Frames.encode(Map.of("text", texts.getLast()));
                stream = Arrays.copyOf(stream, stream.length + frame.length);
                System.arraycopy(frame, 0, stream, stream.length - frame.length, frame.length);
            }
            Frames.Decoder decoder = new Frames.Decoder();
            List<String> found = new ArrayList<>();
            for (int at = 0; at < stream.length; ) {
                int end = Math.min(stream.length, at + 1 + random.nextInt(5000));
                decoder.add(Arrays.copyOfRange(stream, at, end));
                at = end;
                for (JsonNode body = decoder.next(); body != null; body = decoder.next()) {
                    found.add(body.get("text").asString());
                }
            }
            assertThat(found).isEqualTo(texts);
        }
    }

    @Test
    void what_is_no_frame_is_refused() {
        for (byte[] junk :
                List.of(new byte[] {-1, -1, -1, -1}, new byte[] {0, 0, 0, 0}, new byte[] {0, 0, 0, 3, 'x', 'y', 'z'})) {
            Frames.Decoder decoder = new Frames.Decoder();
            decoder.add(junk);
            assertThatThrownBy(decoder::next).isInstanceOf(IOException.class);
        }
    }

    @Test
    void a_reader_gets_what_is_there_and_then_the_end() throws IOException {
        Frames.Outgoing outgoing = new Frames.Outgoing();
        outgoing.send(new byte[] {1, 2, 3});
        outgoing.send(new byte[] {4});
        outgoing.close();
        byte[] buffer = new byte[2];
        assertThat(outgoing.read(buffer, 0, 2)).isEqualTo(2);
        assertThat(outgoing.read(buffer, 0, 2)).isEqualTo(1);
        assertThat(outgoing.read()).isEqualTo(4);
        assertThat(outgoing.read()).isEqualTo(-1);
        assertThat(outgoing.read()).isEqualTo(-1);
    }
}
