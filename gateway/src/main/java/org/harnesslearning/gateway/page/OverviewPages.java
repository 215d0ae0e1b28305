package org.harnesslearning.gateway.page;

import jakarta.servlet.http.HttpServletRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.gateway.edge.Caller;
import org.springframework.stereotype.Controller;
import org.springframework.ui.Model;
import org.springframework.web.bind.annotation.GetMapping;

/** The first page: what goes on now. */
@Controller
class OverviewPages extends Page {
    private static final int RECENT = 8;

    private final Platform platform;

    OverviewPages(Frame frame, Platform platform) {
        super(frame);
        this.platform = platform;
    }

    @GetMapping("/ui")
    String overview(HttpServletRequest request, Model model) {
        Caller caller = Caller.of(request);
        List<RunAnswer> live = new ArrayList<>();
        for (String state : List.of("running", "queued", "paused")) {
            live.addAll(platform.get(
                            caller, RunAnswer.Listed.class, "/adaptations", Map.of("state", state, "limit", RECENT))
                    .data());
        }
        model.addAttribute("live", live);
        model.addAttribute(
                "recent",
                platform.get(caller, RunAnswer.Listed.class, "/adaptations", Map.of("limit", RECENT)).data().stream()
                        .filter(RunAnswer::over)
                        .toList());
        model.addAttribute("status", platform.get(caller, StatusAnswer.class, "/status"));
        return "overview";
    }

    @GetMapping("/ui/live")
    String live(HttpServletRequest request, Model model) {
        overview(request, model);
        return "overview :: live";
    }

    @GetMapping("/ui/{*rest}")
    String nothing() {
        throw new PlatformException(ErrorCode.NOT_FOUND, "There is no such page");
    }
}
