package org.harnesslearning.store.execution;

import java.time.Duration;
import java.util.Set;
import org.springframework.jdbc.core.simple.JdbcClient;

/** The executors that live. Times are the database's own, so that machines whose clocks differ agree. */
public final class ExecutorInstances {
    private final JdbcClient jdbc;

    public ExecutorInstances(JdbcClient jdbc) {
        this.jdbc = jdbc;
    }

    /** Names this database among all that executors of one Docker engine may use. */
    public String registry() {
        return jdbc.sql("select id::text from executor_registry")
                .query(String.class)
                .single();
    }

    /** Says that an instance lives now. */
    public void beat(String instance) {
        jdbc.sql("""
                insert into executor_instance (instance, beat_at) values (:instance, now())
                on conflict (instance) do update set beat_at = now()
                """).param("instance", instance).update();
    }

    /** Instances whose last beat is at most this old; those silent for a day are forgotten. */
    public Set<String> living(Duration lostAfter) {
        jdbc.sql("delete from executor_instance where beat_at < now() - interval '1 day'")
                .update();
        // A list: the client's stream would keep its connection until it is closed.
        return Set.copyOf(jdbc.sql(
                        "select instance from executor_instance where beat_at >= now() - make_interval(secs => :seconds)")
                .param("seconds", lostAfter.toMillis() / 1000.0)
                .query(String.class)
                .list());
    }

    /** Forgets an instance that ended. */
    public void leave(String instance) {
        jdbc.sql("delete from executor_instance where instance = :instance")
                .param("instance", instance)
                .update();
    }
}
