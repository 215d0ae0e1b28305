package org.harnesslearning.contracts.trace;

import io.micrometer.context.ContextSnapshot;
import io.micrometer.context.ContextSnapshotFactory;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.MDC;

/**
 * The log fields and the current observation of a thread, to be taken over by another one. Threads of pools and virtual
 * threads inherit neither.
 */
public final class WorkContext {
    /** Log field with the id of the run that the work is for. */
    public static final String RUN = "run_id";

    /** Log field with the id of the request that the work is for. */
    public static final String REQUEST = "request_id";

    private static final List<String> FIELDS = List.of(RUN, REQUEST);
    private static final Pattern PLAIN = Pattern.compile("[A-Za-z0-9._-]{1,64}");
    private static final ContextSnapshotFactory SNAPSHOTS =
            ContextSnapshotFactory.builder().build();

    private final Map<String, @Nullable String> fields = new LinkedHashMap<>();
    private final ContextSnapshot snapshot;

    private WorkContext() {
        FIELDS.forEach(field -> fields.put(field, MDC.get(field)));
        this.snapshot = SNAPSHOTS.captureAll();
    }

    /** That of this thread. */
    public static WorkContext current() {
        return new WorkContext();
    }

    /** The work with this context around it. */
    public Runnable wrap(Runnable work) {
        return () -> {
            try (Fields _ = new Fields(fields);
                    ContextSnapshot.Scope _ = snapshot.setThreadLocals()) {
                work.run();
            }
        };
    }

    /** The work with this context around it. */
    public <T> Callable<T> wrap(Callable<T> work) {
        return () -> {
            try (Fields _ = new Fields(fields);
                    ContextSnapshot.Scope _ = snapshot.setThreadLocals()) {
                return work.call();
            }
        };
    }

    /** Id of the run that this thread works for; null where it works for none. */
    public static @Nullable String run() {
        return MDC.get(RUN);
    }

    /** Names run and request in the log lines of this thread until the result is closed; null leaves a field as it is. */
    public static Fields named(@Nullable String run, @Nullable String request) {
        Map<String, @Nullable String> fields = new LinkedHashMap<>();
        if (run != null) {
            fields.put(RUN, run);
        }
        if (request != null) {
            fields.put(REQUEST, request);
        }
        return new Fields(fields);
    }

    /** Whether an id that came over the network can stand in logs as it is. */
    public static boolean plain(@Nullable String id) {
        return id != null && PLAIN.matcher(id).matches();
    }

    /** Fields that are set; closing restores what was there before. */
    public static final class Fields implements AutoCloseable {
        private final Map<String, @Nullable String> before = new LinkedHashMap<>();

        private Fields(Map<String, @Nullable String> fields) {
            fields.forEach((field, value) -> {
                before.put(field, MDC.get(field));
                set(field, value);
            });
        }

        private static void set(String field, @Nullable String value) {
            if (value == null) {
                MDC.remove(field);
            } else {
                MDC.put(field, value);
            }
        }

        @Override
        public void close() {
            before.forEach(Fields::set);
        }
    }
}
