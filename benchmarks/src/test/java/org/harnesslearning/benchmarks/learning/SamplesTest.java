package org.harnesslearning.benchmarks.learning;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.IntStream;
import org.harnesslearning.contracts.json.Json;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** Which samples are stored while a run goes on: from a platform that speaks the API's contract, two groups a page. */
class SamplesTest {
    private static final int PAGE = 2;
    private static final int GROUPS_A_BATCH = 3;

    @TempDir
    private Path folder;

    private final ByteArrayOutputStream said = new ByteArrayOutputStream();
    private final Queue<String> asked = new ConcurrentLinkedQueue<>();

    /** Answers that are no success, by path. */
    private final Map<String, Integer> refused = new ConcurrentHashMap<>();

    private HttpServer server;
    private int ordered;

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        server.createContext("/", this::answer);
        server.start();
    }

    @AfterEach
    void stop() {
        server.stop(0);
    }

    private void answer(HttpExchange exchange) throws IOException {
        String path = exchange.getRequestURI().getPath();
        asked.add(path);
        Integer status = refused.get(path);
        Object body;
        if (status != null) {
            body = Map.of("code", "SOME_CODE", "detail", "there is a reason");
        } else if (path.startsWith("/revisions/")) {
            String revision = path.substring(path.lastIndexOf('/') + 1);
            // The order of candidates is not promised.
            body = Map.of("candidates", List.of(candidate(revision, 1), candidate(revision, 0)));
        } else {
            int after = Integer.parseInt(exchange.getRequestURI().getQuery().replaceAll(".*after=(\\d+).*", "$1"));
            int end = Math.min(ordered, after + PAGE);
            Map<String, Object> page = new TreeMap<>();
            page.put(
                    "data",
                    IntStream.rangeClosed(after + 1, end)
                            .mapToObj(SamplesTest::group)
                            .toList());
            page.put("next_after", end < ordered ? end : null);
            body = page;
        }
        byte[] bytes = Json.write(body).getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(status == null ? 200 : status, bytes.length);
        exchange.getResponseBody().write(bytes);
        exchange.close();
    }

    private static Map<String, Object> candidate(String revision, int index) {
        return Map.of("index", index, "reply", "reply " + index + " of " + revision, "diff", "+ " + index);
    }

    private static Map<String, Object> group(int number) {
        boolean failed = number == 2;
        return Map.of(
                "number",
                number,
                "batch",
                (number - 1) / GROUPS_A_BATCH,
                "state",
                failed ? "failed" : "sampled",
                "run",
                "rev_" + number,
                "samples",
                failed ? List.of() : List.of(Map.of("candidate", 0), Map.of("candidate", 1)));
    }

    /** A new start of the stage looks once. */
    private void read(int done, int iterations, boolean last) {
        String url = "http://127.0.0.1:" + server.getAddress().getPort();
        try (Experiment experiment = new Experiment(
                folder,
                new PlatformClient(url, "key"),
                "tiny",
                new PrintStream(said, true, StandardCharsets.UTF_8),
                new Jobs.Deadline(1),
                Duration.ofMillis(10))) {
            new Samples(experiment, "grpo").read("trn_1", 10, done, iterations, last);
        }
    }

    private List<JsonNode> stored() {
        return new RawFile(folder, Experiment.SAMPLES).lines("group");
    }

    private List<Integer> numbers() {
        return stored().stream().map(group -> group.path("number").asInt(0)).toList();
    }

    @Test
    void groups_are_stored_with_replies_once_their_batch_is_done_and_never_twice() {
        ordered = 7;
        read(0, 1, false);
        assertThat(asked)
                .as("before the first step there is nothing to ask for")
                .isEmpty();
        read(1, 1, false);
        assertThat(numbers()).containsExactly(1, 2, 3);
        read(2, 1, false);
        read(2, 1, true);
        assertThat(numbers()).containsExactly(1, 2, 3, 4, 5, 6);
        assertThat(asked.stream().filter(path -> path.startsWith("/revisions/")))
                .as("each revision is read once, that of a failed group never")
                .containsExactly(
                        "/revisions/rev_1",
                        "/revisions/rev_3",
                        "/revisions/rev_4",
                        "/revisions/rev_5",
                        "/revisions/rev_6");
        JsonNode group = stored().getLast();
        assertThat(group.path("stage").asString("")).isEqualTo("grpo");
        assertThat(group.path("training_run").asString("")).isEqualTo("trn_1");
        assertThat(group.path("step").asInt(0)).isEqualTo(12);
        assertThat(group.at("/samples/1/reply").asString("")).isEqualTo("reply 1 of rev_6");
        assertThat(group.at("/samples/0/diff").asString("")).isEqualTo("+ 0");
        assertThat(said.toString(StandardCharsets.UTF_8)).isEmpty();
    }

    @Test
    void several_steps_on_a_batch_belong_to_the_same_groups() {
        ordered = 9;
        read(2, 2, false);
        assertThat(numbers()).containsExactly(1, 2, 3);
        read(3, 2, false);
        assertThat(numbers()).containsExactly(1, 2, 3, 4, 5, 6);
        assertThat(stored().getLast().path("step").asInt(0)).isEqualTo(13);
    }

    @Test
    void a_revision_that_is_gone_leaves_its_group_without_replies() {
        ordered = 3;
        refused.put("/revisions/rev_1", 404);
        read(1, 1, false);
        assertThat(numbers()).containsExactly(1, 2, 3);
        assertThat(stored().getFirst().path("unread").asString("")).contains("404", "there is a reason");
        assertThat(stored().getFirst().at("/samples/0").has("reply")).isFalse();
        assertThat(stored().getLast().has("unread")).isFalse();
        assertThat(said.toString(StandardCharsets.UTF_8)).contains("group 1 is stored without replies");
    }

    @Test
    void what_can_not_be_read_for_now_is_left_for_the_next_time_without_waiting() {
        ordered = 6;
        refused.put("/revisions/rev_3", 503);
        read(2, 1, false);
        assertThat(numbers()).as("those before it are kept").containsExactly(1, 2);
        assertThat(said.toString(StandardCharsets.UTF_8)).contains("samples up to step 12 are not all stored yet");
        assertThat(asked).containsOnlyOnce("/revisions/rev_3");
        refused.clear();
        read(2, 1, false);
        assertThat(numbers()).containsExactly(1, 2, 3, 4, 5, 6);
    }

    @Test
    void a_platform_that_refuses_the_groups_costs_the_samples_and_nothing_else() {
        ordered = 3;
        refused.put("/training-runs/trn_1/groups", 403);
        read(1, 1, true);
        assertThat(stored()).isEmpty();
        assertThat(said.toString(StandardCharsets.UTF_8)).contains("not all stored: GET", "403");
    }
}
