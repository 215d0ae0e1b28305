package org.harnesslearning.gateway.page;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.util.LinkedHashMap;
import java.util.Map;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.gateway.edge.Caller;
import org.springframework.stereotype.Controller;
import org.springframework.ui.Model;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import tools.jackson.databind.JsonNode;

/** Models, where they run, and the versions of those that are trained. */
@Controller
class ModelPages extends Page {
    private final Platform platform;

    ModelPages(Frame frame, Platform platform) {
        super(frame);
        this.platform = platform;
    }

    @GetMapping("/ui/models/{name}")
    String versions(@PathVariable("name") String name, HttpServletRequest request, Model model) {
        model.addAttribute(
                "model", platform.get(Caller.of(request), VersionsAnswer.class, "/models/{}/versions", name));
        return "model";
    }

    /** With {@code force} without a comparison, which needs scope admin and is asked to say why. */
    @PostMapping("/ui/models/{name}/promote")
    String promote(
            @PathVariable("name") String name,
            @RequestParam("version") String version,
            @RequestParam(name = "force", defaultValue = "false") boolean force,
            @RequestParam(name = "reason", defaultValue = "") String reason,
            HttpServletRequest request,
            HttpServletResponse response,
            Model model) {
        Map<String, Object> body = new LinkedHashMap<>();
        body.put("version", version.strip());
        if (force) {
            body.put("force", true);
            body.put("reason", reason.strip());
        }
        model.addAttribute("given", Map.of("version", version, "reason", reason));
        try {
            if (force && reason.isBlank()) {
                throw PlatformException.field(
                        ErrorCode.INVALID_FIELD, "/reason", "Say why no comparison is needed; it stays in the history");
            }
            platform.post(Caller.of(request), JsonNode.class, body, "/models/{}/promote", name);
            return "redirect:/ui/models/" + name;
        } catch (PlatformException e) {
            again(e, response, model);
            return versions(name, request, model);
        }
    }

    @PostMapping("/ui/models/{name}/rollback")
    String rollBack(
            @PathVariable("name") String name,
            @RequestParam(name = "reason", defaultValue = "") String reason,
            HttpServletRequest request,
            HttpServletResponse response,
            Model model) {
        try {
            platform.post(
                    Caller.of(request),
                    JsonNode.class,
                    reason.isBlank() ? Map.of() : Map.of("reason", reason.strip()),
                    "/models/{}/rollback",
                    name);
            return "redirect:/ui/models/" + name;
        } catch (PlatformException e) {
            again(e, response, model);
            return versions(name, request, model);
        }
    }

    @GetMapping("/ui/models")
    String models(HttpServletRequest request, Model model) {
        model.addAttribute(
                "models",
                platform.get(Caller.of(request), ModelAnswer.Listed.class, "/models")
                        .data());
        return "models";
    }
}
