package org.harnesslearning.gateway.route;

import io.micrometer.observation.ObservationRegistry;
import java.net.URI;
import java.util.List;
import java.util.Optional;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.web.InternalClients;
import org.harnesslearning.gateway.edge.Caller;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpMethod;
import org.springframework.http.MediaType;
import org.springframework.stereotype.Component;
import org.springframework.web.client.ResourceAccessException;
import org.springframework.web.client.RestClient;

/**
 * The public API as the gateway's own pages call it: the endpoints, scopes and services of {@link PublicApi}, on behalf
 * of the one who looks at the page. So no page shows or does what the caller could not see or do with the key itself.
 */
@Component
public final class Upstream {
    private final PublicApi api;
    private final UpstreamSettings settings;
    private final RestClient client;

    Upstream(PublicApi api, UpstreamSettings settings, ObservationRegistry observations) {
        this.api = api;
        this.settings = settings;
        this.client = InternalClients.rest(
                settings.proposerUrl(), settings.internalSecret(), settings.answerTimeout(), observations);
    }

    /**
     * Calls an endpoint.
     *
     * @param target path and query as on the wire, percent-encoded
     * @param type of the body; null without one
     * @param accept what to ask for
     * @return the body of the answer; empty for none
     * @throws PlatformException the endpoint's own error; INSUFFICIENT_SCOPE; DRAINING when the service is away
     */
    public byte[] call(
            Caller caller,
            HttpMethod method,
            URI target,
            MediaType accept,
            @Nullable MediaType type,
            byte @Nullable [] body) {
        List<Endpoint> here = api.at(target.getRawPath());
        Endpoint endpoint = here.stream()
                .filter(candidate -> candidate.takes(method))
                .findFirst()
                .orElseThrow(() -> new PlatformException(ErrorCode.NOT_FOUND, "No resource at " + target.getRawPath()));
        if (!caller.scope().includes(endpoint.scope())) {
            throw new PlatformException(
                    ErrorCode.INSUFFICIENT_SCOPE,
                    "This needs a key of scope " + endpoint.scope().text() + "; yours has scope "
                            + caller.scope().text());
        }
        RestClient.RequestBodySpec request = client.method(method)
                .uri(URI.create(service(endpoint).toString().replaceAll("/+$", "") + target))
                .header(Routes.KEY_ID, caller.keyId())
                .header(Routes.KEY_SCOPE, caller.scope().text())
                .accept(accept);
        if (type != null && body != null) {
            // As it is: a JSON converter would write bytes as a text of base64.
            request.contentType(type).contentLength(body.length).body(out -> out.write(body));
        }
        try {
            byte[] answer = request.exchange((sent, received) -> {
                if (received.getStatusCode().isError()) {
                    throw InternalClients.failure(received);
                }
                return received.getBody().readAllBytes();
            });
            return Optional.ofNullable(answer).orElse(new byte[0]);
        } catch (ResourceAccessException e) {
            throw new PlatformException(ErrorCode.DRAINING, "The service behind can't be reached", e);
        }
    }

    private URI service(Endpoint endpoint) {
        if (endpoint.access() == Endpoint.Access.TRAINER) {
            return settings.trainerUrl();
        }
        if (endpoint.access() != Endpoint.Access.PROPOSER) {
            throw new IllegalArgumentException(endpoint.path() + " is answered by the gateway itself");
        }
        return settings.proposerUrl();
    }
}
