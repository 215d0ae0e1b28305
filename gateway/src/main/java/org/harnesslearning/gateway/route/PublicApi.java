package org.harnesslearning.gateway.route;

import static org.harnesslearning.gateway.route.Endpoint.Access.GATEWAY;
import static org.harnesslearning.gateway.route.Endpoint.Access.OPEN;
import static org.harnesslearning.gateway.route.Endpoint.Access.OPEN_PAGE;
import static org.harnesslearning.gateway.route.Endpoint.Access.PAGE;
import static org.harnesslearning.gateway.route.Endpoint.Access.PROPOSER;
import static org.harnesslearning.gateway.route.Endpoint.Access.TRAINER;

import java.util.ArrayList;
import java.util.List;
import org.springframework.http.HttpMethod;
import org.springframework.http.server.PathContainer;
import org.springframework.stereotype.Component;
import org.springframework.util.unit.DataSize;
import org.springframework.web.util.pattern.PathPatternParser;

/**
 * The list of public endpoints. What is not on it does not exist from outside: requests are matched here first, and
 * path variables take plain characters only, so that nothing can point elsewhere behind the gateway.
 */
@Component
public final class PublicApi {
    private static final DataSize BODY = DataSize.ofMegabytes(8);
    private static final DataSize UPLOAD = DataSize.ofMegabytes(64);
    private static final DataSize SMALL = DataSize.ofKilobytes(64);

    private static final String ID = "{id:[A-Za-z0-9_-]{1,64}}";
    private static final String NAME = "{name:[a-z0-9][a-z0-9._-]{0,63}}";
    private static final String HASH = "{hash:sha256:[0-9a-f]{64}}";

    private final List<Endpoint> endpoints = new ArrayList<>();

    public PublicApi() {
        proposer(HttpMethod.POST, "/revise", Scope.RUN, BODY);
        proposer(HttpMethod.POST, "/adapt", Scope.RUN, BODY);
        proposer(HttpMethod.POST, "/evaluations", Scope.RUN, BODY);
        get("/revisions");
        get("/revisions/" + ID);
        get("/evaluations");
        get("/evaluations/" + ID);
        get("/evaluations/" + ID + "/report");
        proposer(HttpMethod.DELETE, "/revisions/" + ID, Scope.RUN, SMALL);
        proposer(HttpMethod.DELETE, "/evaluations/" + ID, Scope.RUN, SMALL);
        get("/adaptations");
        get("/adaptations/" + ID);
        proposer(HttpMethod.DELETE, "/adaptations/" + ID, Scope.RUN, SMALL);
        get("/adaptations/" + ID + "/events");
        get("/adaptations/" + ID + "/report");
        get("/adaptations/" + ID + "/evaluations");
        get("/adaptations/" + ID + "/questions/{item:[A-Za-z0-9:]{1,80}}");
        get("/adaptations/" + ID + "/rounds/{round:[0-9]{1,6}}/candidates/{candidate:[0-9]{1,6}}");
        for (String runs : List.of("/adaptations/", "/revisions/", "/evaluations/")) {
            for (String wish : List.of("/cancel", "/pause", "/resume")) {
                proposer(HttpMethod.POST, runs + ID + wish, Scope.RUN, SMALL);
            }
        }
        get("/harnesses/names");
        get("/harnesses/names/" + NAME);
        proposer(HttpMethod.DELETE, "/harnesses/names/" + NAME, Scope.ADMIN, SMALL);
        proposer(HttpMethod.POST, "/harnesses/names/" + NAME + "/versions", Scope.RUN, BODY);
        proposer(HttpMethod.POST, "/harnesses/names/" + NAME + "/promote", Scope.RUN, BODY);
        proposer(HttpMethod.POST, "/harnesses/names/" + NAME + "/rollback", Scope.RUN, SMALL);
        get("/harnesses/names/" + NAME + "/history");
        get("/harnesses/names/" + NAME + "/live");
        get("/harnesses/" + HASH);
        get("/harnesses/" + HASH + "/diff/{other:sha256:[0-9a-f]{64}}");
        proposer(HttpMethod.POST, "/tasks", Scope.RUN, UPLOAD);
        get("/tasks");
        get("/tasks/{id:[A-Za-z0-9_.-]{1,64}}");
        get("/models");
        get("/sandboxes");
        get("/status");
        training();

        proposer(HttpMethod.POST, "/webhooks", Scope.ADMIN, SMALL);
        proposer(HttpMethod.GET, "/webhooks", Scope.ADMIN, SMALL);
        proposer(HttpMethod.GET, "/webhooks/" + ID, Scope.ADMIN, SMALL);
        proposer(HttpMethod.DELETE, "/webhooks/" + ID, Scope.ADMIN, SMALL);
        proposer(HttpMethod.POST, "/webhooks/" + ID + "/ping", Scope.ADMIN, SMALL);
        proposer(HttpMethod.GET, "/webhooks/" + ID + "/deliveries", Scope.ADMIN, SMALL);
        proposer(
                HttpMethod.POST,
                "/webhooks/" + ID + "/deliveries/{delivery:[A-Za-z0-9_-]{1,64}}/redeliver",
                Scope.ADMIN,
                SMALL);

        add(HttpMethod.POST, "/keys", GATEWAY, Scope.ADMIN, SMALL);
        add(HttpMethod.GET, "/keys", GATEWAY, Scope.ADMIN, SMALL);
        add(HttpMethod.DELETE, "/keys/" + ID, GATEWAY, Scope.ADMIN, SMALL);

        for (String path : List.of(
                "/livez",
                "/readyz",
                "/metrics",
                "/openapi.json",
                "/docs",
                "/docs/{file:[a-z0-9-]{1,64}\\.(?:css|js|png)}")) {
            add(HttpMethod.GET, path, OPEN, Scope.READ, SMALL);
        }
        pages();
    }

