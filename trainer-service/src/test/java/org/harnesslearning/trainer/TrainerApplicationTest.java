package org.harnesslearning.trainer;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import org.harnesslearning.testing.RequiresPostgres;
import org.harnesslearning.testing.TestPostgres;
import org.junit.jupiter.api.Test;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;

@RequiresPostgres
class TrainerApplicationTest {
    @Test
    void starts_and_answers_health() throws Exception {
        try (ConfigurableApplicationContext trainer = new SpringApplicationBuilder(TrainerApplication.class)
                        .run(
                                "--spring.config.name=trainer-service",
                                "--server.port=0",
                                "--platform.internal-secret=secret",
                                "--spring.datasource.url=" + TestPostgres.jdbcUrl(TestPostgres.createDatabase()),
                                "--spring.datasource.username=postgres");
                HttpClient client = HttpClient.newHttpClient()) {
            String base = "http://127.0.0.1:" + trainer.getEnvironment().getProperty("local.server.port");
            for (String path : new String[] {"/livez", "/readyz", "/metrics"}) {
                HttpRequest request =
                        HttpRequest.newBuilder(URI.create(base + path)).build();
                assertThat(client.send(request, BodyHandlers.ofString()).statusCode())
                        .as(path)
                        .isEqualTo(200);
            }
            HttpRequest other =
                    HttpRequest.newBuilder(URI.create(base + "/anything")).build();
            assertThat(client.send(other, BodyHandlers.ofString()).statusCode()).isEqualTo(401);
        }
    }
}
