package org.harnesslearning.gateway.route;

import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpTimeoutException;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.apache.tomcat.util.http.InvalidParameterException;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.web.InternalSecretFilter;
import org.harnesslearning.contracts.web.Problem;
import org.harnesslearning.contracts.web.RequestIdFilter;
import org.harnesslearning.gateway.edge.Caller;
import org.harnesslearning.gateway.edge.CallerCheck;
import org.harnesslearning.gateway.edge.LimitedBody;
import org.harnesslearning.gateway.edge.Problems;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.cloud.gateway.server.mvc.common.MvcUtils;
import org.springframework.cloud.gateway.server.mvc.filter.BeforeFilterFunctions;
import org.springframework.cloud.gateway.server.mvc.handler.GatewayRouterFunctions;
import org.springframework.cloud.gateway.server.mvc.handler.HandlerFunctions;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.http.MediaType;
import org.springframework.http.client.ClientHttpRequest;
import org.springframework.http.client.ClientHttpRequestFactory;
import org.springframework.http.client.JdkClientHttpRequestFactory;
import org.springframework.web.servlet.function.HandlerFunction;
import org.springframework.web.servlet.function.RequestPredicates;
import org.springframework.web.servlet.function.RouterFunction;
import org.springframework.web.servlet.function.RouterFunctions;
import org.springframework.web.servlet.function.ServerRequest;
import org.springframework.web.servlet.function.ServerResponse;

/**
 * Passes the public API on to the services behind. On the way in, the caller's credentials and every internal header are
 * replaced by the platform's own; on the way out, internal headers are dropped and an error without problem details
 * gets them.
 */
@Configuration(proxyBeanMethods = false)
class Routes {
    /** Who calls, for the services behind. */
    static final String KEY_ID = "X-Key-Id";

    static final String KEY_SCOPE = "X-Key-Scope";

    private static final Logger LOG = LoggerFactory.getLogger(Routes.class);
    private static final int RETRY_AFTER_S = 5;
    private static final Set<String> DROPPED_FROM_CALLER =
            Set.of("authorization", "cookie", "forwarded", "x-request-id");
    private static final Set<String> DROPPED_FROM_ANSWER =
            Set.of("server", "set-cookie", "x-request-id", "www-authenticate", "via", "x-powered-by");

    @Bean
    ClientHttpRequestFactory upstreamRequests(UpstreamSettings settings) {
        HttpClient client = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .connectTimeout(settings.connectTimeout())
                .followRedirects(HttpClient.Redirect.NEVER)
                .build();
        JdkClientHttpRequestFactory bounded = new JdkClientHttpRequestFactory(client);
        bounded.setReadTimeout(settings.answerTimeout());
        // The bound covers the whole body, which would cut a long stream of events.
        JdkClientHttpRequestFactory unbounded = new JdkClientHttpRequestFactory(client);
        return new ClientHttpRequestFactory() {
            @Override
            public ClientHttpRequest createRequest(URI uri, HttpMethod method) throws IOException {
                return (uri.getPath().endsWith("/events") ? unbounded : bounded).createRequest(uri, method);
            }
        };
    }

    @Bean
    RouterFunction<ServerResponse> publicRoutes(PublicApi api, UpstreamSettings settings, CallerCheck callers) {
        return routes("proposer-service", Endpoint.Access.PROPOSER, settings.proposerUrl(), api, settings, callers)
                .and(routes("trainer-service", Endpoint.Access.TRAINER, settings.trainerUrl(), api, settings, callers));
    }

    private static RouterFunction<ServerResponse> routes(
            String service,
            Endpoint.Access access,
            URI url,
            PublicApi api,
            UpstreamSettings settings,
            CallerCheck callers) {
        RouterFunctions.Builder routes = GatewayRouterFunctions.route(service);
        for (Endpoint endpoint : api.endpoints()) {
            if (endpoint.access() == access) {
                routes.route(
                        RequestPredicates.path(endpoint.path().getPatternString())
                                .and(request -> endpoint.takes(request.method())),
                        HandlerFunctions.http());
            }
        }
        return routes.filter(Routes::guarded)
                .before(BeforeFilterFunctions.uri(url))
                .before(request -> inwards(request, settings.internalSecret()))
                .after(Routes::outwards)
                .after((request, response) -> guardEvents(request, response, callers))
                .build();
    }

