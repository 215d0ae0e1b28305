package org.harnesslearning.gateway.page;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.gateway.GatewayApplication;
import org.harnesslearning.testing.TestPostgres;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.simple.JdbcClient;
import tools.jackson.databind.JsonNode;

/** A gateway with its own database, and the double of what stands behind it. */
final class PagesGateway implements AutoCloseable {
    static final String ADMIN = "hl_test-admin-key-0123456789-0123456789";

    private final PlatformDouble platform = new PlatformDouble();
    private final String database = TestPostgres.createDatabase();
    private final ConfigurableApplicationContext context;
    private final HttpClient client = HttpClient.newHttpClient();
    private final AtomicInteger number = new AtomicInteger();
    private final Map<String, JsonNode> keys = new HashMap<>();

    PagesGateway(String... more) {
        Map<String, String> options = new LinkedHashMap<>();
        options.put("spring.config.name", "gateway");
        options.put("server.port", "0");
        options.put("server.address", "127.0.0.1");
        options.put("spring.datasource.url", TestPostgres.jdbcUrl(database));
        options.put("spring.datasource.username", "postgres");
        options.put("platform.internal-secret", "installation-secret");
        options.put("platform.proposer-url", platform.url().toString());
        options.put("platform.trainer-url", platform.url().toString());
        options.put("gateway.key.bootstrap", ADMIN);
        options.put("gateway.rate.burst", "5000");
        for (String option : more) {
            options.put(option.substring(2, option.indexOf('=')), option.substring(option.indexOf('=') + 1));
        }
        context = new SpringApplicationBuilder(GatewayApplication.class)
                .run(options.entrySet().stream()
                        .map(option -> "--" + option.getKey() + "=" + option.getValue())
                        .toArray(String[]::new));
    }

    PlatformDouble platform() {
        return platform;
    }

    URI at(String path) {
        return URI.create("http://127.0.0.1:" + context.getEnvironment().getProperty("local.server.port") + path);
    }

    /** The secret of a new key. */
    String key(String scope) throws Exception {
        HttpResponse<String> answer = client.send(
                HttpRequest.newBuilder(at("/keys"))
                        .header("Authorization", "Bearer " + ADMIN)
                        .header("Content-Type", "application/json")
                        .POST(BodyPublishers.ofString("{\"name\":\"%s %d\",\"scope\":\"%s\"}"
                                .formatted(scope, number.incrementAndGet(), scope)))
                        .build(),
                BodyHandlers.ofString());
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(201);
        JsonNode key = Json.mapper().readTree(answer.body());
        keys.put(key.get("key").stringValue(), key);
        return key.get("key").stringValue();
    }

    String name(String key) {
        return keys.get(key).get("name").stringValue();
    }

    void revoke(String key) throws Exception {
        HttpResponse<String> answer = client.send(
                HttpRequest.newBuilder(at("/keys/" + keys.get(key).get("id").stringValue()))
                        .header("Authorization", "Bearer " + ADMIN)
                        .DELETE()
                        .build(),
                BodyHandlers.ofString());
        assertThat(answer.statusCode()).isEqualTo(204);
    }

    String database(String query) {
        return JdbcClient.create(TestPostgres.dataSource(database))
                .sql(query)
                .query(String.class)
                .single();
    }

    void update(String statement) {
        JdbcClient.create(TestPostgres.dataSource(database)).sql(statement).update();
    }

    @Override
    public void close() {
        context.close();
        platform.close();
    }
}
