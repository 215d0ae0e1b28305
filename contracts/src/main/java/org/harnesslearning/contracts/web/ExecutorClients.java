package org.harnesslearning.contracts.web;

import io.micrometer.observation.ObservationRegistry;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.net.http.HttpConnectTimeoutException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.execution.CheckRequest;
import org.harnesslearning.contracts.execution.CheckResult;
import org.harnesslearning.contracts.execution.ExecutionRequest;
import org.harnesslearning.contracts.execution.ExecutionStatus;
import org.harnesslearning.contracts.execution.ExecutorApi;
import org.harnesslearning.contracts.execution.GenerateRequest;
import org.harnesslearning.contracts.execution.GenerateResponse;
import org.harnesslearning.contracts.execution.SandboxOffer;
import org.harnesslearning.contracts.hash.Hashes;
import org.springframework.web.client.RestClientException;

/**
 * The executor behind a name with any number of replicas. An execution is asked for again and again until it has ended,
 * and each replica that is asked begins it; so all questions about one id go to one replica: the one with the highest hash
 * of id and address among those that the name resolves to now. A replica that does not accept a connection, or is shutting
 * down, is passed over for the next one, which keeps the id from then on. Nothing is lost by a change: results are in the
 * store.
 *
 * <p>The name has to resolve to the replicas themselves, as in Docker networks and by headless services of Kubernetes; one
 * address is used as it is.
 */
public final class ExecutorClients implements ExecutorApi {
    private static final int REMEMBERED = 10_000;

    private final URI baseUrl;
    private final Function<String, List<InetAddress>> resolver;
    private final Function<URI, ExecutorApi> clients;
    private final ExecutorApi single;
    private final Map<InetAddress, ExecutorApi> byAddress = new ConcurrentHashMap<>();

    /** Where the latest question about an id was answered; the oldest are forgotten. */
    private final Map<String, InetAddress> homes = new LinkedHashMap<>();

    private ExecutorClients(
            URI baseUrl, Function<String, List<InetAddress>> resolver, Function<URI, ExecutorApi> clients) {
        this.baseUrl = baseUrl;
        this.resolver = resolver;
        this.clients = clients;
        this.single = clients.apply(baseUrl);
    }

    /** A client like those of {@link InternalClients}. */
    public static ExecutorApi create(
            URI baseUrl, String secret, Duration readTimeout, ObservationRegistry observations) {
        return create(baseUrl, secret, readTimeout, observations, ExecutorClients::resolve);
    }

    static ExecutorApi create(
            URI baseUrl,
            String secret,
            Duration readTimeout,
            ObservationRegistry observations,
            Function<String, List<InetAddress>> resolver) {
        return new ExecutorClients(
                baseUrl,
                resolver,
                url -> InternalClients.create(ExecutorApi.class, url, secret, readTimeout, observations));
    }

    /** All addresses now; none where the name is not known at this moment. */
    private static List<InetAddress> resolve(String host) {
        try {
            return Arrays.asList(InetAddress.getAllByName(host));
        } catch (UnknownHostException e) {
            return List.of();
        }
    }

    @Override
    public ExecutionStatus execute(ExecutionRequest request, int waitS) {
        return ask(request.id(), client -> client.execute(request, waitS));
    }

    @Override
    public void cancel(String id) {
        ask(id, client -> {
            client.cancel(id);
            return true;
        });
    }

    @Override
    public SandboxOffer offer() {
        return ask("offer", ExecutorApi::offer);
    }

    @Override
    public CheckResult check(CheckRequest request) {
        return ask(Hashes.json(request), client -> client.check(request));
    }

    @Override
    public GenerateResponse generate(GenerateRequest request) {
        return ask(Hashes.json(request), client -> client.generate(request));
    }

    private <T> T ask(String key, Function<ExecutorApi, T> call) {
        List<InetAddress> addresses = "http".equals(baseUrl.getScheme()) && baseUrl.getHost() != null
                ? resolver.apply(baseUrl.getHost())
                : List.of();
        if (addresses.size() < 2) {
            return call.apply(single);
        }
        // Clients of replicas that are gone.
        byAddress.keySet().retainAll(addresses);
        List<InetAddress> order = order(key, addresses);
        for (int i = 0; ; i++) {
            InetAddress address = order.get(i);
            try {
                T answer = call.apply(byAddress.computeIfAbsent(address, this::client));
                remember(key, address);
                return answer;
            } catch (PlatformException e) {
                if (e.code() != ErrorCode.DRAINING || i + 1 == order.size()) {
                    throw e;
                }
            } catch (RestClientException e) {
                if (!neverSent(e) || i + 1 == order.size()) {
                    throw e;
                }
            }
        }
    }

    private List<InetAddress> order(String key, List<InetAddress> addresses) {
        InetAddress home;
        synchronized (homes) {
            home = homes.get(key);
        }
        return addresses.stream()
                .sorted(Comparator.comparing((InetAddress address) -> !address.equals(home))
                        .thenComparing(
                                address -> Hashes.json(List.of(key, address.getHostAddress())),
                                Comparator.reverseOrder()))
                .toList();
    }

    private void remember(String key, InetAddress address) {
        synchronized (homes) {
            homes.remove(key);
            homes.put(key, address);
            if (homes.size() > REMEMBERED) {
                homes.remove(homes.keySet().iterator().next());
            }
        }
    }

    private ExecutorApi client(InetAddress address) {
        String host = address.getHostAddress();
        String literal = host.contains(":") ? "[" + host + "]" : host;
        String port = baseUrl.getPort() < 0 ? "" : ":" + baseUrl.getPort();
        String path = baseUrl.getPath() == null ? "" : baseUrl.getPath();
        return clients.apply(URI.create("http://" + literal + port + path));
    }

    /** Whether no connection was made, so that nothing can have begun there. */
    private static boolean neverSent(Throwable e) {
        for (Throwable cause = e; cause != null; cause = cause.getCause()) {
            if (cause instanceof ConnectException || cause instanceof HttpConnectTimeoutException) {
                return true;
            }
        }
        return false;
    }
}
