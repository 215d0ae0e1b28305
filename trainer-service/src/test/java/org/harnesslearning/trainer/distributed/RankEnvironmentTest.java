package org.harnesslearning.trainer.distributed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RankEnvironmentTest {
    private static final Map<String, String> COMPLETE = Map.of(
            "RANK", "3",
            "WORLD_SIZE", "4",
            "MASTER_ADDR", "trainer-0.trainer",
            "MASTER_PORT", "29500",
            "LOCAL_RANK", "1");

    private static Map<String, String> with(String... changes) {
        Map<String, String> environment = new HashMap<>(COMPLETE);
        for (int i = 0; i < changes.length; i += 2) {
            if (changes[i + 1].isEmpty()) {
                environment.remove(changes[i]);
            } else {
                environment.put(changes[i], changes[i + 1]);
            }
        }
        return environment;
    }

    @Test
    void reads_the_variables_that_torchrun_sets() {
        assertThat(RankEnvironment.of(COMPLETE)).isEqualTo(new RankEnvironment(3, 4, "trainer-0.trainer", 29_500, 1));
        assertThat(RankEnvironment.of(COMPLETE).leads()).isFalse();
        assertThat(RankEnvironment.of(with("RANK", "0", "LOCAL_RANK", "0")).leads())
                .isTrue();
    }

    @Test
    void a_process_without_them_is_on_its_own() {
        assertThat(RankEnvironment.of(Map.of("PATH", "/bin"))).isEqualTo(RankEnvironment.single());
        assertThat(RankEnvironment.of(Map.of("WORLD_SIZE", "1"))).isEqualTo(RankEnvironment.single());
        assertThat(RankEnvironment.of(Map.of("JOB_COMPLETION_INDEX", "2"))).isEqualTo(RankEnvironment.single());
        assertThat(RankEnvironment.single().distributed()).isFalse();
    }

    @Test
    void an_indexed_job_names_the_rank_by_its_completion_index() {
        Map<String, String> job = Map.of(
                "JOB_COMPLETION_INDEX", "1",
                "WORLD_SIZE", "2",
                "MASTER_ADDR", "trainer-job-0.trainer-job",
                "MASTER_PORT", "29500");
        assertThat(RankEnvironment.of(job))
                .isEqualTo(new RankEnvironment(1, 2, "trainer-job-0.trainer-job", 29_500, 0));
    }

    @Test
    void every_missing_variable_is_named_at_once() {
        assertThatThrownBy(() -> RankEnvironment.of(with("MASTER_ADDR", "", "MASTER_PORT", "", "LOCAL_RANK", "")))
                .isInstanceOf(DistributedException.class)
                .hasMessageContaining("MASTER_ADDR is missing")
                .hasMessageContaining("MASTER_PORT is missing")
                .hasMessageContaining("LOCAL_RANK is missing");
        assertThatThrownBy(() -> RankEnvironment.of(with("WORLD_SIZE", "")))
                .hasMessageContaining("WORLD_SIZE is missing, though RANK is set");
        assertThatThrownBy(() -> RankEnvironment.of(with("RANK", "")))
                .hasMessageContaining("RANK is missing, though WORLD_SIZE is 4");
    }

    @Test
    void contradictions_and_wrong_numbers_are_refused() {
        assertThatThrownBy(() -> RankEnvironment.of(with("JOB_COMPLETION_INDEX", "2")))
                .hasMessageContaining("RANK is 3, but JOB_COMPLETION_INDEX is 2");
        assertThatThrownBy(() -> RankEnvironment.of(with("RANK", "4"))).hasMessageContaining("RANK 4 is outside 0 … 3");
        assertThatThrownBy(() -> RankEnvironment.of(with("RANK", "one")))
                .hasMessageContaining("RANK is 'one', not a whole number")
                .message()
                .doesNotContain("missing");
        assertThatThrownBy(() -> RankEnvironment.of(with("MASTER_PORT", "99999")))
                .hasMessageContaining("MASTER_PORT is '99999', not a whole number from 1 to 65535");
        assertThatThrownBy(() -> RankEnvironment.of(with("LOCAL_RANK", "7")))
                .hasMessageContaining("LOCAL_RANK 7 is greater than RANK 3");
        assertThatThrownBy(() -> RankEnvironment.of(with("WORLD_SIZE", "0"))).hasMessageContaining("WORLD_SIZE is '0'");
    }
}
