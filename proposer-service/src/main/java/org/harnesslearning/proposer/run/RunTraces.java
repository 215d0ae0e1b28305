package org.harnesslearning.proposer.run;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.observation.transport.ReceiverContext;
import io.micrometer.observation.transport.SenderContext;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.harnesslearning.contracts.trace.WorkContext;
import org.slf4j.MDC;
import org.springframework.stereotype.Component;

/**
 * Makes one trace of an adaptation: the trace of the request that ordered a run is stored with the run, and whoever works
 * on it, now or after a kill, continues it. The spans below it are named {@code round}, {@code candidate} and so on.
 */
@Component
public class RunTraces {
    private final ObservationRegistry observations;

    RunTraces(ObservationRegistry observations) {
        this.observations = observations;
    }

    /** Names the request that this thread serves, and its trace, for the plan of the run that it orders. */
    public RunPlan.Origin origin() {
        Map<String, String> trace = new TreeMap<>();
        SenderContext<Map<String, String>> context = new SenderContext<>((carrier, key, value) -> {
            if (carrier != null) {
                carrier.put(key, value);
            }
        });
        context.setCarrier(trace);
        Observation.createNotStarted("proposer.order", () -> context, observations)
                .contextualName("order")
                .observe(() -> {});
        return new RunPlan.Origin(MDC.get(WorkContext.REQUEST), trace);
    }

    /** Works on a run inside its trace, with its id and that of the request behind it in the log lines. */
    void work(RunContext run, Runnable work) {
        RunPlan.Origin origin = run.plan().origin() == null
                ? new RunPlan.Origin(null, Map.of())
                : run.plan().origin();
        ReceiverContext<Map<String, String>> context = new ReceiverContext<>(Map::get);
        context.setCarrier(origin.trace());
        try (WorkContext.Fields _ = WorkContext.named(run.id(), origin.requestId())) {
            Observation.createNotStarted("proposer.run", () -> context, observations)
                    .contextualName(run.kind().json())
                    .lowCardinalityKeyValue("kind", run.kind().json())
                    .highCardinalityKeyValue("run.id", run.id())
                    .observe(work);
        }
    }

    /**
     * Does a part of a run inside a span.
     *
     * @param part such as {@code round}; its time is measured as {@code proposer.<part>}
     * @param place which one, such as {@code 1/0}
     */
    public <T> T part(String part, String place, Supplier<T> work) {
        // Not null: the work's own type says so, which the library's signature can't.
        return Objects.requireNonNull(Observation.createNotStarted("proposer." + part, observations)
                .contextualName(part)
                .highCardinalityKeyValue("place", place)
                .observe(work));
    }
}
