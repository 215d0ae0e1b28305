package org.harnesslearning.trainer.sft;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.revision.RoundPrompt;
import org.harnesslearning.store.sample.CorpusRow;
import org.harnesslearning.store.sample.CorpusStore;
import org.harnesslearning.store.sample.GroupRow;
import org.harnesslearning.store.sample.GroupStore;
import org.harnesslearning.trainer.method.ModelTokens;
import org.harnesslearning.trainer.rollout.Answers;
import org.harnesslearning.trainer.rollout.Collector;
import org.harnesslearning.trainer.rollout.Curriculum;
import org.harnesslearning.trainer.rollout.Revisions;
import org.harnesslearning.trainer.rollout.TeacherRevisions;
import org.harnesslearning.trainer.run.TrainingContext;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * Gathers a corpus: every teacher edits every state, each edit is executed, filtered in order, and stored with its
 * provenance, accepted or not. What is stored is not asked for again.
 */
final class CorpusBuilder {
    private final TrainingContext context;
    private final SftSettings settings;
    private final Curriculum curriculum;
    private final ModelTokens tokens;
    private final TeacherRevisions teachers;
    private final Revisions revisions;
    private final CorpusStore corpus;
    private final GroupStore groups;
    private final TransactionTemplate tx;

    /** Units that an earlier start had ordered or was about to. */
    private final Set<Long> takenUp = new HashSet<>();

    CorpusBuilder(
            TrainingContext context,
            SftSettings settings,
            Curriculum curriculum,
            ModelTokens tokens,
            TeacherRevisions teachers,
            Revisions revisions,
            CorpusStore corpus,
            GroupStore groups,
            TransactionTemplate tx) {
        this.context = context;
        this.settings = settings;
        this.curriculum = curriculum;
        this.tokens = tokens;
        this.teachers = teachers;
        this.revisions = revisions;
        this.corpus = corpus;
        this.groups = groups;
        this.tx = tx;
    }

    /**
     * Gathers what is missing.
     *
     * @throws PlatformException of type RESOURCES when too many revisions failed in a row
     */
    void build() {
        CorpusFilter filter = new CorpusFilter(settings.minGain(), settings.deduplicate() == SftSettings.Scope.CORPUS);
        Set<Long> stored = new HashSet<>();
        for (CorpusRow row : corpus.all(context.run())) {
            stored.add(unit(row.position()));
            String hash = row.diffHash();
            if (row.accepted() && hash != null) {
                filter.first(hash, row.family(), row.harness());
            }
        }
        List<Long> open = new ArrayList<>();
        for (long unit = 0;
                unit < (long) settings.states() * settings.teachers().size();
                unit++) {
            if (!stored.contains(unit)) {
                open.add(unit);
            }
        }
        open.stream()
                .filter(unit -> groups.find(context.run(), unit + 1).isPresent())
                .forEach(takenUp::add);
        try (Collector<TeacherRevisions.Taught> collector =
                new Collector<>(settings.groupsInFlight(), settings.failuresInRow(), context.desk())) {
            gather(open, collector, filter);
        }
    }

    private void gather(List<Long> open, Collector<TeacherRevisions.Taught> collector, CorpusFilter filter) {
        int begun = 0;
        for (int next = 0; next < open.size(); next++) {
            // Some more than fit at once, so that a slow one does not leave the others without work.
            while (begun < open.size() && begun < next + 2 * settings.groupsInFlight() && !spent()) {
                begin(open.get(begun++), collector);
            }
            if (next >= begun) {
                context.desk().event("corpus.cut", Map.of("states_left", open.size() - next));
                return;
            }
            long unit = open.get(next);
            try {
                List<TeacherRevisions.Taught> sampled =
                        collector.await(List.of(unit)).sampled();
                sampled.forEach(taught -> store(unit, taught, filter));
                if (sampled.isEmpty() && takenUp.remove(unit)) {
                    // What an earlier start had ordered fell into the outage that ended it: not this start's failure.
                    begin(unit, collector);
                    next--;
                }
            } catch (PlatformException e) {
                open.forEach(left -> groups.renew(context.run(), left));
                throw e;
            }
        }
    }

