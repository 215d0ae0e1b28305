package org.harnesslearning.trainer.distributed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;

/** Two processes over Gloo: this one is rank 0. */
@SuppressWarnings("try") // processes and scopes that end with their block
class ProcessGroupTest {
    private static RankEnvironment leader(int port) {
        return new RankEnvironment(0, 2, "127.0.0.1", port, 0);
    }

    @Test
    void tensors_are_summed_and_passed_between_processes_and_a_killed_one_is_named() throws Exception {
        int port = RankProcess.freePort();
        try (RankProcess other = RankProcess.start(GroupMember.class, 1, 2, port);
                ProcessGroup group = ProcessGroup.join(leader(port), ProcessGroupBackend.GLOO, GroupMember.SETTINGS)) {
            assertThat(other.await("joined ")).isEqualTo("1 of 2");
            float[][] results = GroupMember.exchange(group);
            assertThat(results).isDeepEqualTo(new float[][] {{3, 3}, {1, 10, 1}, {1, 1}, {12, 2}, {7, 1}, {100, 101}});
            other.await("exchanged");
            other.kill();
            // Whether this call or a later one meets the closed connection, none waits for the step's time-out.
            assertThatThrownBy(() -> {
                        while (true) {
                            try (PointerScope scope = new PointerScope()) {
                                group.sum(List.of(torch.ones(4)));
                            }
                        }
                    })
                    .isInstanceOf(DistributedException.class)
                    .hasMessageContaining("rank 0 stopped while summing tensors: rank 1 is lost");
        }
    }

    @Test
    void a_process_on_its_own_needs_no_other() {
        try (ProcessGroup group = ProcessGroup.join(
                        RankEnvironment.single(), ProcessGroupBackend.GLOO, DistributedSettings.defaults());
                PointerScope scope = new PointerScope()) {
            var tensor = torch.ones(2);
            group.sum(List.of(tensor));
            assertThat(tensor.sum().item_float()).isEqualTo(2);
            assertThat(group.gather(5)).containsExactly(5);
        }
    }

    @Test
    void a_leader_whose_port_is_taken_says_which() throws Exception {
        try (var taken = new java.net.ServerSocket(0)) {
            assertThatThrownBy(() -> ProcessGroup.join(
                            leader(taken.getLocalPort()), ProcessGroupBackend.GLOO, GroupMember.SETTINGS))
                    .isInstanceOf(DistributedException.class)
                    .hasMessageContaining("rank 0 can't listen on port " + taken.getLocalPort());
        }
    }
}