    private void pages() {
        add(HttpMethod.GET, "/", OPEN_PAGE, Scope.READ, SMALL);
        add(HttpMethod.GET, "/ui/sign-in", OPEN_PAGE, Scope.READ, SMALL);
        add(HttpMethod.POST, "/ui/sign-in", OPEN_PAGE, Scope.READ, SMALL);
        add(HttpMethod.GET, "/ui/assets/{file:[A-Za-z0-9.-]{1,64}}", OPEN_PAGE, Scope.READ, SMALL);
        add(HttpMethod.POST, "/ui/sign-out", PAGE, Scope.READ, SMALL);

        page(HttpMethod.GET, "/ui", Scope.READ);
        page(HttpMethod.GET, "/ui/live", Scope.READ);
        page(HttpMethod.GET, "/ui/runs", Scope.READ);
        page(HttpMethod.GET, "/ui/runs/new", Scope.RUN);
        add(HttpMethod.POST, "/ui/runs", PAGE, Scope.RUN, BODY);
        page(HttpMethod.GET, "/ui/runs/" + ID, Scope.READ);
        page(HttpMethod.GET, "/ui/runs/" + ID + "/live", Scope.READ);
        page(HttpMethod.GET, "/ui/runs/" + ID + "/matrix", Scope.READ);
        page(HttpMethod.GET, "/ui/runs/" + ID + "/question", Scope.READ);
        page(HttpMethod.GET, "/ui/runs/" + ID + "/candidates/{round:[0-9]{1,6}}/{candidate:[0-9]{1,6}}", Scope.READ);
        page(HttpMethod.POST, "/ui/runs/" + ID + "/{action:cancel|pause|resume|delete}", Scope.RUN);
        page(HttpMethod.GET, "/ui/compare", Scope.READ);
        page(HttpMethod.GET, "/ui/tasks", Scope.READ);
        add(HttpMethod.POST, "/ui/tasks", PAGE, Scope.RUN, UPLOAD);
        page(HttpMethod.GET, "/ui/tasks/{id:[A-Za-z0-9_.-]{1,64}}", Scope.READ);
        page(HttpMethod.GET, "/ui/models", Scope.READ);
        page(HttpMethod.GET, "/ui/models/{name:[A-Za-z0-9._-]{1,128}}", Scope.READ);
        page(HttpMethod.POST, "/ui/models/{name:[A-Za-z0-9._-]{1,128}}/{action:promote|rollback}", Scope.RUN);
        page(HttpMethod.GET, "/ui/training", Scope.READ);
        page(HttpMethod.GET, "/ui/training/new", Scope.RUN);
        add(HttpMethod.POST, "/ui/training", PAGE, Scope.RUN, BODY);
        page(HttpMethod.GET, "/ui/training/" + ID, Scope.READ);
        page(HttpMethod.GET, "/ui/training/" + ID + "/live", Scope.READ);
        page(HttpMethod.POST, "/ui/training/" + ID + "/{action:cancel|pause|resume}", Scope.RUN);
        page(HttpMethod.GET, "/ui/harnesses", Scope.READ);
        add(HttpMethod.POST, "/ui/harnesses", PAGE, Scope.RUN, BODY);
        page(HttpMethod.GET, "/ui/harnesses/" + NAME, Scope.READ);
        page(HttpMethod.POST, "/ui/harnesses/" + NAME + "/{action:promote|rollback}", Scope.RUN);
        page(HttpMethod.POST, "/ui/harnesses/" + NAME + "/delete", Scope.ADMIN);
        page(HttpMethod.GET, "/ui/webhooks", Scope.ADMIN);
        page(HttpMethod.POST, "/ui/webhooks", Scope.ADMIN);
        page(HttpMethod.GET, "/ui/webhooks/" + ID, Scope.ADMIN);
        page(HttpMethod.POST, "/ui/webhooks/" + ID + "/{action:ping|delete}", Scope.ADMIN);
        page(
                HttpMethod.POST,
                "/ui/webhooks/" + ID + "/deliveries/{delivery:[A-Za-z0-9_-]{1,64}}/redeliver",
                Scope.ADMIN);
        page(HttpMethod.GET, "/ui/keys", Scope.ADMIN);
        page(HttpMethod.POST, "/ui/keys", Scope.ADMIN);
        page(HttpMethod.POST, "/ui/keys/" + ID + "/revoke", Scope.ADMIN);
        // Anything else below says on a page that it does not exist.
        page(HttpMethod.GET, "/ui/{*rest}", Scope.READ);
    }

