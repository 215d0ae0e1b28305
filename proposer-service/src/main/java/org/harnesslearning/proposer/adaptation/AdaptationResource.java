package org.harnesslearning.proposer.adaptation;

import java.util.LinkedHashMap;
import java.util.Map;
import org.harnesslearning.contracts.access.Caller;
import org.harnesslearning.proposer.run.RunView;
import org.harnesslearning.store.run.RunRow;
import org.springframework.stereotype.Component;

/** The adaptation as clients see it. */
@Component
public class AdaptationResource {
    private final RunView view;

    AdaptationResource(RunView view) {
        this.view = view;
    }

    /** The whole resource. */
    public Map<String, Object> of(RunRow run, Caller caller) {
        Map<String, Object> fields = new LinkedHashMap<>(view.head(run, caller));
        fields.put("baseline", view.baseline(run));
        fields.put("rounds", view.rounds(run));
        fields.put("counts", view.counts(run));
        fields.put("result", run.result());
        fields.put("recorded", run.recorded());
        fields.put("usage", view.usage(run));
        fields.put("lineage_hash", run.lineageHash());
        String self = "/adaptations/" + run.id();
        fields.put("links", Map.of("self", self, "events", self + "/events", "report", self + "/report"));
        return fields;
    }
}
