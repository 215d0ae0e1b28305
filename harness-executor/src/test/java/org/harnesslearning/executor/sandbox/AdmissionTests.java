package org.harnesslearning.executor.sandbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.harnesslearning.executor.sandbox.Admission.Decision;
import org.harnesslearning.executor.sandbox.Admission.Demand;
import org.harnesslearning.executor.sandbox.Admission.Load;
import org.junit.jupiter.api.Test;

class AdmissionTests {
    private static final Demand USUAL = new Demand(256, 1);
    private final Admission admission = new Admission(4, 1024, 3, 2);

    @Test
    void a_job_starts_while_containers_memory_and_processors_last() {
        assertThat(admission.decide(Load.NONE, USUAL, 5)).isEqualTo(new Decision.Start());
        assertThat(admission.decide(new Load(2, 512, 2, 0), USUAL, 5)).isEqualTo(new Decision.Start());
        assertThat(admission.decide(new Load(4, 4, 0.1, 0), USUAL, 5))
                .as("containers")
                .isEqualTo(new Decision.Queue());
        assertThat(admission.decide(new Load(1, 800, 1, 0), USUAL, 5))
                .as("memory")
                .isEqualTo(new Decision.Queue());
        assertThat(admission.decide(new Load(3, 300, 3, 0), USUAL, 5))
                .as("processors")
                .isEqualTo(new Decision.Queue());
        assertThat(admission.decide(new Load(1, 768, 1, 0), USUAL, 5))
                .as("exactly full")
                .isEqualTo(new Decision.Start());
    }

    @Test
    void nobody_overtakes_those_who_wait() {
        assertThat(admission.decide(new Load(1, 256, 1, 1), USUAL, 5)).isEqualTo(new Decision.Queue());
    }

    @Test
    void a_full_queue_refuses_and_says_when_it_will_have_moved() {
        assertThat(admission.decide(new Load(3, 768, 3, 2), USUAL, 6)).isEqualTo(new Decision.Refuse(4));
        assertThat(admission.decide(new Load(3, 768, 3, 2), USUAL, 0.01)).isEqualTo(new Decision.Refuse(1));
        assertThat(admission.decide(new Load(3, 768, 3, 2), USUAL, 1e9)).isEqualTo(new Decision.Refuse(60));
    }

    @Test
    void a_job_larger_than_the_host_runs_alone() {
        Demand large = new Demand(4096, 8);
        assertThat(admission.decide(Load.NONE, large, 5)).isEqualTo(new Decision.Start());
        assertThat(admission.decide(new Load(1, 256, 1, 0), large, 5)).isEqualTo(new Decision.Queue());
        assertThat(admission.fits(Load.NONE.started(large), USUAL)).isFalse();
    }

    @Test
    void load_adds_up() {
        Load load = Load.NONE
                .started(USUAL)
                .started(new Demand(512, 0.5))
                .ended(USUAL)
                .queued(3);
        assertThat(load).isEqualTo(new Load(1, 512, 0.5, 3));
    }

    @Test
    void a_capacity_of_nothing_is_refused() {
        assertThatThrownBy(() -> new Admission(0, 1024, 1, 1)).isInstanceOf(IllegalArgumentException.class);
    }
}
