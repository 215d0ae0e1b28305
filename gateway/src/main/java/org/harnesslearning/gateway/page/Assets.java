package org.harnesslearning.gateway.page;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.contracts.hash.Hashes;
import org.springframework.core.io.ClassPathResource;
import org.springframework.core.io.Resource;
import org.springframework.core.io.support.PathMatchingResourcePatternResolver;
import org.springframework.http.CacheControl;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;

/** Scripts and styles of the pages, all from the application itself. A name that is not on the list does not exist. */
@RestController
final class Assets {
    private static final MediaType SCRIPT = new MediaType("text", "javascript", StandardCharsets.UTF_8);
    private static final MediaType STYLE = new MediaType("text", "css", StandardCharsets.UTF_8);
    private static final MediaType IMAGE = MediaType.parseMediaType("image/svg+xml");

    private final Map<String, Asset> files = new LinkedHashMap<>();

    private record Asset(MediaType type, byte[] content, String tag) {}

    Assets() throws IOException {
        add("app.css", STYLE, new ClassPathResource("pages/assets/app.css"));
        add("app.js", SCRIPT, new ClassPathResource("pages/assets/app.js"));
        add("theme.js", SCRIPT, new ClassPathResource("pages/assets/theme.js"));
        add("mark.svg", IMAGE, new ClassPathResource("pages/assets/mark.svg"));
        add("htmx.js", SCRIPT, webJar("htmx.org", "dist/htmx.min.js"));
        add("uplot.js", SCRIPT, webJar("uplot", "dist/uPlot.iife.min.js"));
        add("uplot.css", STYLE, webJar("uplot", "dist/uPlot.min.css"));
    }

    @GetMapping("/ui/assets/{file}")
    ResponseEntity<byte[]> file(@PathVariable("file") String name) {
        Asset asset = files.get(name);
        if (asset == null) {
            throw new PlatformException(ErrorCode.NOT_FOUND, "No file " + name);
        }
        return ResponseEntity.ok()
                .cacheControl(CacheControl.noCache())
                .eTag(asset.tag())
                .contentType(asset.type())
                .body(asset.content());
    }

    private void add(String name, MediaType type, Resource resource) throws IOException {
        try (InputStream in = resource.getInputStream()) {
            byte[] content = in.readAllBytes();
            files.put(name, new Asset(type, content, Hashes.sha256(content)));
        }
    }

    /** A file of a web jar, whatever its version. */
    private static Resource webJar(String name, String file) throws IOException {
        Resource[] found = new PathMatchingResourcePatternResolver()
                .getResources("classpath*:/META-INF/resources/webjars/" + name + "/*/" + file);
        if (found.length != 1) {
            throw new IllegalStateException("found " + found.length + " copies of " + file + " instead of one");
        }
        return found[0];
    }
}
