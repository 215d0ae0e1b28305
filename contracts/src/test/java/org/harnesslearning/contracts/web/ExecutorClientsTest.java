package org.harnesslearning.contracts.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import com.sun.net.httpserver.HttpServer;
import io.micrometer.observation.ObservationRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.execution.ExecutorApi;
import org.harnesslearning.contracts.json.Json;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.web.client.RestClientException;

/** Three replicas on addresses of the loopback network, all on one port. */
class ExecutorClientsTest {
    private final Map<InetAddress, HttpServer> replicas = new ConcurrentHashMap<>();
    private final Map<String, List<InetAddress>> asked = new ConcurrentHashMap<>();
    private final List<InetAddress> draining = Collections.synchronizedList(new ArrayList<>());
    private List<InetAddress> resolved = List.of();
    private int port;
    private ExecutorApi executor;

    @BeforeEach
    void start() throws IOException {
        InetAddress first = InetAddress.getByName("127.0.0.1");
        start(first, 0);
        port = replicas.get(first).getAddress().getPort();
        start(InetAddress.getByName("127.0.0.2"), port);
        start(InetAddress.getByName("127.0.0.3"), port);
        resolved = List.copyOf(replicas.keySet());
        executor = ExecutorClients.create(
                URI.create("http://executor.test:" + port),
                "s3cret",
                Duration.ofSeconds(10),
                ObservationRegistry.NOOP,
                host -> {
                    List<InetAddress> shuffled = new ArrayList<>(resolved);
                    // As a name server answers: in another order each time.
                    Collections.shuffle(shuffled);
                    return shuffled;
                });
    }

    private void start(InetAddress address, int onPort) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(address, onPort), 0);
        server.createContext("/", exchange -> {
            String id = exchange.getRequestURI().getQuery().substring("id=".length());
            asked.computeIfAbsent(id, key -> Collections.synchronizedList(new ArrayList<>()))
                    .add(address);
            byte[] body = new byte[0];
            int status = 200;
            if (draining.contains(address)) {
                body = Json.write(Problem.of(ErrorCode.DRAINING, "going", null, List.of()))
                        .getBytes(StandardCharsets.UTF_8);
                status = 503;
            }
            exchange.getResponseHeaders().set("Content-Type", Problem.MEDIA_TYPE);
            exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
        replicas.put(address, server);
    }

    @AfterEach
    void stop() {
        replicas.values().forEach(server -> server.stop(0));
    }

    @Test
    void all_questions_about_one_id_go_to_one_replica_and_different_ids_spread_over_all() {
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < 60; i++) {
                executor.cancel("run/" + i);
            }
        }

        Map<String, Integer> byReplica = new TreeMap<>();
        asked.forEach((id, addresses) -> {
            assertThat(addresses).as(id).hasSize(3);
            assertThat(addresses.stream().distinct()).as(id).hasSize(1);
            byReplica.merge(addresses.getFirst().getHostAddress(), 1, Integer::sum);
        });
        assertThat(byReplica)
                .hasSize(3)
                .allSatisfy((address, count) -> assertThat(count).as(address).isGreaterThan(8));
    }

    @Test
    void an_id_moves_on_when_its_replica_dies_and_stays_there_when_that_one_is_back() throws IOException {
        executor.cancel("run/a");
        InetAddress home = asked.get("run/a").getFirst();

        replicas.get(home).stop(0);
        executor.cancel("run/a");
        InetAddress second = asked.get("run/a").getLast();
        start(home, port);
        executor.cancel("run/a");

        assertThat(second).isNotEqualTo(home);
        assertThat(asked.get("run/a")).containsExactly(home, second, second);
    }

    @Test
    void a_replica_that_shuts_down_is_passed_over() {
        executor.cancel("run/b");
        InetAddress home = asked.get("run/b").getFirst();
        draining.add(home);

        executor.cancel("run/b");

        assertThat(asked.get("run/b")).hasSize(3);
        assertThat(asked.get("run/b").get(1)).isEqualTo(home);
        assertThat(asked.get("run/b").get(2)).isNotEqualTo(home);
    }

    @Test
    void an_id_whose_replica_is_gone_from_the_names_addresses_moves_on() {
        executor.cancel("run/c");
        InetAddress home = asked.get("run/c").getFirst();
        resolved = replicas.keySet().stream()
                .filter(address -> !address.equals(home))
                .toList();

        executor.cancel("run/c");

        assertThat(asked.get("run/c").getLast()).isNotEqualTo(home);
    }

    @Test
    void the_failure_is_told_when_no_replica_takes_the_call() {
        replicas.values().forEach(server -> server.stop(0));

        assertThat(catchThrowable(() -> executor.cancel("run/d"))).isInstanceOf(RestClientException.class);
        assertThat(asked).isEmpty();
    }
}
