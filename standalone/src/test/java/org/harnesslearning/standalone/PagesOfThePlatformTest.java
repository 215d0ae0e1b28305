package org.harnesslearning.standalone;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.testing.Browser;
import org.harnesslearning.testing.PlatformProcess;
import org.harnesslearning.testing.RequiresBrowser;
import org.harnesslearning.testing.RequiresDocker;
import org.harnesslearning.testing.RequiresPostgres;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/**
 * The ops pages in a real Chromium before the real platform: all services, Postgres, sandboxes; the models' replies come
 * from files, with a delay, so that there is time to look on.
 */
@RequiresBrowser
@RequiresDocker
@RequiresPostgres
class PagesOfThePlatformTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int ROUNDS = 60;
    private static final String SOURCE = "def run(question, env):\n    return \"0\"\n";
    private static final String EDIT =
            "<<<<<<< SEARCH\n    return \"0\"\n=======\n    return question.split()[0]\n>>>>>>> REPLACE\n";
    private static final String HELD_OUT = "is what has to stay among admins";

    @TempDir
    Path folder;

    private static String line(String position, String reply) {
        return Json.write(Map.of("position", position, "reply", reply)) + "\n";
    }

    private static List<Map<String, Object>> items(String split, int from, int count, String words) {
        return IntStream.range(from, from + count)
                .mapToObj(i -> Map.<String, Object>of(
                        "question", i + " " + words, "answer", Integer.toString(i), "split", split))
                .toList();
    }

    @Test
    void a_run_is_started_on_a_page_watched_looked_into_and_cancelled_and_a_key_revoked() throws Exception {
        // An edit and a reply without one for each of more rounds than there is time for.
        StringBuilder replies = new StringBuilder();
        for (int round = 1; round <= ROUNDS; round++) {
            replies.append(line(round + "/0", EDIT)).append(line(round + "/1", "no edit at all"));
        }
        Path edits = Files.writeString(folder.resolve("edits.jsonl"), replies);
        try (PlatformProcess platform = PlatformProcess.start(
                folder.resolve("data"),
                List.of(
                        "solver.discover=false",
                        "solver.models[0].name=edits",
                        "solver.models[0].kind=recorded",
                        "solver.models[0].file=" + edits,
                        "solver.models[0].delay=2s",
                        "proposer.default-model=edits"))) {
            JsonNode task = platform.api()
                    .post(
                            "/tasks",
                            Map.of(
                                    "name",
                                    "first words",
                                    "description",
                                    "Answer with the first word.",
                                    "scorer",
                                    "exact",
                                    "items",
                                    Map.of(
                                            "feedback", items("feedback", 10, 2, "leads a question of the report"),
                                            "dev", items("dev", 20, 3, "leads a question of the selection"),
                                            "held_out", items("held_out", 30, 3, HELD_OUT))));
            List<String> secrets = new ArrayList<>();
            JsonNode operator = platform.api().post("/keys", Map.of("name", "operator", "scope", "run"));
            try (Browser browser = new Browser(URI.create(platform.api().url() + "/"))) {
                browser.signIn(operator.get("key").asString());
                browser.press("Start a run");
                browser.find("select[name=task] option[value='" + task.get("id").asString() + "']")
                        .click();
                browser.find("input[name=candidates]").sendKeys("2");
                browser.find("input[name=rounds]").sendKeys(Integer.toString(ROUNDS));
                browser.find("details summary").click();
                browser.find("textarea[name=harness]").sendKeys(SOURCE);
                browser.find("input[name=demonstrations]").sendKeys("none");
                browser.press("Start");
                browser.until("h1", task.get("id").asString());
                browser.until("[data-connection]", "Live");

                // Nobody loads the page again: the events bring what the services do.
                browser.until("ol.rounds h3", "Round 1");
                browser.until(".pill.scored", "scored");
                browser.until("ol.rounds td", "NO_BLOCK");
                String page = browser.url().replaceFirst(".*(/ui/runs/adp_\\w+).*", "$1");
                browser.open(page + "/candidates/1/0");
                browser.until("h1", "Round 1, candidate 0");
                assertThat(browser.text("table.diff")).contains("return \"0\"").contains("return question.split()[0]");
                assertThat(browser.text("main")).contains("mean 1.00");
                assertThat(browser.findings()).isEmpty();

                browser.open(page);
                browser.press("Cancel");
                browser.confirm();
                browser.until(".pill.cancelled", "cancelled");
                String run = page.substring(page.lastIndexOf('/') + 1);
                platform.await(
                        "the run is cancelled",
                        PATIENCE,
                        () -> platform.api()
                                .get("/adaptations/" + run)
                                .get("state")
                                .asString()
                                .equals("cancelled"));

                browser.open("/ui/tasks/" + task.get("id").asString());
                browser.until("main", "Held-out questions are shown to admins only");
                assertThat(browser.text("main")).doesNotContain(HELD_OUT);
                assertThat(browser.complaints()).isEmpty();

                try (Browser admin = new Browser(URI.create(platform.api().url() + "/"))) {
                    admin.signIn(platform.api().key());
                    admin.open("/ui/keys");
                    admin.find("button[aria-label='Revoke operator']").click();
                    admin.confirm();
                    admin.until("h2", "Ended");

                    admin.find("input[name=name]").sendKeys("made on the page");
                    admin.press("Make the key");
                    secrets.add(admin.text("#secret"));
                    admin.open("/ui/webhooks");
                    admin.find("input[name=url]").sendKeys("https://receiver.invalid/hook");
                    admin.press("Add the webhook");
                    secrets.add(admin.text("#secret"));
                    admin.open("/ui/harnesses");
                    admin.find("input[name=name]").sendKeys("first");
                    admin.find("details summary").click();
                    admin.find("textarea[name=source]").sendKeys(SOURCE + "# typed on the page for harnesses\n");
                    admin.press("Put it live");
                    admin.until(".sub", "version 1 is live");
                    admin.open("/ui/tasks/" + task.get("id").asString());
                    admin.until("main", HELD_OUT);
                    assertThat(admin.complaints()).isEmpty();
                }
                browser.find("nav a[href='/ui/runs']").click();
                browser.until("h1", "Sign in");
            }

            // What was typed and shown on pages stands in no log.
            String log = Files.readString(platform.data().resolve("logs/harness.log"));
            assertThat(log)
                    .isNotBlank()
                    .doesNotContain(secrets.toArray(String[]::new))
                    .doesNotContain("typed on the page for harnesses")
                    .doesNotContain(operator.get("key").asString())
                    .doesNotContain(platform.api().key())
                    .doesNotContain(HELD_OUT)
                    .doesNotContain("leads a question")
                    .doesNotContain("question.split()[0]");
        }
    }
}
