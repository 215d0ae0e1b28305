package org.harnesslearning.gateway.page;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.InputStream;
import java.net.CookieManager;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.testing.RequiresPostgres;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The ops pages as a client without scripts sees them: sessions, form tokens, roles, headers, escaping. */
@RequiresPostgres
class PagesTest {
    private static final Pattern TOKEN = Pattern.compile("name=\"csrf\" value=\"([^\"]+)\"");
    private static final List<String> PAGES = List.of(
            "/ui",
            "/ui/runs",
            "/ui/runs?kind=revisions",
            "/ui/runs?kind=evaluations",
            "/ui/runs/" + PlatformDouble.DONE,
            "/ui/runs/" + PlatformDouble.DONE + "/candidates/3/1",
            "/ui/runs/" + PlatformDouble.DONE + "/matrix",
            "/ui/compare?a=" + PlatformDouble.DONE + "&b=" + PlatformDouble.DONE,
            "/ui/training",
            "/ui/training/" + PlatformDouble.TRAINING,
            "/ui/models",
            "/ui/models/edits",
            "/ui/harnesses",
            "/ui/harnesses/support",
            "/ui/tasks",
            "/ui/tasks/tsk_01jzzzzzzzzzzzzzzzzzzzzzzz");

    private static PagesGateway gateway;

    @BeforeAll
    static void start() throws Exception {
        gateway = new PagesGateway();
    }

    @AfterAll
    static void stop() {
        gateway.close();
    }

    /** A browser without scripts: keeps cookies, follows nothing. */
    private static final class Visitor {
        private final HttpClient client = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .cookieHandler(new CookieManager())
                .build();

        HttpResponse<String> get(String path) throws Exception {
            return client.send(HttpRequest.newBuilder(gateway.at(path)).build(), BodyHandlers.ofString());
        }

        HttpResponse<String> post(String path, Map<String, String> form) throws Exception {
            String body = form.entrySet().stream()
                    .map(entry -> entry.getKey() + "=" + URLEncoder.encode(entry.getValue(), UTF_8))
                    .collect(Collectors.joining("&"));
            return client.send(
                    HttpRequest.newBuilder(gateway.at(path))
                            .header("Content-Type", "application/x-www-form-urlencoded")
                            .POST(BodyPublishers.ofString(body))
                            .build(),
                    BodyHandlers.ofString());
        }

        HttpResponse<String> signIn(String key) throws Exception {
            return post(
                    "/ui/sign-in", Map.of("key", key, "csrf", token("/ui/sign-in"), "next", "/ui/runs?state=running"));
        }

        String token(String path) throws Exception {
            Matcher matcher = TOKEN.matcher(get(path).body());
            assertThat(matcher.find()).as("form on %s", path).isTrue();
            return matcher.group(1);
        }
    }

    private static Visitor signedIn(String scope) throws Exception {
        Visitor visitor = new Visitor();
        HttpResponse<String> answer = visitor.signIn(gateway.key(scope));
        assertThat(answer.statusCode()).isEqualTo(302);
        return visitor;
    }

