package org.harnesslearning.contracts.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.model.ModelApi;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.mock.web.MockHttpServletResponse;
import org.springframework.test.web.servlet.request.MockMvcRequestBuilders;
import org.springframework.test.web.servlet.setup.MockMvcBuilders;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.context.request.async.AsyncRequestNotUsableException;

class WebTest {
    private HttpServer server;
    private volatile int status;
    private volatile String body;
    private volatile String secret;

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            secret = exchange.getRequestHeaders().getFirst(InternalSecretFilter.HEADER);
            byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("Content-Type", status < 400 ? "application/json" : Problem.MEDIA_TYPE);
            exchange.getResponseHeaders().set("Retry-After", "7");
            exchange.sendResponseHeaders(status, bytes.length);
            exchange.getResponseBody().write(bytes);
            exchange.close();
        });
        server.start();
    }

    @AfterEach
    void stop() {
        server.stop(0);
    }

    private ModelApi client() {
        return InternalClients.create(
                ModelApi.class,
                URI.create("http://127.0.0.1:" + server.getAddress().getPort()),
                "s3cret",
                Duration.ofSeconds(10));
    }

    @Test
    void a_client_sends_the_secret_and_reads_snake_case() {
        status = 200;
        body = "{\"object\":\"list\",\"data\":[{\"id\":\"m\",\"object\":\"model\",\"created\":1,\"owned_by\":\"x\","
                + "\"kind\":\"local\",\"identity\":\"sha256:00\",\"max_model_len\":8}]}";
        assertThat(client().models().data().getFirst().maxModelLen()).isEqualTo(8);
        assertThat(secret).isEqualTo("s3cret");
    }

    @Test
    void a_problem_comes_back_as_the_exception_that_was_thrown() {
        status = 429;
        body =
                "{\"type\":\"about:blank\",\"title\":\"t\",\"status\":429,\"detail\":\"full\",\"code\":\"QUEUE_FULL\",\"errors\":[]}";
        PlatformException e = catchThrowableOfType(PlatformException.class, () -> client().models());
        assertThat(e.code()).isEqualTo(ErrorCode.QUEUE_FULL);
        assertThat(e.getMessage()).isEqualTo("full");
        assertThat(e.retryAfterSeconds()).isEqualTo(7);
    }

    @Test
    void an_answer_without_problem_details_is_an_internal_error() {
        status = 502;
        body = "<html>bad gateway</html>";
        PlatformException e = catchThrowableOfType(PlatformException.class, () -> client().models());
        assertThat(e.code()).isEqualTo(ErrorCode.INTERNAL);
        assertThat(e.getMessage()).contains("502");
    }

    @RestController
    static class Streams {
        @GetMapping("/stream")
        void stream() throws IOException {
            throw new AsyncRequestNotUsableException("the client has gone");
        }
    }

    @Test
    void a_client_that_has_gone_is_told_of_no_failure() throws Exception {
        MockHttpServletResponse response = MockMvcBuilders.standaloneSetup(new Streams())
                .setControllerAdvice(new ProblemAdvice())
                .build()
                .perform(MockMvcRequestBuilders.get("/stream"))
                .andReturn()
                .getResponse();

        assertThat(response.getStatus()).isEqualTo(200);
        assertThat(response.getContentAsString()).isEmpty();
    }
}