    private void page(HttpMethod method, String path, Scope scope) {
        add(method, path, PAGE, scope, SMALL);
    }

    private void training() {
        add(HttpMethod.POST, "/training-runs", TRAINER, Scope.RUN, BODY);
        add(HttpMethod.GET, "/training-runs", TRAINER, Scope.READ, SMALL);
        String run = "/training-runs/" + ID;
        add(HttpMethod.GET, run, TRAINER, Scope.READ, SMALL);
        add(HttpMethod.DELETE, run, TRAINER, Scope.RUN, SMALL);
        add(HttpMethod.GET, run + "/events", TRAINER, Scope.READ, SMALL);
        add(HttpMethod.GET, run + "/metrics", TRAINER, Scope.READ, SMALL);
        add(HttpMethod.GET, run + "/groups", TRAINER, Scope.ADMIN, SMALL);
        add(HttpMethod.GET, run + "/corpus", TRAINER, Scope.ADMIN, SMALL);
        add(HttpMethod.PUT, run + "/corpus", TRAINER, Scope.ADMIN, UPLOAD);
        add(HttpMethod.POST, run + "/cancel", TRAINER, Scope.RUN, SMALL);
        add(HttpMethod.POST, run + "/pause", TRAINER, Scope.RUN, SMALL);
        add(HttpMethod.POST, run + "/resume", TRAINER, Scope.RUN, SMALL);
        add(HttpMethod.POST, run + "/publish", TRAINER, Scope.RUN, SMALL);
        String model = "/models/{name:[A-Za-z0-9._-]{1,128}}";
        add(HttpMethod.GET, model + "/versions", TRAINER, Scope.READ, SMALL);
        add(HttpMethod.POST, model + "/promote", TRAINER, Scope.RUN, SMALL);
        add(HttpMethod.POST, model + "/rollback", TRAINER, Scope.RUN, SMALL);
        add(HttpMethod.GET, "/models/versions/{version:[a-z0-9:]{1,80}}/adapter", TRAINER, Scope.READ, SMALL);
        add(HttpMethod.PUT, "/models/versions/{version:[a-z0-9:]{1,80}}/adapter", TRAINER, Scope.ADMIN, UPLOAD);
        add(HttpMethod.GET, "/promotions/" + ID, TRAINER, Scope.READ, SMALL);
    }

    /** All endpoints. */
    public List<Endpoint> endpoints() {
        return List.copyOf(endpoints);
    }

    /** The endpoints of a path, one a method; empty when there is no such path. */
    public List<Endpoint> at(String rawPath) {
        PathContainer path = PathContainer.parsePath(rawPath);
        return endpoints.stream().filter(endpoint -> endpoint.at(path)).toList();
    }

    private void get(String path) {
        proposer(HttpMethod.GET, path, Scope.READ, SMALL);
    }

    private void proposer(HttpMethod method, String path, Scope scope, DataSize maxBody) {
        add(method, path, PROPOSER, scope, maxBody);
    }

    private void add(HttpMethod method, String path, Endpoint.Access access, Scope scope, DataSize maxBody) {
        endpoints.add(new Endpoint(method, PathPatternParser.defaultInstance.parse(path), access, scope, maxBody));
    }
}
