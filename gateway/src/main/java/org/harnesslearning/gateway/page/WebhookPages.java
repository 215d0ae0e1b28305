package org.harnesslearning.gateway.page;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.gateway.edge.Caller;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpMethod;
import org.springframework.stereotype.Controller;
import org.springframework.ui.Model;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;

/** Webhooks, for admins: receivers and what was delivered to them. A new one's secret is in the answer to its making. */
@Controller
class WebhookPages extends Page {
    private static final List<String> EVENTS = List.of(
            "adaptation.finished",
            "evaluation.finished",
            "revision.finished",
            "harness.promoted",
            "harness.rolled_back");

    private final Platform platform;

    WebhookPages(Frame frame, Platform platform) {
        super(frame);
        this.platform = platform;
    }

    @GetMapping("/ui/webhooks")
    String list(HttpServletRequest request, Model model) {
        model.addAttribute(
                "webhooks",
                platform.get(Caller.of(request), WebhookAnswer.Listed.class, "/webhooks")
                        .data());
        model.addAttribute("events", EVENTS);
        if (!model.containsAttribute("chosen")) {
            model.addAttribute("chosen", EVENTS.subList(0, 2));
        }
        return "webhooks";
    }

    @PostMapping("/ui/webhooks")
    String create(
            @RequestParam("url") String url,
            @RequestParam(name = "description", defaultValue = "") String description,
            @RequestParam(name = "events", required = false) @Nullable List<String> events,
            HttpServletRequest request,
            HttpServletResponse response,
            Model model) {
        Map<String, Object> body = new LinkedHashMap<>();
        body.put("url", url.strip());
        body.put("events", events == null ? List.of() : events);
        if (!description.isBlank()) {
            body.put("description", description.strip());
        }
        try {
            model.addAttribute("created", platform.post(Caller.of(request), WebhookAnswer.class, body, "/webhooks"));
        } catch (PlatformException e) {
            again(e, response, model);
            model.addAttribute("given", Map.of("url", url, "description", description));
            model.addAttribute("chosen", events == null ? List.of() : events);
        }
        return list(request, model);
    }

    @GetMapping("/ui/webhooks/{id}")
    String one(
            @PathVariable("id") String id,
            @RequestParam(name = "cursor", required = false) @Nullable String cursor,
            HttpServletRequest request,
            Model model) {
        Caller caller = Caller.of(request);
        model.addAttribute("webhook", platform.get(caller, WebhookAnswer.class, "/webhooks/{}", id));
        Map<String, Object> query = new LinkedHashMap<>();
        if (cursor != null) {
            query.put("cursor", cursor);
        }
        WebhookAnswer.Deliveries deliveries = platform.get(
                caller, WebhookAnswer.Deliveries.class, "/webhooks/{id}/deliveries", Map.of("id", id), query);
        model.addAttribute("deliveries", deliveries.data());
        model.addAttribute("nextCursor", deliveries.nextCursor());
        return script(request) ? "webhook :: log" : "webhook";
    }

    @PostMapping("/ui/webhooks/{id}/{action}")
    String act(@PathVariable("id") String id, @PathVariable("action") String action, HttpServletRequest request) {
        Caller caller = Caller.of(request);
        if (action.equals("delete")) {
            platform.act(caller, HttpMethod.DELETE, "/webhooks/{}", id);
            return "redirect:/ui/webhooks";
        }
        platform.act(caller, HttpMethod.POST, "/webhooks/{}/ping", id);
        return "redirect:/ui/webhooks/" + id;
    }

    @PostMapping("/ui/webhooks/{id}/deliveries/{delivery}/redeliver")
    String redeliver(
            @PathVariable("id") String id, @PathVariable("delivery") String delivery, HttpServletRequest request) {
        platform.act(Caller.of(request), HttpMethod.POST, "/webhooks/{}/deliveries/{}/redeliver", id, delivery);
        return "redirect:/ui/webhooks/" + id;
    }
}