    @Test
    void leads_to_the_sign_in_and_back_to_the_page() throws Exception {
        Visitor visitor = new Visitor();
        assertThat(visitor.get("/").headers().firstValue("Location"))
                .hasValueSatisfying(at -> assertThat(at).endsWith("/ui"));
        HttpResponse<String> first = visitor.get("/ui/runs?state=running");
        assertThat(first.statusCode()).isEqualTo(303);
        assertThat(first.headers().firstValue("Location")).hasValue("/ui/sign-in?next=%2Fui%2Fruns%3Fstate%3Drunning");
        HttpResponse<String> answer = visitor.signIn(gateway.key("read"));
        assertThat(answer.headers().firstValue("Location")).hasValue("/ui/runs?state=running");
        String cookie = answer.headers().allValues("Set-Cookie").stream()
                .filter(text -> text.startsWith("hl_session="))
                .findFirst()
                .orElseThrow();
        assertThat(cookie)
                .contains("HttpOnly")
                .contains("SameSite=Strict")
                .contains("Path=/")
                .contains("Max-Age=");
        assertThat(visitor.get("/ui/runs").statusCode()).isEqualTo(200);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "https://elsewhere.example/",
                "//elsewhere.example",
                "/ui/../keys\r\nX: y",
                "/uix",
                "javascript:x"
            })
    void goes_to_no_other_site_after_the_sign_in(String next) throws Exception {
        Visitor visitor = new Visitor();
        HttpResponse<String> answer = visitor.post(
                "/ui/sign-in", Map.of("key", gateway.key("read"), "csrf", visitor.token("/ui/sign-in"), "next", next));
        assertThat(answer.headers().firstValue("Location")).hasValue("/ui");
    }

    @Test
    void the_session_is_stored_as_a_hash_and_marked_secure_behind_tls() throws Exception {
        Visitor visitor = new Visitor();
        String cookie = visitor.signIn(gateway.key("read")).headers().allValues("Set-Cookie").stream()
                .filter(text -> text.startsWith("hl_session="))
                .findFirst()
                .orElseThrow();
        assertThat(cookie).doesNotContain("Secure");
        String secret = cookie.substring("hl_session=".length(), cookie.indexOf(';'));
        assertThat(gateway.database("select string_agg(session::text, ' ') from session"))
                .contains("sha256:")
                .doesNotContain(secret);
        try (PagesGateway behindTls = new PagesGateway("--gateway.session.secure-cookie=always")) {
            HttpClient client = HttpClient.newHttpClient();
            HttpResponse<String> form = client.send(
                    HttpRequest.newBuilder(behindTls.at("/ui/sign-in")).build(), BodyHandlers.ofString());
            assertThat(form.headers().allValues("Set-Cookie")).allMatch(text -> text.contains("Secure"));
        }
    }

    @Test
    void a_wrong_key_gets_the_form_again_and_no_session() throws Exception {
        Visitor visitor = new Visitor();
        HttpResponse<String> answer = visitor.signIn("hl_wrong");
        assertThat(answer.statusCode()).isEqualTo(401);
        assertThat(answer.body()).contains("unknown, revoked or over");
        assertThat(answer.headers().allValues("Set-Cookie")).noneMatch(text -> text.startsWith("hl_session="));
    }

    @Test
    void a_form_without_its_token_is_refused_and_changes_nothing() throws Exception {
        Visitor visitor = new Visitor();
        visitor.get("/ui/sign-in");
        assertThat(visitor.post("/ui/sign-in", Map.of("key", gateway.key("admin")))
                        .statusCode())
                .isEqualTo(403);
        Visitor admin = signedIn("admin");
        int asked = gateway.platform().seen().size();
        for (Map.Entry<String, Map<String, String>> form : Map.of(
                        "/ui/runs",
                        Map.of("task", "chain_sum"),
                        "/ui/runs/" + PlatformDouble.DONE + "/cancel",
                        Map.<String, String>of(),
                        "/ui/runs/" + PlatformDouble.DONE + "/delete",
                        Map.<String, String>of(),
                        "/ui/keys",
                        Map.of("name", "stolen", "scope", "admin"),
                        "/ui/sign-out",
                        Map.<String, String>of())
                .entrySet()) {
            HttpResponse<String> none = admin.post(form.getKey(), form.getValue());
            assertThat(none.statusCode()).as(form.getKey()).isEqualTo(403);
            assertThat(none.body()).contains("This form is out of date");
            Map<String, String> wrong = new LinkedHashMap<>(form.getValue());
            wrong.put("csrf", signedIn("admin").token("/ui/runs/new"));
            assertThat(admin.post(form.getKey(), wrong).statusCode())
                    .as("another session's token")
                    .isEqualTo(403);
        }
        assertThat(gateway.database("select count(*) from api_key where name = 'stolen'"))
                .isEqualTo("0");
        assertThat(gateway.platform().seen().stream().skip(asked).map(seen -> seen.method()))
                .doesNotContain("POST", "DELETE");
    }

    @Test
    void a_cookie_alone_reads_from_the_api_but_changes_nothing_there() throws Exception {
        Visitor admin = signedIn("admin");
        assertThat(admin.get("/adaptations").statusCode()).isEqualTo(200);
        assertThat(admin.get("/keys").statusCode()).isEqualTo(200);
        for (String path : List.of("/adapt", "/keys", "/adaptations/" + PlatformDouble.DONE + "/cancel")) {
            HttpResponse<String> answer = admin.post(path, Map.of("csrf", admin.token("/ui/runs/new")));
            assertThat(answer.statusCode()).as(path).isEqualTo(401);
        }
    }

    @Test
    void a_viewer_sees_no_buttons_and_is_refused() throws Exception {
        Visitor viewer = signedIn("read");
        for (String page : PAGES) {
            String body = viewer.get(page).body();
            String forms = body.replaceAll("(?s)<form method=\"post\" action=\"/ui/sign-out\">.*?</form>", "");
            assertThat(forms).as(page).doesNotContain("method=\"post\"").doesNotContain("/ui/runs/new");
            assertThat(body).as(page).doesNotContain("href=\"/ui/keys\"");
        }
        assertThat(viewer.get("/ui/runs/new").statusCode()).isEqualTo(403);
        for (String path : List.of("/ui/keys", "/ui/webhooks", "/ui/training/new")) {
            assertThat(viewer.get(path).statusCode()).as(path).isEqualTo(403);
        }
        String token = viewer.token("/ui");
        for (String path : List.of(
                "/ui/runs",
                "/ui/runs/" + PlatformDouble.DONE + "/cancel",
                "/ui/training",
                "/ui/models/edits/promote",
                "/ui/models/edits/rollback",
                "/ui/harnesses",
                "/ui/harnesses/support/promote",
                "/ui/harnesses/support/rollback",
                "/ui/harnesses/support/delete",
                "/ui/webhooks",
                "/ui/webhooks/whk_1/delete",
                "/ui/webhooks/whk_1/deliveries/whd_1/redeliver",
                "/ui/keys",
                "/ui/keys/key_1/revoke")) {
            HttpResponse<String> answer =
                    viewer.post(path, Map.of("csrf", token, "task", "chain_sum", "name", "x", "scope", "admin"));
            assertThat(answer.statusCode()).as(path).isEqualTo(403);
            assertThat(answer.body()).contains("you are signed in with scope read");
        }
        Visitor operator = signedIn("run");
        assertThat(operator.get("/ui/runs/new").statusCode()).isEqualTo(200);
        for (String path : List.of("/ui/keys", "/ui/webhooks", "/ui/webhooks/whk_1")) {
            assertThat(operator.get(path).statusCode()).as(path).isEqualTo(403);
        }
        String own = operator.token("/ui");
        for (String path : List.of("/ui/harnesses/support/delete", "/ui/webhooks", "/ui/webhooks/whk_1/ping")) {
            assertThat(operator.post(path, Map.of("csrf", own, "url", "https://x"))
                            .statusCode())
                    .as(path)
                    .isEqualTo(403);
        }
    }

    @Test
    void held_out_questions_are_shown_to_admins_only() throws Exception {
        String path = "/ui/runs/" + PlatformDouble.DONE + "/question?item="
                + org.harnesslearning.contracts.hash.Hashes.sha256("held_out0".getBytes(UTF_8)) + "&harness="
                + PlatformDouble.BEST;
        String seen = signedIn("run").get(path).body();
        assertThat(seen).contains("shown to admins only").doesNotContain("arithmetic problem");
        assertThat(signedIn("admin").get(path).body()).contains("arithmetic problem");
        // The gateway passes on whose question it is; what is withheld is withheld by the service behind.
        assertThat(gateway.platform().seen().getLast().header("X-Key-Scope")).isEqualTo("admin");
        assertThat(signedIn("run")
                        .get("/ui/tasks/tsk_01jzzzzzzzzzzzzzzzzzzzzzzz")
                        .body())
                .contains("Held-out questions are shown to admins only");
    }

    @Test
    void every_page_forbids_foreign_and_inline_scripts_and_has_none() throws Exception {
        Visitor admin = signedIn("admin");
        List<String> pages = new java.util.ArrayList<>(PAGES);
        pages.addAll(List.of(
                "/ui/keys",
                "/ui/webhooks",
                "/ui/webhooks/whk_01jzzzzzzzzzzzzzzzzzzzzzz1",
                "/ui/training/new",
                "/ui/runs/new",
                "/ui/nothing-here",
                "/ui/sign-in"));
        for (String page : pages) {
            HttpResponse<String> answer = admin.get(page);
            assertThat(answer.headers().firstValue("Content-Security-Policy"))
                    .as(page)
                    .hasValueSatisfying(policy -> assertThat(policy)
                            .contains("default-src 'none'")
                            .contains("script-src 'self';")
                            .doesNotContain("unsafe"));
            assertThat(answer.headers().firstValue("X-Content-Type-Options")).hasValue("nosniff");
            assertThat(answer.headers().firstValue("Cache-Control")).hasValue("no-store");
            assertThat(answer.body())
                    .as(page)
                    .doesNotContainPattern("<script(?![^>]*\\ssrc=)")
                    .doesNotContainPattern("(?i)<[^>&]*\\son[a-z]+=")
                    .doesNotContainPattern("<[^>&]*\\sstyle=")
                    .doesNotContainPattern("(?:src|href)=\"(?:https?:)?//");
        }
    }

    @Test
    void texts_from_outside_are_shown_as_text() throws Exception {
        Visitor admin = signedIn("admin");
        for (String page : List.of(
                "/ui/runs",
                "/ui/runs/" + PlatformDouble.DONE,
                "/ui/runs/" + PlatformDouble.DONE + "/candidates/3/1",
                "/ui/runs/" + PlatformDouble.DONE + "/candidates/3/3",
                "/ui/training",
                "/ui/training/" + PlatformDouble.TRAINING,
                "/ui/harnesses/support",
                "/ui/webhooks",
                "/ui/tasks/tsk_01jzzzzzzzzzzzzzzzzzzzzzzz",
                "/ui/compare?a=" + PlatformDouble.DONE + "&b=" + PlatformDouble.DONE)) {
            assertThat(admin.get(page).body())
                    .as(page)
                    .doesNotContain("<img src=x")
                    .doesNotContain("<script>");
        }
        assertThat(admin.get("/ui/runs/" + PlatformDouble.DONE).body()).contains("&lt;img src=x");
        assertThat(admin.get("/ui/runs/%3Cscript%3E").statusCode()).isEqualTo(404);
        assertThat(admin.get("/ui/runs?task=%22%3E%3Cscript%3E").body()).doesNotContain("\"><script>");
    }

    @Test
    void errors_are_pages_that_say_what_happened() throws Exception {
        Visitor admin = signedIn("admin");
        HttpResponse<String> unknown = admin.get("/ui/runs/adp_unknown");
        assertThat(unknown.statusCode()).isEqualTo(404);
        assertThat(unknown.body()).contains("<h1").contains("There is no /adaptations/adp_unknown");
        assertThat(admin.get("/ui/nothing-here").body()).contains("There is no such page");
        HttpResponse<String> late =
                admin.post("/ui/runs/" + PlatformDouble.DONE + "/cancel", Map.of("csrf", admin.token("/ui/runs/new")));
        assertThat(late.statusCode()).isEqualTo(409);
        assertThat(late.body()).contains("A run in state succeeded can").contains("be cancelled");
        HttpResponse<String> form = admin.post(
                "/ui/runs", Map.of("csrf", admin.token("/ui/runs/new"), "task", "chain_sum", "rounds", "many"));
        assertThat(form.statusCode()).isEqualTo(400);
        assertThat(form.body()).contains("Field rounds must be a number").contains("value=\"many\"");
        try (PagesGateway alone = new PagesGateway("--platform.proposer-url=http://127.0.0.1:1")) {
            HttpClient client =
                    HttpClient.newBuilder().cookieHandler(new CookieManager()).build();
            String sign = client.send(
                            HttpRequest.newBuilder(alone.at("/ui/sign-in")).build(), BodyHandlers.ofString())
                    .body();
            Matcher token = TOKEN.matcher(sign);
            assertThat(token.find()).isTrue();
            client.send(
                    HttpRequest.newBuilder(alone.at("/ui/sign-in"))
                            .header("Content-Type", "application/x-www-form-urlencoded")
                            .POST(BodyPublishers.ofString("csrf=" + token.group(1) + "&key=" + PagesGateway.ADMIN))
                            .build(),
                    BodyHandlers.ofString());
            HttpResponse<String> away =
                    client.send(HttpRequest.newBuilder(alone.at("/ui")).build(), BodyHandlers.ofString());
            assertThat(away.statusCode()).isEqualTo(503);
            assertThat(away.headers().firstValue("Retry-After")).hasValue("5");
            assertThat(away.body()).contains("The service behind can").contains("be reached");
        }
    }

    @Test
    void ends_sessions_with_their_key_at_sign_out_and_after_their_time() throws Exception {
        String key = gateway.key("read");
        Visitor visitor = new Visitor();
        visitor.signIn(key);
        assertThat(visitor.get("/ui").statusCode()).isEqualTo(200);
        gateway.revoke(key);
        assertThat(visitor.get("/ui").statusCode()).isEqualTo(303);
        assertThat(visitor.get("/adaptations").statusCode()).isEqualTo(401);

        Visitor leaver = signedIn("read");
        assertThat(leaver.post("/ui/sign-out", Map.of("csrf", leaver.token("/ui")))
                        .statusCode())
                .isEqualTo(302);
        assertThat(leaver.get("/ui").statusCode()).isEqualTo(303);

        Visitor sleeper = signedIn("read");
        gateway.update("update session set last_seen_at = now() - interval '3 hours'");
        assertThat(sleeper.get("/ui").statusCode()).isEqualTo(303);
        Visitor longTerm = signedIn("read");
        gateway.update("update session set expires_at = now() - interval '1 second'");
        assertThat(longTerm.get("/ui").statusCode()).isEqualTo(303);

        Visitor withLimit = new Visitor();
        String limited = gateway.key("read");
        withLimit.signIn(limited);
        gateway.update("update api_key set expires_at = now() - interval '1 second' where name = '"
                + gateway.name(limited) + "'");
        assertThat(withLimit.get("/ui").statusCode()).isEqualTo(303);
    }

    @Test
    void a_script_without_a_session_is_told_to_go_to_the_sign_in() throws Exception {
        HttpResponse<String> answer = new Visitor()
                .client.send(
                        HttpRequest.newBuilder(gateway.at("/ui/live"))
                                .header("HX-Request", "true")
                                .build(),
                        BodyHandlers.ofString());
        assertThat(answer.statusCode()).isEqualTo(401);
        assertThat(answer.headers().firstValue("HX-Redirect")).hasValue("/ui/sign-in");
    }

    @Test
    void starts_a_run_with_what_the_form_says_and_adds_a_task_from_a_file() throws Exception {
        Visitor operator = signedIn("run");
        HttpResponse<String> started = operator.post(
                "/ui/runs",
                Map.of(
                        "csrf", operator.token("/ui/runs/new"),
                        "task", "chain_sum",
                        "rounds", "2",
                        "temperature", "0.5",
                        "harness", "def run(question, env):\r\n    return '1'\r\n",
                        "labels", "branch=main\r\nticket = 12"));
        assertThat(started.headers().firstValue("Location"))
                .hasValueSatisfying(at -> assertThat(at).startsWith("/ui/runs/adp_"));
        String body = gateway.platform().seen().stream()
                .filter(seen -> seen.target().equals("/adapt"))
                .map(seen -> new String(seen.body(), UTF_8))
                .reduce((first, last) -> last)
                .orElseThrow();
        assertThat(Json.mapper().readTree(body)).isEqualTo(Json.mapper().readTree("""
                {"task": {"reasoning_gym": {"family": "chain_sum"}}, "rounds": 2, "proposer": {"temperature": 0.5},
                 "harness": {"source": "def run(question, env):\\n    return '1'\\n"},
                 "labels": {"branch": "main", "ticket": "12"}}"""));

        for (String content : List.of("{\"question\": \"1 + 1\", \"answer\": \"2\"}\n", "not json\n")) {
            String boundary = "----part";
            String multipart = Map.of(
                                    "csrf",
                                    operator.token("/ui/tasks"),
                                    "name",
                                    "Ä sums",
                                    "description",
                                    "Sum up.",
                                    "scorer",
                                    "exact")
                            .entrySet()
                            .stream()
                            .map(field -> "--" + boundary + "\r\nContent-Disposition: form-data; name=\""
                                    + field.getKey() + "\"\r\n\r\n" + field.getValue() + "\r\n")
                            .collect(Collectors.joining())
                    + "--" + boundary
                    + "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"items.jsonl\"\r\n"
                    + "Content-Type: application/octet-stream\r\n\r\n" + content + "\r\n--" + boundary + "--\r\n";
            HttpResponse<String> added = operator.client.send(
                    HttpRequest.newBuilder(gateway.at("/ui/tasks"))
                            .header("Content-Type", "multipart/form-data; boundary=" + boundary)
                            .POST(BodyPublishers.ofString(multipart))
                            .build(),
                    BodyHandlers.ofString());
            if (content.startsWith("{")) {
                assertThat(added.headers().firstValue("Location"))
                        .as(added.statusCode() + added.body())
                        .hasValue("/ui/tasks/tsk_01jzzzzzzzzzzzzzzzzzzzzzzz");
                assertThat(gateway.platform().seen().stream()
                                .filter(seen -> seen.method().equals("POST")
                                        && seen.target().startsWith("/tasks"))
                                .map(seen ->
                                        URI.create(seen.target()).getQuery() + " " + new String(seen.body(), UTF_8)))
                        .singleElement()
                        .satisfies(
                                sent -> assertThat(sent).contains("name=Ä sums").contains(content.strip()));
            } else {
                assertThat(added.statusCode()).isEqualTo(400);
                assertThat(added.body()).contains("Line 1 is not JSON").contains("value=\"Ä sums\"");
            }
        }
    }

    @Test
    void runs_of_all_kinds_are_listed_and_controlled() throws Exception {
        Visitor operator = signedIn("run");
        String paused = operator.get("/ui/runs?kind=revisions&state=paused").body();
        assertThat(paused)
                .contains(
                        PlatformDouble.REVISION,
                        "The model failed: &lt;",
                        "/ui/runs/" + PlatformDouble.REVISION + "/resume")
                .doesNotContain(PlatformDouble.EVALUATION, PlatformDouble.DONE);
        assertThat(operator.get("/ui/runs?kind=evaluations").body())
                .contains(PlatformDouble.EVALUATION, "0.25", "/ui/runs/" + PlatformDouble.EVALUATION + "/delete")
                .doesNotContain(PlatformDouble.REVISION);
        assertThat(operator.get("/ui/runs?kind=others").statusCode()).isEqualTo(400);

        HttpResponse<String> resumed = operator.post(
                "/ui/runs/" + PlatformDouble.REVISION + "/resume", Map.of("csrf", operator.token("/ui/runs/new")));
        assertThat(resumed.headers().firstValue("Location")).hasValue("/ui/runs?kind=revisions");
        assertThat(gateway.platform().seen())
                .anyMatch(seen -> seen.target().equals("/revisions/" + PlatformDouble.REVISION + "/resume"));
        assertThat(operator.get("/ui/runs?kind=revisions&state=paused").body()).doesNotContain(PlatformDouble.REVISION);
    }

    @Test
    void the_overview_says_what_is_under_way_beside_adaptations() throws Exception {
        assertThat(signedIn("read").get("/ui").body())
                .contains("<a href=\"/ui/runs?kind=revisions\">3 revisions at work, 4 paused</a>")
                .contains("<a href=\"/ui/runs?kind=evaluations\">1 evaluation paused</a>");
    }

    @Test
    void passes_progress_on_to_a_browser_with_a_cookie_alone() throws Exception {
        Visitor operator = signedIn("run");
        operator.post("/ui/runs", Map.of("csrf", operator.token("/ui/runs/new"), "task", "chain_sum"));
        String id = gateway.platform().newest();
        HttpResponse<InputStream> stream = operator.client.send(
                HttpRequest.newBuilder(gateway.at("/adaptations/" + id + "/events"))
                        .header("Accept", "text/event-stream")
                        .build(),
                BodyHandlers.ofInputStream());
        assertThat(stream.statusCode()).isEqualTo(200);
        operator.post("/ui/runs/" + id + "/cancel", Map.of("csrf", operator.token("/ui/runs/new")));
        try (InputStream body = stream.body()) {
            assertThat(new String(body.readAllBytes(), UTF_8))
                    .contains("event: state")
                    .contains("event: finished");
        }
    }

    @Test
    void a_stream_opened_with_a_cookie_ends_with_the_sessions_key() throws Exception {
        String key = gateway.key("run");
        Visitor operator = new Visitor();
        operator.signIn(key);
        operator.post("/ui/runs", Map.of("csrf", operator.token("/ui/runs/new"), "task", "chain_sum"));
        String id = gateway.platform().newest();
        HttpResponse<InputStream> stream = operator.client.send(
                HttpRequest.newBuilder(gateway.at("/adaptations/" + id + "/events"))
                        .build(),
                BodyHandlers.ofInputStream());
        try (InputStream body = stream.body()) {
            StringBuilder text = new StringBuilder();
            while (text.indexOf("\n\n") < 0) {
                text.append((char) body.read());
            }
            assertThat(text).contains("event: state");
            gateway.revoke(key);
            gateway.platform().goOn(id);
            assertThat(new String(body.readAllBytes(), UTF_8)).doesNotContain("event: round.finished");
        }
    }

    @Test
    void serves_only_the_files_on_its_list() throws Exception {
        Visitor visitor = new Visitor();
        for (String file : List.of("app.css", "app.js", "htmx.js", "uplot.js", "uplot.css", "mark.svg")) {
            HttpResponse<String> answer = visitor.get("/ui/assets/" + file);
            assertThat(answer.statusCode()).as(file).isEqualTo(200);
            assertThat(answer.headers().firstValue("ETag")).as(file).isPresent();
        }
        for (String file : List.of("layout.html", "gateway.yaml", "app.js.map")) {
            assertThat(visitor.get("/ui/assets/" + file).statusCode()).as(file).isEqualTo(404);
        }
    }
}
