package org.harnesslearning.tasks;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.TreeMap;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.task.ScorerRef;

/** The scorers that a process knows, by name. */
public final class Scorers {
    /** Name of the scorer of Reasoning Gym families; it works in a sandbox, so only the executor has it. */
    public static final String REASONING_GYM = "reasoning_gym";

    /**
     * Version of {@link #REASONING_GYM}: the library's release and our wrapper's revision. A constant here, so that a
     * process without the sandbox can name it too.
     */
    public static final String REASONING_GYM_VERSION = "0.1.25-1";

    private final SequencedMap<String, ScorerFactory> factories;

    private Scorers(Collection<ScorerFactory> factories) {
        SequencedMap<String, ScorerFactory> map = new LinkedHashMap<>();
        for (ScorerFactory factory : factories) {
            if (map.put(factory.name(), factory) != null) {
                throw new IllegalArgumentException("two scorers are named " + factory.name());
            }
        }
        this.factories = map;
    }

    /** The scorers of own tasks, all pure computations in this process. */
    public static Scorers own() {
        return new Scorers(OwnScorers.ALL);
    }

    /** These scorers and one more. */
    public Scorers with(ScorerFactory factory) {
        List<ScorerFactory> all = new ArrayList<>(factories.values());
        all.add(factory);
        return new Scorers(all);
    }

    /** Names in their documented order. */
    public List<String> names() {
        return List.copyOf(factories.keySet());
    }

    /**
     * The scorer that a reference names.
     *
     * @throws PlatformException INVALID_FIELD with a pointer relative to the scorer ({@code /name}, {@code /options/…})
     *     for an unknown name or option; INTERNAL when the reference asks for another version than this process has,
     *     since scores of two versions must never be mixed
     */
    public Scorer forRef(ScorerRef ref) {
        ScorerFactory factory = factory(ref.name());
        if (!factory.version().equals(ref.version())) {
            throw new PlatformException(
                    ErrorCode.INTERNAL,
                    "the scorer " + ref.name() + " is wanted in version " + ref.version() + ", this process has "
                            + factory.version());
        }
        return create(factory, ref.options());
    }

    /**
     * A reference to a scorer in the version of this process.
     *
     * @throws PlatformException INVALID_FIELD as {@link #forRef(ScorerRef)}
     */
    public ScorerRef ref(String name, Map<String, Object> options) {
        ScorerFactory factory = factory(name);
        create(factory, options);
        return new ScorerRef(name, factory.version(), options);
    }

    private static Scorer create(ScorerFactory factory, Map<String, Object> options) {
        try {
            return factory.create(options);
        } catch (ScorerFactory.InvalidOptionException e) {
            throw PlatformException.field(
                    ErrorCode.INVALID_FIELD,
                    "/options/" + e.option().replace("~", "~0").replace("/", "~1"),
                    "scorer " + factory.name() + ": " + e.getMessage());
        }
    }

    private ScorerFactory factory(String name) {
        ScorerFactory factory = factories.get(name);
        if (factory == null) {
            throw PlatformException.field(
                    ErrorCode.INVALID_FIELD,
                    "/name",
                    "there is no scorer \"" + Texts.clip(name) + "\"; known are "
                            + String.join(", ", new TreeMap<>(factories).keySet()));
        }
        return factory;
    }
}
