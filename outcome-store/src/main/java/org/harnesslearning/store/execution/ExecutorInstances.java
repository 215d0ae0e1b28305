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

    /**
     * What an instance does now.
     *
     * @param running jobs that hold a container
     * @param waiting jobs that wait for one
     * @param idle started containers that are ready
     * @param starting containers on their way
     */
    public record Occupancy(int running, int waiting, int idle, int starting) {}

    /** Tells what a living instance does now; nothing for one that has not beaten yet. */
    public void occupied(String instance, Occupancy occupancy) {
        jdbc.sql("""
                        update executor_instance set running = :running, waiting = :waiting, idle = :idle, starting = :starting
                        where instance = :instance
                        """)
                .param("instance", instance)
                .param("running", occupancy.running())
                .param("waiting", occupancy.waiting())
                .param("idle", occupancy.idle())
                .param("starting", occupancy.starting())
                .update();
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
