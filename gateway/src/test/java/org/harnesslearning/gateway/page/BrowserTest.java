package org.harnesslearning.gateway.page;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.SoftAssertions;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.testing.RequiresBrowser;
import org.harnesslearning.testing.RequiresPostgres;
import org.harnesslearning.testing.SharedData;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The ops pages in a real Chromium. With {@code -Dpages.screenshots=true} it also renews {@code docs/screenshots}. */
@RequiresBrowser
@RequiresPostgres
class BrowserTest {
    private static final int DESK = 1280;
    private static final int PHONE = 390;
    private static final String RUN = "/ui/runs/" + PlatformDouble.DONE;

    private static PagesGateway gateway;
    private static Browser browser;

    @BeforeAll
    static void start() throws Exception {
        gateway = new PagesGateway();
        browser = new Browser(gateway.at("/"));
    }

    @AfterAll
    static void stop() {
        browser.close();
        gateway.close();
    }

    @BeforeEach
    void fresh() {
        browser.open("/ui/sign-in");
        browser.forget();
        browser.size(DESK, 900, false);
        browser.colours(false);
        browser.complaints();
    }

    @Test
    void a_run_is_started_watched_looked_into_and_cancelled() throws Exception {
        browser.signIn(gateway.key("run"));
        browser.press("Start a run");
        browser.find("select[name=task] option[value=chain_sum]").click();
        browser.find("input[name=rounds]").sendKeys("2");
        browser.press("Start");
        browser.until("h1", "chain_sum");
        browser.until(".pill.running", "running");
        browser.until("[data-connection]", "Live");
        assertThat(browser.has("ol.rounds > li")).isFalse();

        String id = gateway.platform().newest();
        gateway.platform().goOn(id);
        // Nobody loads the page again: the event brings it.
        browser.until("ol.rounds h3", "Round 1");
        browser.until(".tile .more", "40 of 120 solver calls");

        browser.find("a[aria-label='Candidate 0 of round 1']").click();
        browser.until("h1", "Round 1, candidate 0");
        assertThat(browser.text("table.diff")).contains("import re").contains("return env.llm(question)");

        browser.open("/ui/runs/" + id);
        browser.press("Pause");
        browser.until(".pill.paused", "paused");
        browser.press("Resume");
        browser.until(".pill.running", "running");
        browser.press("Cancel");
        browser.confirm();
        browser.until(".pill.cancelled", "cancelled");
        assertThat(browser.has("button.danger[type=submit]")).isTrue();
        assertThat(browser.complaints()).isEmpty();
    }

    @Test
    void training_is_watched_paused_and_a_version_promoted() throws Exception {
        browser.signIn(gateway.key("run"));
        browser.open("/ui/training");
        browser.find("tbody a").click();
        browser.until(".tile .value", "42");
        browser.until("[data-connection]", "Live");
        assertThat(browser.has(".chart canvas")).isTrue();
        gateway.platform().step();
        browser.until(".tile .value", "43");
        browser.press("Pause");
        browser.until(".pill.paused", "paused");
        browser.press("Resume");
        browser.until(".pill.running", "running");
        browser.open("/ui/models");
        browser.find("a[href='/ui/models/edits']").click();
        browser.until("table", "serving");
        browser.press("Promote");
        browser.confirm();
        browser.until("h1", "edits");
        assertThat(gateway.platform().seen().stream().map(seen -> seen.target()))
                .contains("/models/edits/promote");
        assertThat(browser.complaints()).isEmpty();
    }

    @Test
    void a_revoked_key_ends_the_session_of_the_page_that_is_open() throws Exception {
        String victim = gateway.key("read");
        browser.signIn(victim);
        browser.open("/ui/runs");
        browser.until("h1", "Runs");
        try (Browser admin = new Browser(gateway.at("/"))) {
            admin.signIn(PagesGateway.ADMIN);
            admin.open("/ui/keys");
            admin.find("button[aria-label='Revoke " + gateway.name(victim) + "']")
                    .click();
            admin.confirm();
            admin.until("h2", "Ended");
        }
        browser.find("nav a[href='/ui/tasks']").click();
        browser.until("h1", "Sign in");
        assertThat(browser.url()).contains("/ui/sign-in");
    }

