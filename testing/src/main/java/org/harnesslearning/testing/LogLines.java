package org.harnesslearning.testing;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.List;
import org.slf4j.LoggerFactory;

/** What a class logs while this is open. */
public final class LogLines implements AutoCloseable {
    private final ListAppender<ILoggingEvent> lines = new ListAppender<>();
    private final Logger logger;

    /** Listens to the logger of that name. */
    public LogLines(String name) {
        logger = (Logger) LoggerFactory.getLogger(name);
        lines.start();
        logger.addAppender(lines);
    }

    /** Lines so far that hold a text, oldest first. */
    public List<ILoggingEvent> with(String text) {
        return List.copyOf(lines.list).stream()
                .filter(line -> line.getFormattedMessage().contains(text))
                .toList();
    }

    @Override
    public void close() {
        logger.detachAppender(lines);
        lines.stop();
    }
}