    private void begin(long unit, Collector<TeacherRevisions.Taught> collector) {
        SftSettings.Teacher teacher =
                settings.teachers().get((int) (unit % settings.teachers().size()));
        GroupRow group = teachers.order(
                context,
                settings.rollout(),
                curriculum,
                unit + 1,
                unit / settings.teachers().size(),
                teacher.model(),
                teacher.demonstrations(),
                settings.candidates());
        if (group.state() == GroupRow.State.FAILED) {
            groups.renew(context.run(), unit);
            group = groups.find(context.run(), unit + 1).orElseThrow();
        }
        GroupRow ordered = group;
        collector.begin(
                unit, () -> teachers.teach(ordered, Duration.ofSeconds(settings.groupPatienceS()), context.desk()));
    }

    private boolean spent() {
        GroupStore.Spent spent = groups.spent(context.run());
        return spent.calls() >= context.budget().solverCalls()
                || spent.tokens() >= context.budget().tokens();
    }

    private long unit(long position) {
        return position / settings.candidates();
    }

    private void store(long unit, TeacherRevisions.Taught taught, CorpusFilter filter) {
        CorpusFilter.Parent parent = new CorpusFilter.Parent(
                taught.group().family(), taught.revision().parent(), taught.parentScore(), taught.noise());
        List<CorpusRow> rows = new ArrayList<>();
        RoundPrompt prompt = null;
        for (Answers.Candidate candidate : taught.revision().candidates()) {
            String reason = filter.judge(candidate, parent).orElse(null);
            Text text = null;
            if (reason == null) {
                if (prompt == null) {
                    prompt = revisions.prompt(taught.revision().run(), 1, context.desk());
                }
                text = text(prompt, candidate);
                reason = length(text)
                        .or(() -> filter.first(hash(candidate), parent.family(), parent.harness())
                                ? Optional.empty()
                                : Optional.of("duplicate"))
                        .orElse(null);
            }
            rows.add(row(unit, taught, parent, candidate, reason == null ? text : null, reason));
        }
        tx.executeWithoutResult(status -> rows.forEach(row -> corpus.add(context.run(), row)));
    }

    private record Text(RoundPrompt prompt, int[] promptIds, int[] completionIds) {}

    private Text text(RoundPrompt prompt, Answers.Candidate candidate) {
        return new Text(
                prompt,
                tokens.prompt(prompt.messages(), prompt.continued()),
                tokens.reply(Objects.requireNonNull(candidate.reply()), candidate.tokenIds()));
    }

    private Optional<String> length(Text text) {
        return text.completionIds().length > settings.maxReplyTokens()
                        || text.promptIds().length + text.completionIds().length > settings.maxTokens()
                ? Optional.of("too_long")
                : Optional.empty();
    }

    private static String hash(Answers.Candidate candidate) {
        return EditDiff.hash(Objects.requireNonNull(candidate.diff())).orElseThrow();
    }

    private CorpusRow row(
            long unit,
            TeacherRevisions.Taught taught,
            CorpusFilter.Parent parent,
            Answers.Candidate candidate,
            @Nullable Text text,
            @Nullable String reason) {
        Answers.Revision revision = taught.revision();
        return new CorpusRow(
                unit * settings.candidates() + candidate.candidate(),
                revision.run(),
                1,
                candidate.candidate(),
                parent.family(),
                parent.harness(),
                taught.group().model(),
                candidate.demonstration(),
                revision.promptVersion(),
                revision.reportVersion(),
                revision.descriptionsVersion(),
                text == null ? null : text.prompt().messages(),
                text != null && text.prompt().continued(),
                candidate.reply(),
                text == null ? null : list(text.promptIds()),
                text == null ? null : list(text.completionIds()),
                candidate.diff() == null
                        ? null
                        : EditDiff.hash(candidate.diff()).orElse(null),
                candidate.mean(),
                parent.score(),
                parent.noise(),
                reason,
                reason == null ? fold(parent) : null);
    }

    /** All edits of a family and harness stand on the same side. */
    private CorpusRow.Fold fold(CorpusFilter.Parent parent) {
        String hash = Hashes.sha256(
                (context.seed() + " " + parent.family() + " " + parent.harness()).getBytes(StandardCharsets.UTF_8));
        String digits = hash.substring(hash.indexOf(':') + 1);
        double place = Long.parseLong(digits.substring(0, 8), 16) / 4294967296.0;
        return place < settings.heldOutShare() ? CorpusRow.Fold.HELD_OUT : CorpusRow.Fold.TRAIN;
    }

    private static List<Integer> list(int[] ids) {
        List<Integer> list = new ArrayList<>(ids.length);
        for (int id : ids) {
            list.add(id);
        }
        return list;
    }
}
