package org.harnesslearning.executor.sandbox;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.github.dockerjava.api.async.ResultCallback;
import com.github.dockerjava.api.model.Event;
import com.github.dockerjava.api.model.EventType;
import com.sun.management.ThreadMXBean;
import com.sun.management.UnixOperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.harnesslearning.executor.TestSandboxes;

/**
 * What jobs leave behind: at the engine, on this machine, and in this process, which stands for an executor. The engine
 * tells of every container that it makes for an owner, however short it lives. Processes, folders, mounts and control groups
 * are looked for on this machine; an engine elsewhere shows none.
 */
final class Footprint implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final long HEAP_BYTES = 8 << 20;
    private static final long DIRECT_BYTES = 8 << 20;
    private static final long THREADS = 8;
    private static final long DESCRIPTORS = 64; // connections to the engine stay open to be used again, 48 at most

    private final Set<String> made = ConcurrentHashMap.newKeySet();
    private final ResultCallback.Adapter<Event> events = new ResultCallback.Adapter<>() {
        @Override
        public void onNext(Event event) {
            made.add(Objects.requireNonNull(event.getId()));
        }
    };
    private final Set<String> networks = networks();
    private final Path root;
    private final Own before;

    /** What this process holds. */
    private record Own(long heap, long direct, long threads, long descriptors) {
        static Own now() {
            System.gc();
            return new Own(
                    ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed(),
                    ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                            .mapToLong(BufferPoolMXBean::getMemoryUsed)
                            .sum(),
                    ManagementFactory.getThreadMXBean().getThreadCount(),
                    ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean unix
                            ? unix.getOpenFileDescriptorCount()
                            : 0);
        }

        boolean within(Own limit) {
            return heap <= limit.heap + HEAP_BYTES
                    && direct <= limit.direct + DIRECT_BYTES
                    && threads <= limit.threads + THREADS
                    && descriptors <= limit.descriptors + DESCRIPTORS;
        }
    }

    /** Looks at how things are; the code of a usual job should have run before. */
    Footprint(String owner) {
        root = Path.of(
                Objects.requireNonNull(TestSandboxes.client().infoCmd().exec().getDockerRootDir()));
        TestSandboxes.client()
                .eventsCmd()
                .withEventTypeFilter(EventType.CONTAINER)
                .withEventFilter("create")
                .withLabelFilter(Map.of(DockerEngine.OWNER, owner))
                .exec(events);
        try {
            assertThat(events.awaitStarted(30, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        before = Own.now();
    }

    /** Ids of all containers that the engine has made for the owner since. */
    Set<String> made() {
        return Set.copyOf(made);
    }

    /**
     * Waits until no process, folder, mount, control group or network of the containers is left, and what this process holds
     * is as it was.
     */
    void assertNothingLeft() {
        await("processes")
                .atMost(PATIENCE)
                .untilAsserted(() -> assertThat(processes(made)).isEmpty());
        await("files").atMost(PATIENCE).untilAsserted(() -> assertThat(files()).isEmpty());
        assertThat(networks()).as("networks").isEqualTo(networks);
        await("memory, threads and descriptors of this process")
                .atMost(PATIENCE)
                .untilAsserted(() -> assertThat(Own.now()).matches(own -> own.within(before), "as before: " + before));
    }

    /** Networks of the engine, without those that are told to be of others. */
    private static Set<String> networks() {
        return TestSandboxes.client().listNetworksCmd().exec().stream()
                .filter(network ->
                        network.getLabels() == null || network.getLabels().isEmpty())
                .map(network -> network.getName())
                .collect(Collectors.toSet());
    }

    /** Processes of this machine that belong to one of these containers, by their control groups. */
    static List<String> processes(Collection<String> containers) {
        List<String> found = new ArrayList<>();
        try (DirectoryStream<Path> processes = Files.newDirectoryStream(Path.of("/proc"), "[0-9]*")) {
            for (Path process : processes) {
                try {
                    String groups = Files.readString(process.resolve("cgroup"));
                    if (containers.stream().anyMatch(groups::contains)) {
                        found.add(process.getFileName().toString());
                    }
                } catch (IOException e) {
                    // It ended meanwhile.
                }
            }
        } catch (IOException e) {
            throw new AssertionError(e);
        }
        return found;
    }

    /** The engine's folders of the containers, their mounts and control groups. */
    private List<String> files() throws IOException {
        List<String> found = new ArrayList<>();
        try (Stream<String> mounts = Files.lines(Path.of("/proc/self/mounts"))) {
            mounts.filter(mount -> made.stream().anyMatch(mount::contains)).forEach(found::add);
        }
        for (String id : made) {
            Stream.of(
                            root.resolve("containers").resolve(id),
                            Path.of("/sys/fs/cgroup/memory/docker", id),
                            Path.of("/sys/fs/cgroup/pids/docker", id),
                            Path.of("/sys/fs/cgroup/docker", id),
                            Path.of("/sys/fs/cgroup/system.slice/docker-" + id + ".scope"))
                    .filter(Files::exists)
                    .map(Path::toString)
                    .forEach(found::add);
        }
        return found;
    }

    /** Bytes that all threads of this process have allocated; unlike the heap's size it hides nothing between collections. */
    static long allocated() {
        return ((ThreadMXBean) ManagementFactory.getThreadMXBean()).getTotalThreadAllocatedBytes();
    }

    @Override
    public void close() throws IOException {
        events.close();
    }
}
