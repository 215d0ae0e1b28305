package org.harnesslearning.gateway.page;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.SoftAssertions;
import org.harnesslearning.contracts.hash.Hashes;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.testing.Browser;
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
    void a_training_run_is_started_and_what_is_wrong_stands_at_its_field() throws Exception {
        browser.signIn(gateway.key("run"));
        browser.open("/ui/training");
        browser.press("Train");
        assertThat(browser.find("input[name='method.teachers']").isDisplayed()).isTrue();
        assertThat(browser.find("input[name='method.groups_per_batch']").isDisplayed())
                .isFalse();
        browser.find("select[name=kind] option[value=multistep]").click();
        assertThat(browser.find("input[name='method.teachers']").isDisplayed()).isFalse();
        assertThat(browser.find("input[name='method.depth']").isDisplayed()).isTrue();
        browser.find("select[name=kind] option[value=sft]").click();
        browser.find("input[name=base_model]").sendKeys("qwen2.5-coder-1.5b");
        browser.find("input[name='method.teachers']").sendKeys("big, bigger");
        browser.find("input[name='method.lora.rank']").sendKeys("0");
        browser.find("input[name='budget.steps']").sendKeys("40");
        browser.press("Start");

        browser.until("[id='wrong-method.lora.rank']", "must be from 1 to 1024");
        browser.until("[id='wrong-method.teachers']", "must be from 1 to 1024");
        assertThat(browser.find("input[name='method.lora.rank']").getDomAttribute("aria-invalid"))
                .isEqualTo("true");
        assertThat(browser.find("input[name='budget.steps']").getDomAttribute("value"))
                .isEqualTo("40");
        assertThat(browser.findings()).isEmpty();

        browser.find("input[name='budget.steps']").clear();
        browser.find("input[name='budget.steps']").sendKeys("many");
        browser.press("Start");
        browser.until("[id='wrong-budget.steps']", "must be a number");

        browser.find("input[name='budget.steps']").clear();
        browser.find("input[name='method.lora.rank']").clear();
        browser.find("input[name='method.lora.rank']").sendKeys("8");
        browser.find("select[name=kind] option[value=grpo]").click();
        browser.find("input[name='method.groups_per_batch']").sendKeys("2");
        browser.press("Start");
        browser.until("[data-connection]", "Live");
        assertThat(Json.mapper()
                        .readTree(gateway.platform().seen().stream()
                                .filter(seen -> seen.method().equals("POST")
                                        && seen.target().equals("/training-runs"))
                                .toList()
                                .getLast()
                                .body()))
                .as("what belongs to another kind is left out")
                .isEqualTo(Json.mapper().readTree("""
                        {"kind": "grpo", "base_model": "qwen2.5-coder-1.5b",
                         "method": {"groups_per_batch": 2, "lora": {"rank": 8}}}"""));
        assertThat(browser.complaints()).isEmpty();
    }

    @Test
    void a_model_is_promoted_by_force_with_a_reason_and_rolled_back() throws Exception {
        browser.signIn(gateway.key("run"));
        browser.open("/ui/models/edits");
        assertThat(browser.has("input[name=force]"))
                .as("offered to admins only")
                .isFalse();
        browser.forget();
        browser.signIn(PagesGateway.ADMIN);
        browser.open("/ui/models/edits");
        String before = browser.text("tr.picked .mono");
        browser.find("summary").click();
        browser.press("Promote by force");
        browser.confirm();
        browser.until("#wrong-reason", "Say why");
        browser.find("input[name=reason]").sendKeys("the old one is broken");
        browser.press("Promote by force");
        browser.confirm();
        browser.until("td", "promote, forced");
        browser.until("td", "the old one is broken");
        assertThat(browser.text("tr.picked .mono")).isNotEqualTo(before);

        browser.press("Roll back");
        browser.confirm();
        browser.until("td", "rollback");
        assertThat(browser.text("tr.picked .mono")).isEqualTo(before);
        assertThat(browser.complaints()).isEmpty();
    }

    @Test
    void a_named_harness_is_put_live_looked_into_and_rolled_back() throws Exception {
        browser.signIn(gateway.key("run"));
        browser.open(RUN);
        browser.press("Give it a name");
        assertThat(browser.find("input[name=adaptation]").getDomAttribute("value"))
                .isEqualTo(PlatformDouble.DONE);
        browser.find("input[name=name]").sendKeys("No Name");
        browser.press("Put it live");
        browser.until("#wrong-name", "small letters");
        browser.find("input[name=adaptation]").clear();
        browser.find("input[name=adaptation]").sendKeys("adp_failed");
        browser.find("input[name=name]").clear();
        browser.find("input[name=name]").sendKeys("answers");
        browser.press("Put it live");
        browser.until("[role=alert]", "The run's gate failed");
        browser.find("input[name=adaptation]").clear();
        browser.find("input[name=adaptation]").sendKeys(PlatformDouble.DONE);
        browser.find("input[name=name]").clear();
        browser.find("input[name=name]").sendKeys("answers");
        browser.press("Put it live");
        browser.until("h1", "answers");
        browser.until(".sub", "version 1 is live");

        browser.open("/ui/harnesses/support");
        browser.until(".sub", "version 2 is live");
        browser.find("a[href='/ui/harnesses/support?version=1']").click();
        browser.until("h2", "Version 1");
        assertThat(browser.text("table.diff")).contains("import re");
        browser.find("input[name=note]").sendKeys("answers too slowly");
        browser.press("Roll back");
        browser.confirm();
        browser.until(".sub", "version 1 is live");
        browser.until("td", "rolled back");
        browser.until("td", "answers too slowly");
        browser.find("button[aria-label='Promote version 2']").click();
        browser.confirm();
        browser.until(".sub", "version 2 is live");
        assertThat(browser.has("button.danger")).as("deletes are for admins").isFalse();
        assertThat(browser.complaints()).isEmpty();
    }

    @Test
    void a_webhook_is_made_tested_sent_again_and_deleted() throws Exception {
        browser.signIn(PagesGateway.ADMIN);
        browser.open("/ui/webhooks");
        browser.find("input[name=url]").sendKeys("http://plain.example.org/");
        browser.press("Add the webhook");
        browser.until("#wrong-url", "must be https");
        browser.find("input[name=url]").clear();
        browser.find("input[name=url]").sendKeys("https://made.example.org/hook");
        browser.find("input[value='harness.promoted']").click();
        browser.press("Add the webhook");
        assertThat(browser.text("#secret")).isEqualTo("whsec_once");
        browser.open("/ui/webhooks");
        assertThat(browser.has("#secret")).isFalse();
        browser.until(".chip", "harness.promoted");
        browser.find("tbody tr:last-child a").click();
        browser.until("h1", "https://made.example.org/hook");
        browser.press("Send a test");
        browser.until("td", "ping");
        browser.press("Again");
        browser.until("h2", "Deliveries");
        browser.press("Delete");
        browser.confirm();
        browser.until("h1", "Webhooks");
        assertThat(browser.text("main")).doesNotContain("made.example.org");
        assertThat(gateway.platform().seen().stream()
                        .map(seen -> seen.method() + " "
                                + seen.target().replaceFirst("whk_\\w+", "W").replaceFirst("whd_\\w+", "D")))
                .contains("POST /webhooks/W/ping", "POST /webhooks/W/deliveries/D/redeliver", "DELETE /webhooks/W");
        assertThat(browser.complaints()).isEmpty();
    }

    @Test
    void a_key_is_made_with_limits_of_its_own() throws Exception {
        browser.signIn(PagesGateway.ADMIN);
        browser.open("/ui/keys");
        browser.find("input[name=name]").sendKeys("slow one");
        browser.find("input[name=rate_per_second]").sendKeys("1000");
        browser.press("Make the key");
        browser.until("#wrong-rate_per_second", "must be from 0.001 to 200");
        browser.find("input[name=rate_per_second]").clear();
        browser.find("input[name=rate_per_second]").sendKeys("0.5");
        browser.find("input[name=rate_burst]").sendKeys("3");
        browser.find("input[name=max_body_bytes]").sendKeys("2048");
        browser.press("Make the key");
        assertThat(browser.text("#secret")).startsWith("hl_");
        browser.until("td", "0.500, 3 at once");
        browser.until("td", "2,048 B");
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
                "/ui/runs?kind=revisions",
                RUN,
                RUN + "/candidates/3/1",
                question("dev0"),
                "/ui/harnesses/support?version=1",
                "/ui/webhooks",
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
        boolean documented = List.of(
                                "overview",
                                "run",
                                "candidate",
                                "questions",
                                "training-run",
                                "training-new",
                                "harness",
                                "webhook",
                                "run-phone")
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
        pages.put("revisions", "/ui/runs?kind=revisions");
        pages.put("evaluations", "/ui/runs?kind=evaluations");
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
        pages.put("training-new", "/ui/training/new");
        pages.put("harnesses", "/ui/harnesses?adaptation=" + PlatformDouble.DONE);
        pages.put("harness", "/ui/harnesses/support?version=1");
        pages.put("webhooks", "/ui/webhooks");
        pages.put("webhook", "/ui/webhooks/whk_01jzzzzzzzzzzzzzzzzzzzzzz1");
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
