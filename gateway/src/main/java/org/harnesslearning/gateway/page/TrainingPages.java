package org.harnesslearning.gateway.page;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.time.Clock;
import java.util.ArrayList;
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

/** Training runs: the list, and one with its metrics as they come. */
@Controller
class TrainingPages extends Page {
    private static final int PAGE_SIZE = 20;
    private static final int PART = 10_000;
    /** More points than a chart has pixels tell nothing more. */
    private static final int MOST_POINTS = 1_000;

    private final Platform platform;
    private final Clock clock;

    TrainingPages(Frame frame, Platform platform, Clock clock) {
        super(frame);
        this.platform = platform;
        this.clock = clock;
    }

    @GetMapping("/ui/training")
    String list(
            @RequestParam(name = "cursor", required = false) @Nullable String cursor,
            HttpServletRequest request,
            Model model) {
        Map<String, @Nullable Object> query = new LinkedHashMap<>();
        query.put("cursor", cursor);
        query.put("limit", PAGE_SIZE);
        TrainingAnswer.Listed answer =
                platform.get(Caller.of(request), TrainingAnswer.Listed.class, "/training-runs", query);
        model.addAttribute("runs", answer.data());
        model.addAttribute("nextCursor", answer.nextCursor());
        return script(request) ? "training :: list" : "training";
    }

    @GetMapping("/ui/training/new")
    String form(HttpServletRequest request, Model model) {
        return form(TrainingForm.empty(), request, model);
    }

    private String form(TrainingForm form, HttpServletRequest request, Model model) {
        model.addAttribute("form", form);
        model.addAttribute(
                "models",
                platform.get(Caller.of(request), ModelAnswer.Listed.class, "/models")
                        .data());
        return "training-new";
    }

    @PostMapping("/ui/training")
    String start(HttpServletRequest request, HttpServletResponse response, Model model) {
        TrainingForm form = TrainingForm.of(request);
        try {
            TrainingAnswer run = platform.post(Caller.of(request), TrainingAnswer.class, form.body(), "/training-runs");
            return "redirect:/ui/training/" + run.id();
        } catch (PlatformException e) {
            again(e, response, model);
            Map<String, String> wrong = TrainingForm.wrong(e.errors());
            model.addAttribute("wrong", wrong);
            model.addAttribute("faults", List.of());
            model.addAttribute(
                    "problem",
                    wrong.containsKey("") || wrong.isEmpty()
                            ? e.getMessage()
                            : "Nothing was started; see what is marked below");
            return form(form, request, model);
        }
    }

    @GetMapping("/ui/training/{id}")
    String run(@PathVariable("id") String id, HttpServletRequest request, Model model) {
        Caller caller = Caller.of(request);
        model.addAttribute("run", platform.get(caller, TrainingAnswer.class, "/training-runs/{}", id));
        List<TrainingAnswer.Step> steps = new ArrayList<>();
        Long after = 0L;
        while (after != null) {
            TrainingAnswer.Steps part = platform.get(
                    caller,
                    TrainingAnswer.Steps.class,
                    "/training-runs/{id}/metrics",
                    Map.of("id", id),
                    Map.of("after", after, "limit", PART));
            steps.addAll(part.data());
            after = part.nextAfter();
        }
        model.addAttribute("charts", TrainingAnswer.charts(thinned(steps), new Show(clock.instant())));
        return "training-run";
    }

    /** Every n-th step and the last. */
    private static List<TrainingAnswer.Step> thinned(List<TrainingAnswer.Step> steps) {
        int every = 1 + steps.size() / MOST_POINTS;
        List<TrainingAnswer.Step> kept = new ArrayList<>();
        for (int i = 0; i < steps.size(); i++) {
            if (i % every == 0 || i == steps.size() - 1) {
                kept.add(steps.get(i));
            }
        }
        return kept;
    }

    @GetMapping("/ui/training/{id}/live")
    String live(@PathVariable("id") String id, HttpServletRequest request, Model model) {
        run(id, request, model);
        return "training-run :: live";
    }

    @PostMapping("/ui/training/{id}/{action}")
    String act(@PathVariable("id") String id, @PathVariable("action") String action, HttpServletRequest request) {
        platform.act(Caller.of(request), HttpMethod.POST, "/training-runs/{}/{}", id, action);
        return "redirect:/ui/training/" + id;
    }
}
