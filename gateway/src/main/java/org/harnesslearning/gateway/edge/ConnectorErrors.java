package org.harnesslearning.gateway.edge;

import java.io.IOException;
import java.util.List;
import org.apache.catalina.connector.Request;
import org.apache.catalina.connector.Response;
import org.apache.catalina.core.StandardHost;
import org.apache.catalina.valves.ErrorReportValve;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.json.Json;
import org.harnesslearning.contracts.web.Problem;
import org.harnesslearning.contracts.web.RequestIdFilter;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.stereotype.Component;

/** Answers requests that the server refuses before any filter runs, such as a malformed path, with problem details. */
public final class ConnectorErrors extends ErrorReportValve {
    @Override
    protected void report(Request request, Response response, @Nullable Throwable throwable) {
        int status = response.getStatus();
        if (status < 400 || response.getContentWritten() > 0 || !response.setErrorReported()) {
            return;
        }
        ErrorCode code = Problems.codeOf(status);
        Problem problem =
                new Problem("about:blank", code.title(), status, "The request is malformed", code, null, List.of());
        try {
            if (response.getHeader(RequestIdFilter.HEADER) == null) {
                String id = java.util.UUID.randomUUID().toString();
                response.setHeader(RequestIdFilter.HEADER, id);
                problem = new Problem(
                        "about:blank", code.title(), status, "The request is malformed", code, id, List.of());
            }
            response.setContentType(Problem.MEDIA_TYPE);
            byte[] body = Json.mapper().writeValueAsBytes(problem);
            response.setContentLength(body.length);
            response.getOutputStream().write(body);
            response.finishResponse();
        } catch (IOException e) {
            container.getLogger().debug("the caller is gone", e);
        }
    }

    @Component
    static final class Installer implements WebServerFactoryCustomizer<TomcatServletWebServerFactory> {
        @Override
        public void customize(TomcatServletWebServerFactory factory) {
            factory.addContextCustomizers(context -> {
                if (context.getParent() instanceof StandardHost host) {
                    host.setErrorReportValveClass(ConnectorErrors.class.getName());
                }
            });
        }
    }
}
