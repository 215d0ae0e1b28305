package org.harnesslearning.solver.inference;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpResponse;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.harnesslearning.llm.EngineStatistics;
import org.harnesslearning.testing.RequiresModel;
import org.harnesslearning.testing.SharedData;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Shutdown of a real server with calls in flight. */
@RequiresModel
@Timeout(120)
class DrainTest {
    private static final String STORY =
            "{\"model\": \"solver\", \"messages\": [{\"role\": \"user\", \"content\": \"Tell a story.\"}],"
                    + " \"temperature\": 0, \"ignore_eos\": true, ";

    private static SolverServer server(String drainTimeout) {
        return new SolverServer(
                "--solver.discover=false",
                "--solver.models[0].name=solver",
                "--solver.models[0].kind=local",
                "--solver.models[0].checkpoint=" + SharedData.model("smollm2-135m"),
                "--solver.preload=solver",
                "--solver.defaults.slots=2",
                "--solver.defaults.max-sequence=4096",
                "--solver.drain-timeout=" + drainTimeout);
    }

    private static EngineStatistics statistics(SolverServer server) {
        return server.context.getBean(ModelRegistry.class).get("solver").statistics();
    }

    private static CompletableFuture<HttpResponse<String>> ask(SolverServer server, String fields) {
        return CompletableFuture.supplyAsync(() -> server.post("/v1/chat/completions", STORY + fields + "}"));
    }

    private static void assertRefused(HttpResponse<String> response) {
        assertThat(response.statusCode()).isEqualTo(503);
        assertThat(response.headers().firstValue("Retry-After")).isPresent();
        assertThat(response.body()).contains("DRAINING");
    }

    @Test
    void calls_in_flight_finish_while_new_ones_are_refused() throws Exception {
        SolverServer server = server("60s");
        CompletableFuture<HttpResponse<String>> whole = ask(server, "\"max_tokens\": 120");
        CompletableFuture<HttpResponse<String>> streamed = ask(server, "\"max_tokens\": 120, \"stream\": true");
        Await.until(() -> statistics(server).running() == 2);
        CompletableFuture<Void> closing = CompletableFuture.runAsync(server::close);
        Await.until(() -> !server.context.getBean(RunningCalls.class).isRunning());
        assertRefused(server.post("/v1/chat/completions", STORY + "\"max_tokens\": 1}"));
        assertRefused(server.post("/v1/completions", "{\"model\": \"solver\", \"prompt\": \"x\", \"stream\": true}"));
        assertThat(whole.get().statusCode()).isEqualTo(200);
        assertThat(whole.get().body()).contains("\"finish_reason\":\"length\"", "\"completion_tokens\":120");
        assertThat(streamed.get().body())
                .contains("\"finish_reason\":\"length\"")
                .endsWith("data: [DONE]\n\n");
        closing.get(60, TimeUnit.SECONDS);
    }

    @Test
    void what_runs_at_the_deadline_is_cut_off_in_order() throws Exception {
        SolverServer server = server("200ms");
        CompletableFuture<HttpResponse<String>> whole = ask(server, "\"max_tokens\": 4000");
        CompletableFuture<HttpResponse<String>> streamed = ask(server, "\"max_tokens\": 4000, \"stream\": true");
        Await.until(() -> statistics(server).running() == 2);
        CompletableFuture<Void> closing = CompletableFuture.runAsync(server::close);
        assertThat(streamed.get(60, TimeUnit.SECONDS).body())
                .contains("\"finish_reason\":\"cancelled\"")
                .endsWith("data: [DONE]\n\n");
        // Half a reply is none: it must not be taken for what the model had to say.
        assertRefused(whole.get(60, TimeUnit.SECONDS));
        closing.get(60, TimeUnit.SECONDS);
    }
}