    @Test
    void a_new_key_is_shown_once() throws Exception {
        browser.signIn(PagesGateway.ADMIN);
        browser.open("/ui/keys");
        browser.find("input[name=name]").sendKeys("from the page");
        browser.find("select[name=scope] option[value=run]").click();
        browser.press("Make the key");
        String secret = browser.text("#secret");
        assertThat(secret).startsWith("hl_");
        browser.open("/ui/keys");
        browser.until("td", "from the page");
        assertThat(browser.has("#secret")).isFalse();
        browser.forget();
        browser.signIn(secret);
        assertThat(browser.text(".who")).contains("Operator");
    }

    @Test
    void texts_from_outside_do_nothing() throws Exception {
        browser.signIn(PagesGateway.ADMIN);
        for (String page : List.of(
                "/ui/runs",
                RUN,
                RUN + "/candidates/3/1",
                question("dev0"),
                "/ui/tasks/tsk_01jzzzzzzzzzzzzzzzzzzzzzzz")) {
            browser.open(page);
            browser.until("main", "<script>");
            assertThat(browser.title()).as(page).doesNotContain("owned");
            assertThat(browser.has("main img")).as(page).isFalse();
        }
        assertThat(browser.complaints()).isEmpty();
    }

    @Test
    void every_page_can_be_used_by_all_and_fits_a_phone() throws Exception {
        SoftAssertions all = new SoftAssertions();
        for (boolean dark : List.of(false, true)) {
            browser.forget();
            browser.colours(dark);
            check(all, "sign-in", "/ui/sign-in", dark);
            browser.size(DESK, 900, false);
            browser.signIn(PagesGateway.ADMIN);
            for (Map.Entry<String, String> page : pages().entrySet()) {
                check(all, page.getKey(), page.getValue(), dark);
            }
        }
        all.assertAll();
    }

    private static void check(SoftAssertions all, String name, String path, boolean dark) throws Exception {
        String shown = name + (dark ? ", dark" : ", light");
        browser.size(PHONE, 844, true);
        browser.open(path);
        browser.find("h1");
        all.assertThat(browser.overhang())
                .as("%s is wider than a phone by", shown)
                .isLessThanOrEqualTo(0);
        picture(name + "-phone", PHONE, dark);
        browser.size(DESK, 900, false);
        browser.open(path);
        browser.find("h1");
        all.assertThat(browser.findings()).as(shown).isEmpty();
        all.assertThat(browser.complaints()).as(shown).isEmpty();
        picture(name, DESK, dark);
    }

    private static void picture(String name, int width, boolean dark) throws Exception {
        boolean kept = Boolean.getBoolean("pages.screenshots");
        // A few of them are for the documentation; all are for whoever changes a page.
        boolean documented = List.of("overview", "run", "candidate", "questions", "training-run", "run-phone")
                        .contains(name)
                && (!dark || name.equals("run") || name.equals("overview"));
        Path root = SharedData.root();
        Path folder =
                kept && documented ? root.resolve("docs/screenshots") : root.resolve("gateway/target/screenshots");
        if (kept) {
            browser.picture(folder.resolve(name + (dark ? "-dark" : "") + ".png"), width);
        }
    }

    private static Map<String, String> pages() {
        Map<String, String> pages = new LinkedHashMap<>();
        pages.put("overview", "/ui");
        pages.put("runs", "/ui/runs");
        pages.put("run-new", "/ui/runs/new");
        pages.put("run", RUN);
        pages.put("candidate", RUN + "/candidates/3/1");
        pages.put("candidate-invalid", RUN + "/candidates/3/3");
        pages.put("questions", RUN + "/matrix");
        pages.put("question", question("dev0"));
        pages.put("compare", "/ui/compare");
        pages.put("compared", "/ui/compare?a=" + PlatformDouble.DONE + "&b=" + PlatformDouble.DONE);
        pages.put("training", "/ui/training");
        pages.put("training-run", "/ui/training/" + PlatformDouble.TRAINING);
        pages.put("models", "/ui/models");
        pages.put("model", "/ui/models/edits");
        pages.put("tasks", "/ui/tasks");
        pages.put("task", "/ui/tasks/tsk_01jzzzzzzzzzzzzzzzzzzzzzzz");
        pages.put("keys", "/ui/keys");
        pages.put("error", "/ui/nothing-here");
        return pages;
    }

    private static String question(String item) {
        return RUN + "/question?item=" + Hashes.sha256(item.getBytes(UTF_8)) + "&harness=" + PlatformDouble.BEST;
    }
}
