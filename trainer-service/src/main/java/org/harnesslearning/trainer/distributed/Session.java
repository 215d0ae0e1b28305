package org.harnesslearning.trainer.distributed;

import java.time.Duration;
import org.harnesslearning.contracts.json.Json;
import org.jspecify.annotations.Nullable;

/**
 * One run's attempt in the store: orders from rank 0, answers to it. A rank that was restarted waits for the next
 * session, since its part of this one is gone.
 */
final class Session {
    private static final String COUNTER = "sessions";
    private static final String DISMISSED = "dismissed";
    private static final Duration FAREWELL = Duration.ofSeconds(15);
    private static final Duration LOOK = Duration.ofMillis(500);

    private final Rendezvous rendezvous;
    private final long number;
    private long orders;

    private Session(Rendezvous rendezvous, long number) {
        this.rendezvous = rendezvous;
        this.number = number;
    }

    /** Begins the next session, at rank 0. */
    static Session begin(Rendezvous rendezvous, SessionPlan plan) {
        long number = rendezvous.add(COUNTER, 1);
        Session session = new Session(rendezvous, number);
        rendezvous.set(session.key("plan"), Json.write(plan));
        return session;
    }

    /**
     * Waits for a session that this rank has not joined yet.
     *
     * @param after number of the last one
     */
    static @Nullable Session next(Rendezvous rendezvous, long after, Duration patience) {
        long number = Math.max(after + 1, rendezvous.add(COUNTER, 0));
        Session session = new Session(rendezvous, number);
        if (rendezvous.poll(session.key("plan"), patience) == null) {
            return null;
        }
        // The first to say so takes the rank's place; one that was restarted since finds it taken.
        boolean free = rendezvous.add(session.joined(rendezvous.place().rank()), 1) == 1;
        boolean current = rendezvous.add(COUNTER, 0) == number;
        return free && current ? session : next(rendezvous, number, patience);
    }

    /** Rank 0: no session will follow; returns when the others know, or after some seconds. */
    static void dismiss(Rendezvous rendezvous) {
        rendezvous.set(DISMISSED, "yes");
        for (int rank = 1; rank < rendezvous.place().size(); rank++) {
            rendezvous.poll(DISMISSED + "/" + rank, FAREWELL);
        }
    }

    /** Another rank: whether no session will follow. */
    static boolean dismissed(Rendezvous rendezvous) {
        if (rendezvous.poll(DISMISSED, Duration.ZERO) == null) {
            return false;
        }
        rendezvous.set(DISMISSED + "/" + rendezvous.place().rank(), "yes");
        return true;
    }

    long number() {
        return number;
    }

    SessionPlan plan() {
        return Json.read(
                rendezvous.await(key("plan"), rendezvous.settings().joinTimeout(), "the plan of the session"),
                SessionPlan.class);
    }

    String groupPrefix() {
        return key("group");
    }

    /** Rank 0: waits until all ranks have taken their places. */
    void awaitMembers() {
        for (int rank = 1; rank < rendezvous.place().size(); rank++) {
            rendezvous.await(
                    joined(rank), rendezvous.settings().joinTimeout(), "rank " + rank + " to join; is it started?");
        }
    }

    private String joined(int rank) {
        return key("joined/" + rank);
    }

    /** Rank 0: the orders that follow have the next number. */
    void nextOrder() {
        orders++;
    }

    /** Rank 0: gives one rank its part of the current order. */
    void give(int rank, Order order) {
        rendezvous.set(key("order/" + orders + "/" + rank), Json.write(order));
    }

    /** Rank 0: waits for a rank's answer to the current order. */
    Answer answer(int rank, Duration patience) {
        String key = key("answer/" + orders + "/" + rank);
        Answer answer = Json.read(rendezvous.await(key, patience, "rank " + rank), Answer.class);
        rendezvous.delete(key);
        if (answer.fault() != null) {
            throw new DistributedException("rank " + rank + " failed: " + answer.fault());
        }
        return answer;
    }

    /** Another rank: waits for its part of the next order, however long rank 0 samples meanwhile. */
    Order take() {
        orders++;
        String key = key("order/" + orders + "/" + rendezvous.place().rank());
        while (true) {
            String order = rendezvous.poll(key, LOOK);
            if (order != null) {
                rendezvous.delete(key);
                return Json.read(order, Order.class);
            }
            if (rendezvous.add(COUNTER, 0) != number) {
                throw new DistributedException("rank 0 has begun another session");
            }
        }
    }

    /** Another rank: answers the current order. */
    void give(Answer answer) {
        rendezvous.set(key("answer/" + orders + "/" + rendezvous.place().rank()), Json.write(answer));
    }

    private String key(String name) {
        return "session/" + number + "/" + name;
    }
}
