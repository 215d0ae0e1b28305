package org.harnesslearning.standalone.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class EventReaderTest {
    private static List<EventReader.Event> read(String text) throws IOException {
        List<EventReader.Event> events = new ArrayList<>();
        try (EventReader reader = new EventReader(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)))) {
            for (EventReader.Event event = reader.next(); event != null; event = reader.next()) {
                events.add(event);
            }
        }
        return events;
    }

    @Test
    void fields_comments_and_several_data_lines() throws IOException {
        assertThat(read(": hello\n\nid: 1\nevent: progress\ndata: a\ndata:b\n\n:beat\n\ndata\n\n"))
                .containsExactly(
                        new EventReader.Event("1", "progress", "a\nb"), new EventReader.Event("1", "message", ""));
    }

    @Test
    void carriage_returns_end_lines_too() throws IOException {
        assertThat(read("id: 7\r\nevent: x\r\ndata: é\r\n\r\n")).containsExactly(new EventReader.Event("7", "x", "é"));
    }

    @Test
    void an_event_that_is_cut_off_is_dropped() throws IOException {
        assertThat(read("data: whole\n\ndata: half\n")).hasSize(1);
        assertThat(read("event: nothing\n\n")).isEmpty();
    }
}
