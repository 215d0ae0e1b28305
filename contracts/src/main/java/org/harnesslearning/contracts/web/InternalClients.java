package org.harnesslearning.contracts.web;

import io.micrometer.observation.ObservationRegistry;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.time.Duration;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.trace.WorkContext;
import org.slf4j.MDC;
import org.springframework.http.HttpRequest;
import org.springframework.http.client.ClientHttpRequestExecution;
import org.springframework.http.client.ClientHttpResponse;
import org.springframework.http.client.JdkClientHttpRequestFactory;
import org.springframework.http.converter.json.JacksonJsonHttpMessageConverter;
import org.springframework.web.client.RestClient;
import org.springframework.web.client.support.RestClientAdapter;
import org.springframework.web.service.invoker.HttpServiceProxyFactory;
import tools.jackson.core.JacksonException;

/** Makes clients of the internal HTTP interfaces; errors come back as the {@link PlatformException} that was thrown. */
public final class InternalClients {
    private InternalClients() {}

    /** A client whose calls are not observed; see {@link #create(Class, URI, String, Duration, ObservationRegistry)}. */
    public static <T> T create(Class<T> api, URI baseUrl, String secret, Duration readTimeout) {
        return create(api, baseUrl, secret, readTimeout, ObservationRegistry.NOOP);
    }

    /**
     * A client. Its calls carry the ids of the run and the request that the calling thread works for, and the trace.
     *
     * @param api an {@code @HttpExchange} interface
     * @param baseUrl such as {@code http://localhost:8083}
     * @param readTimeout most time for one answer; above the longest wait that the caller asks for
     * @param observations what measures and traces the calls
     */
    public static <T> T create(
            Class<T> api, URI baseUrl, String secret, Duration readTimeout, ObservationRegistry observations) {
        return HttpServiceProxyFactory.builderFor(
                        RestClientAdapter.create(rest(baseUrl, secret, readTimeout, observations)))
                .build()
                .createClient(api);
    }

    /** A client for calls that no interface lists; the same headers, JSON and errors. */
    public static RestClient rest(URI baseUrl, String secret, Duration readTimeout, ObservationRegistry observations) {
        JdkClientHttpRequestFactory requests = new JdkClientHttpRequestFactory(HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .connectTimeout(Duration.ofSeconds(5))
                .build());
        requests.setReadTimeout(readTimeout);
        return RestClient.builder()
                .baseUrl(baseUrl.toString())
                .requestFactory(requests)
                .observationRegistry(observations)
                .defaultHeader(InternalSecretFilter.HEADER, secret)
                .requestInterceptor(InternalClients::named)
                .configureMessageConverters(
                        converters -> converters.withJsonConverter(new JacksonJsonHttpMessageConverter(Json.mapper())))
                .defaultStatusHandler(status -> status.isError(), (request, response) -> {
                    throw failure(response);
                })
                .build();
    }

    private static ClientHttpResponse named(HttpRequest request, byte[] body, ClientHttpRequestExecution execution)
            throws IOException {
        String run = WorkContext.run();
        if (run != null) {
            request.getHeaders().set(InternalSecretFilter.RUN, run);
        }
        String id = MDC.get(WorkContext.REQUEST);
        if (id != null) {
            request.getHeaders().set(RequestIdFilter.HEADER, id);
        }
        return execution.execute(request, body);
    }

    /** The error that an answer carries as problem details; INTERNAL for one without them. */
    public static PlatformException failure(ClientHttpResponse response) throws IOException {
        byte[] body = response.getBody().readAllBytes();
        int status = response.getStatusCode().value();
        try {
            Problem problem = Json.mapper().readValue(body, Problem.class);
            String retryAfter = response.getHeaders().getFirst("Retry-After");
            Integer seconds = retryAfter != null && retryAfter.matches("\\d{1,6}") ? Integer.valueOf(retryAfter) : null;
            return new PlatformException(problem.code(), problem.detail(), problem.errors(), seconds, null);
        } catch (JacksonException e) {
            return new PlatformException(
                    ErrorCode.INTERNAL, "An internal service answered " + status + " without problem details", e);
        }
    }
}
