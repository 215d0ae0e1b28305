package org.harnesslearning.gateway.page;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.gateway.edge.Caller;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpMethod;
import org.springframework.http.MediaType;
import org.springframework.stereotype.Controller;
import org.springframework.ui.Model;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import tools.jackson.databind.JsonNode;

/** Named harnesses: what is live under a name, its versions, promotion, roll back and history. */
@Controller
class HarnessPages extends Page {
    private static final MediaType DIFF = MediaType.parseMediaType("text/x-diff");

    private final Platform platform;

    HarnessPages(Frame frame, Platform platform) {
        super(frame);
        this.platform = platform;
    }

    @GetMapping("/ui/harnesses")
    String list(
            @RequestParam(name = "adaptation", defaultValue = "") String adaptation,
            @RequestParam(name = "cursor", required = false) @Nullable String cursor,
            HttpServletRequest request,
            Model model) {
        Map<String, @Nullable Object> query = new LinkedHashMap<>();
        query.put("cursor", cursor);
        NamedHarness.Listed names =
                platform.get(Caller.of(request), NamedHarness.Listed.class, "/harnesses/names", query);
        model.addAttribute("names", names.data());
        model.addAttribute("nextCursor", names.nextCursor());
        if (!model.containsAttribute("given")) {
            model.addAttribute("given", Map.of("adaptation", adaptation.strip()));
        }
        return "harnesses";
    }

    /** Puts what a run found, or a program, live under a name, which may be new. */
    @PostMapping("/ui/harnesses")
    String promote(
            @RequestParam("name") String name,
            @RequestParam(name = "adaptation", defaultValue = "") String adaptation,
            @RequestParam(name = "source", defaultValue = "") String source,
            @RequestParam(name = "note", defaultValue = "") String note,
            @RequestParam(name = "force", defaultValue = "false") boolean force,
            HttpServletRequest request,
            HttpServletResponse response,
            Model model) {
        Map<String, Object> body = new LinkedHashMap<>();
        if (!adaptation.isBlank()) {
            body.put("adaptation", adaptation.strip());
        }
        if (!source.isBlank()) {
            body.put("harness", Map.of("source", source.replace("\r\n", "\n")));
        }
        more(body, note, force);
        try {
            if (!name.strip().matches("[a-z0-9][a-z0-9._-]{0,63}")) {
                throw PlatformException.field(
                        ErrorCode.INVALID_FIELD,
                        "/name",
                        "A name has 1 to 64 small letters, digits, dots, dashes and underscores, a letter or digit first");
            }
            platform.post(Caller.of(request), JsonNode.class, body, "/harnesses/names/{}/promote", name.strip());
            return "redirect:/ui/harnesses/" + name.strip();
        } catch (PlatformException e) {
            again(e, response, model);
            model.addAttribute("given", Map.of("name", name, "adaptation", adaptation, "source", source, "note", note));
            return list(adaptation, null, request, model);
        }
    }

    @GetMapping("/ui/harnesses/{name}")
    String one(
            @PathVariable("name") String name,
            @RequestParam(name = "version", required = false) @Nullable Integer version,
            HttpServletRequest request,
            Model model) {
        Caller caller = Caller.of(request);
        NamedHarness harness = platform.get(caller, NamedHarness.class, "/harnesses/names/{}", name);
        List<NamedHarness.Version> versions = Objects.requireNonNullElse(harness.versions(), List.of());
        NamedHarness.Version shown = version == null
                ? harness.live()
                : versions.stream()
                        .filter(candidate -> candidate.version() == version)
                        .findFirst()
                        .orElseThrow(
                                () -> new PlatformException(ErrorCode.NOT_FOUND, name + " has no version " + version));
        model.addAttribute("harness", harness);
        model.addAttribute("versions", versions);
        model.addAttribute("shown", shown);
        model.addAttribute(
                "history",
                platform.get(caller, NamedHarness.History.class, "/harnesses/names/{}/history", name)
                        .data());
        if (shown != null) {
            model.addAttribute(
                    "source",
                    platform.get(caller, NamedHarness.Source.class, "/harnesses/{}", shown.harness())
                            .source());
            NamedHarness.Version live = harness.live();
            if (live != null && !live.harness().equals(shown.harness())) {
                model.addAttribute(
                        "diff",
                        DiffRows.of(
                                platform.text(caller, DIFF, "/harnesses/{}/diff/{}", live.harness(), shown.harness())));
            }
        }
        return "harness";
    }

    @PostMapping("/ui/harnesses/{name}/{action}")
    String change(
            @PathVariable("name") String name,
            @PathVariable("action") String action,
            @RequestParam(name = "version", required = false) @Nullable Integer version,
            @RequestParam(name = "note", defaultValue = "") String note,
            @RequestParam(name = "force", defaultValue = "false") boolean force,
            HttpServletRequest request,
            HttpServletResponse response,
            Model model) {
        Caller caller = Caller.of(request);
        if (action.equals("delete")) {
            platform.act(caller, HttpMethod.DELETE, "/harnesses/names/{}", name);
            return "redirect:/ui/harnesses";
        }
        Map<String, Object> body = new LinkedHashMap<>();
        if (version != null) {
            body.put("version", version);
        }
        more(body, note, force);
        try {
            platform.post(caller, JsonNode.class, body, "/harnesses/names/{}/{}", name, action);
            return "redirect:/ui/harnesses/" + name;
        } catch (PlatformException e) {
            again(e, response, model);
            return one(name, version, request, model);
        }
    }

    private static void more(Map<String, Object> body, String note, boolean force) {
        if (!note.isBlank()) {
            body.put("note", note.strip());
        }
        if (force) {
            body.put("force", true);
        }
    }
}
