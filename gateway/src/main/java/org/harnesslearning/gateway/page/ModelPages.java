package org.harnesslearning.gateway.page;

import jakarta.servlet.http.HttpServletRequest;
import java.util.Map;
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

    @PostMapping("/ui/models/{name}/promote")
    String promote(
            @PathVariable("name") String name, @RequestParam("version") String version, HttpServletRequest request) {
        platform.post(Caller.of(request), JsonNode.class, Map.of("version", version), "/models/{}/promote", name);
        return "redirect:/ui/models/" + name;
    }

    @PostMapping("/ui/models/{name}/rollback")
    String rollBack(@PathVariable("name") String name, HttpServletRequest request) {
        platform.post(Caller.of(request), JsonNode.class, Map.of(), "/models/{}/rollback", name);
        return "redirect:/ui/models/" + name;
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