    private static ServerRequest inwards(ServerRequest request, String secret) {
        Caller caller = Caller.of(request.servletRequest());
        String requestId = RequestIdFilter.requestId(request.servletRequest());
        return ServerRequest.from(request)
                .headers(headers -> {
                    List.copyOf(headers.headerNames()).stream()
                            .filter(name -> fromCallerDropped(name.toLowerCase(Locale.ROOT)))
                            .forEach(headers::remove);
                    headers.set(InternalSecretFilter.HEADER, secret);
                    headers.set(KEY_ID, caller.keyId());
                    headers.set(KEY_SCOPE, caller.scope().text());
                    if (requestId != null) {
                        headers.set(RequestIdFilter.HEADER, requestId);
                    }
                })
                .build();
    }

    private static boolean fromCallerDropped(String name) {
        return DROPPED_FROM_CALLER.contains(name)
                || name.startsWith("x-internal-")
                || name.startsWith("x-key-")
                || name.startsWith("x-forwarded-");
    }

    private static ServerResponse outwards(ServerRequest request, ServerResponse response) {
        int status = response.statusCode().value();
        MediaType type = response.headers().getContentType();
        boolean problem = type != null && Problem.MEDIA_TYPE.equals(type.getType() + "/" + type.getSubtype());
        // 304 and other answers below 400 pass as they are.
        if (status >= 400 && !problem && !request.method().equals(HttpMethod.HEAD)) {
            discardBody(request);
            return Problems.answer(request.servletRequest(), Problems.codeOf(status), "The request can't be served");
        }
        if (status == 401) {
            // The gateway's own credentials were refused: not the caller's fault.
            discardBody(request);
            LOG.error("{} {}: the service behind refuses the installation's secret", request.method(), request.path());
            return Problems.answer(
                    request.servletRequest(), ErrorCode.INTERNAL, "The request failed inside the platform");
        }
        HttpHeaders headers = response.headers();
        List.copyOf(headers.headerNames()).stream()
                .filter(name -> {
                    String lower = name.toLowerCase(Locale.ROOT);
                    return DROPPED_FROM_ANSWER.contains(lower)
                            || lower.startsWith("x-internal-")
                            || lower.startsWith("x-key-");
                })
                .forEach(headers::remove);
        return response;
    }

    /** A stream of events outlives its request by hours, and must not outlive the key. */
    private static ServerResponse guardEvents(ServerRequest request, ServerResponse response, CallerCheck callers) {
        MediaType type = response.headers().getContentType();
        if (MediaType.TEXT_EVENT_STREAM.equalsTypeAndSubtype(type)
                && MvcUtils.getAttribute(request, MvcUtils.CLIENT_RESPONSE_INPUT_STREAM_ATTR)
                        instanceof InputStream events) {
            MvcUtils.putAttribute(
                    request,
                    MvcUtils.CLIENT_RESPONSE_INPUT_STREAM_ATTR,
                    new GuardedStream(events, () -> callers.holds(request.servletRequest())));
        }
        return response;
    }

    private static void discardBody(ServerRequest request) {
        if (MvcUtils.getAttribute(request, MvcUtils.CLIENT_RESPONSE_INPUT_STREAM_ATTR) instanceof InputStream body) {
            try {
                body.close();
            } catch (IOException e) {
                LOG.debug("closing an unread answer failed", e);
            }
        }
    }

    private static ServerResponse guarded(ServerRequest request, HandlerFunction<ServerResponse> next)
            throws Exception {
        try {
            return next.handle(request);
        } catch (Exception e) {
            if (LimitedBody.exceeded(request.servletRequest())) {
                return Problems.answer(
                        request.servletRequest(), ErrorCode.TOO_LARGE, LimitedBody.detail(request.servletRequest()));
            }
            for (Throwable cause = e; cause != null; cause = cause.getCause()) {
                if (cause instanceof InvalidParameterException) {
                    return Problems.answer(
                            request.servletRequest(), ErrorCode.INVALID_FIELD, "The query can't be read");
                }
                if (cause instanceof HttpTimeoutException) {
                    LOG.warn("{} {}: no answer in time", request.method(), request.path());
                    return Problems.unavailable(
                            request.servletRequest(), "The service behind did not answer in time", RETRY_AFTER_S);
                }
                if (cause instanceof IOException) {
                    LOG.warn("{} {}: {}", request.method(), request.path(), cause.toString());
                    return Problems.unavailable(
                            request.servletRequest(), "The service behind can't be reached", RETRY_AFTER_S);
                }
            }
            LOG.error("{} {} failed", request.method(), request.path(), e);
            return Problems.answer(
                    request.servletRequest(), ErrorCode.INTERNAL, "The request failed inside the platform");
        }
    }
}
