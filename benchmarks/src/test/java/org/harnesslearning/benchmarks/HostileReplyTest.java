package org.harnesslearning.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class HostileReplyTest {

    @ParameterizedTest
    @EnumSource
    void theEngineAnswersAsTheBenchmarkExpects(HostileReply reply) {
        HostileReply.Input input = reply.make(HostileReply.MEGABYTE);
        assertThat(input.replyBytes()).isBetween(HostileReply.MEGABYTE / 2, HostileReply.MEGABYTE);
        assertThat(input.apply().code()).isEqualTo(reply.expected());
    }
}
