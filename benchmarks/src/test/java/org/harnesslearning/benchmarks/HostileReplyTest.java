package org.harnesslearning.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class HostileReplyTest {
    private static final int BYTES = 1 << 17;

    @ParameterizedTest
    @EnumSource
    void theEngineAnswersAsTheBenchmarkExpects(HostileReply reply) {
        HostileReply.Input input = reply.make(BYTES);
        assertThat(input.replyBytes()).isBetween(BYTES / 2, BYTES);
        assertThat(input.apply().code()).isEqualTo(reply.expected());
    }
}
