package org.harnesslearning.executor.broker;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.harnesslearning.contracts.model.ChatRequest;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Settings of the broker.
 *
 * @param attempts most tries of one call while the model endpoint is away or full
 * @param backoff wait before the second try; doubled before each further one
 * @param maxBackoff longest wait between two tries, also where the endpoint asks for more
 * @param callTimeout most time for one answer of the model endpoint
 * @param traceChars characters of each message and reply that are kept in the trace, head and tail
 */
@ConfigurationProperties("executor.broker")
public record BrokerSettings(
        @DefaultValue("5") int attempts,
        @DefaultValue("500ms") Duration backoff,
        @DefaultValue("10s") Duration maxBackoff,
        @DefaultValue("15m") Duration callTimeout,
        @DefaultValue("8192") int traceChars) {
    public BrokerSettings {
        if (attempts < 1 || traceChars < 2) {
            throw new IllegalArgumentException("executor.broker: attempts and trace-chars are at least 1 and 2");
        }
    }

    /** Most characters of the messages of one call in the trace, as a multiple of those of one text. */
    private static final int MESSAGES = 4;

    /** A prompt for the trace: each text shortened, and of many messages the first and the last ones. */
    List<ChatRequest.Message> shortened(List<ChatRequest.Message> messages) {
        List<ChatRequest.Message> texts = messages.stream()
                .map(message -> new ChatRequest.Message(message.role(), shortened(message.content())))
                .toList();
        int room = MESSAGES * traceChars;
        if (texts.stream().mapToInt(BrokerSettings::size).sum() <= room) {
            return texts;
        }
        int head = fitting(texts, room / 2);
        int tail = fitting(texts.subList(head, texts.size()).reversed(), room / 2);
        List<ChatRequest.Message> kept = new ArrayList<>(texts.subList(0, head));
        int left = texts.size() - head - tail;
        kept.add(new ChatRequest.Message(texts.get(head).role(), "[... " + left + " messages left out ...]"));
        kept.addAll(texts.subList(texts.size() - tail, texts.size()));
        return kept;
    }

    private static int size(ChatRequest.Message message) {
        return message.content().length() + message.role().length();
    }

    /** How many of these messages, from the first on, have so many characters together. */
    private static int fitting(List<ChatRequest.Message> messages, int characters) {
        int count = 0;
        int left = characters;
        while (count < messages.size() && size(messages.get(count)) <= left) {
            left -= size(messages.get(count));
            count++;
        }
        return count;
    }

    /** A text for the trace, head and tail. */
    String shortened(String text) {
        if (text.length() <= traceChars) {
            return text;
        }
        int head = traceChars / 2;
        int left = text.length() - 2 * head;
        return text.substring(0, head) + "\n[... " + left + " characters left out ...]\n"
                + text.substring(text.length() - head);
    }
}
