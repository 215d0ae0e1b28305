package org.harnesslearning.gateway.openapi;

import java.io.IOException;
import java.io.InputStream;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.springframework.core.io.ClassPathResource;
import org.springframework.core.io.support.PathMatchingResourcePatternResolver;
import org.springframework.http.CacheControl;
import org.springframework.http.MediaType;
import org.springframework.http.MediaTypeFactory;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;

/** Serves the OpenAPI document and Swagger UI, whose files come with the application: the page loads nothing else. */
@RestController
final class OpenApiController {
    private static final String PAGE = """
            <!doctype html>
            <html lang="en">
            <head>
              <meta charset="utf-8">
              <title>Harness Learning API</title>
              <link rel="stylesheet" href="/docs/swagger-ui.css">
              <link rel="icon" href="/docs/favicon-32x32.png">
            </head>
            <body>
              <div id="swagger-ui"></div>
              <script src="/docs/swagger-ui-bundle.js"></script>
              <script src="/docs/start.js"></script>
            </body>
            </html>
            """;
    private static final String START = """
            window.onload = () => SwaggerUIBundle({
              url: "/openapi.json",
              dom_id: "#swagger-ui",
              validatorUrl: null,
              persistAuthorization: false,
            });
            """;
    private static final String CONTENT_SECURITY_POLICY =
            "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'";

    private final OpenApiDocument document;
    private final String assets;

    OpenApiController(OpenApiDocument document) throws IOException {
        this.document = document;
        this.assets = assets();
    }

    /** Folder of the web jar's files on the class path, whatever its version. */
    private static String assets() throws IOException {
        var found = new PathMatchingResourcePatternResolver()
                .getResources("classpath*:/META-INF/resources/webjars/swagger-ui/*/swagger-ui-bundle.js");
        if (found.length != 1) {
            throw new IllegalStateException("found " + found.length + " copies of Swagger UI instead of one");
        }
        String url = found[0].getURL().toString();
        int start = url.indexOf("META-INF/resources/webjars/");
        return url.substring(start, url.lastIndexOf('/') + 1);
    }

    @GetMapping(path = "/openapi.json", produces = MediaType.APPLICATION_JSON_VALUE)
    byte[] openApi() {
        return document.json();
    }

    @GetMapping("/docs")
    ResponseEntity<String> page() {
        return ResponseEntity.ok()
                .contentType(MediaType.TEXT_HTML)
                .header("Content-Security-Policy", CONTENT_SECURITY_POLICY)
                .header("X-Content-Type-Options", "nosniff")
                .body(PAGE);
    }

    @GetMapping("/docs/start.js")
    ResponseEntity<String> start() {
        return ResponseEntity.ok()
                .contentType(MediaType.parseMediaType("text/javascript"))
                .body(START);
    }

    @GetMapping("/docs/{file:[a-z0-9-]{1,64}\\.(?:css|js|png)}")
    ResponseEntity<byte[]> asset(@PathVariable String file) throws IOException {
        ClassPathResource resource = new ClassPathResource(assets + file);
        if (!resource.exists()) {
            throw new PlatformException(ErrorCode.NOT_FOUND, "No file " + file);
        }
        try (InputStream in = resource.getInputStream()) {
            return ResponseEntity.ok()
                    .cacheControl(CacheControl.maxAge(java.time.Duration.ofHours(1)))
                    .contentType(MediaTypeFactory.getMediaType(file).orElse(MediaType.APPLICATION_OCTET_STREAM))
                    .body(in.readAllBytes());
        }
    }
}
