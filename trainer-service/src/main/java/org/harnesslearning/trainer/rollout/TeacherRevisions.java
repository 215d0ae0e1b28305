package org.harnesslearning.trainer.rollout;

import java.time.Duration;
import java.util.Map;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.task.Split;
import org.harnesslearning.store.sample.GroupRow;
import org.harnesslearning.store.sample.GroupStore;
import org.harnesslearning.trainer.run.TrainingContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.stereotype.Component;
import tools.jackson.databind.node.ObjectNode;

/** Revisions by teachers, executed, with two scorings of the parent beside them. */
@Component
public class TeacherRevisions {
    private static final Logger LOG = LoggerFactory.getLogger(TeacherRevisions.class);
    private static final String NO_REWARD = "none";

    private final Revisions revisions;
    private final Answers answers;
    private final Groups groups;
    private final GroupStore store;

    TeacherRevisions(Revisions revisions, Answers answers, Groups groups, GroupStore store) {
        this.revisions = revisions;
        this.answers = answers;
        this.groups = groups;
        this.store = store;
    }

    /**
     * What a teacher made of a state.
     *
     * @param parentScore of the parent on the dev questions
     * @param noise absolute difference to a second scoring
     */
    public record Taught(GroupRow group, Answers.Revision revision, double parentScore, double noise) {}

    /** Stores the order of a revision, unless it is stored already. */
    public GroupRow order(
            TrainingContext context,
            RolloutSettings settings,
            Curriculum curriculum,
            long number,
            long state,
            String teacher,
            String demonstrations,
            int candidates) {
        Curriculum.Start start = curriculum.start(state);
        long itemSeed = curriculum.itemSeed(state + 1);
        long samplingSeed = curriculum.samplingSeed(number);
        return store.order(new GroupRow(
                context.run(),
                number,
                number - 1,
                0,
                0,
                start.family(),
                itemSeed,
                samplingSeed,
                Hashes.harness(start.harness()),
                teacher,
                "",
                0,
                NO_REWARD,
                Requests.revision(
                        settings,
                        context.baseModel(),
                        start.family(),
                        itemSeed,
                        start.harness(),
                        teacher,
                        demonstrations,
                        candidates,
                        samplingSeed,
                        context.run()),
                GroupRow.State.ORDERED,
                null,
                0,
                null,
                null,
                null));
    }

    /**
     * Has the revision made, or takes it up where it stands.
     *
     * @throws RolloutFailure when it came to nothing; it is asked for again after {@link GroupStore#renew}
     */
    public Taught teach(GroupRow group, Duration patience, TrainingContext.Desk desk) {
        String key = group.trainingRun() + "-t" + group.number() + "-a" + group.attempt();
        try {
            String run = group.run();
            if (run == null) {
                run = revisions.revise(group.request(), key, desk);
                store.run(group.trainingRun(), group.number(), run);
            }
            Answers.Revision revision = answers.revision(
                    revisions.await(run, "revision of " + group.family() + " by " + group.model(), patience, desk));
            ObjectNode request = (ObjectNode) group.request();
            double score = groups.evaluate(request, revision.parent(), Split.DEV, 0, key, patience, desk);
            double again = groups.evaluate(request, revision.parent(), Split.DEV, 1, key, patience, desk);
            desk.event(
                    "teacher.finished",
                    Map.of("run", run, "family", group.family(), "teacher", group.model(), "parent_score", score));
            return new Taught(group, revision, score, Math.abs(score - again));
        } catch (RolloutFailure e) {
            store.failed(group.trainingRun(), group.number(), e.why());
            LOG.warn("{} teacher {} failed: {}", group.trainingRun(), group.model(), e.why());
            throw e;
        }
    }
}
