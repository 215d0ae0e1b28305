package org.harnesslearning.gateway.page;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
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

/** Runs: the lists and control of all kinds; of adaptations, one with all that happened in it, and its start. */
@Controller
class RunPages extends Page {
    private static final MediaType DIFF = MediaType.parseMediaType("text/x-diff");
    private static final int PAGE_SIZE = 20;

    /** Path of all runs of a kind, and what the page calls it. */
    private static final Map<String, String> KINDS = new TreeMap<>(
            Map.of("adaptations", "adaptations", "revisions", "single revisions", "evaluations", "evaluations"));

    private final Platform platform;

    RunPages(Frame frame, Platform platform) {
        super(frame);
        this.platform = platform;
    }

    @GetMapping("/ui/runs")
    String list(
            @RequestParam(name = "kind", defaultValue = "adaptations") String kind,
            @RequestParam(name = "state", required = false) @Nullable String state,
            @RequestParam(name = "task", required = false) @Nullable String task,
            @RequestParam(name = "cursor", required = false) @Nullable String cursor,
            HttpServletRequest request,
            Model model) {
        if (!KINDS.containsKey(kind)) {
            throw new PlatformException(
                    ErrorCode.INVALID_FIELD, "kind is none of " + String.join(", ", KINDS.keySet()));
        }
        Map<String, @Nullable Object> query = new LinkedHashMap<>();
        query.put("state", state);
        query.put("task", task == null ? null : task.strip());
        query.put("cursor", cursor);
        query.put("limit", PAGE_SIZE);
        Caller caller = Caller.of(request);
        if (kind.equals("adaptations")) {
            RunAnswer.Listed answer = platform.get(caller, RunAnswer.Listed.class, "/adaptations", query);
            model.addAttribute("runs", answer.data());
            model.addAttribute("nextCursor", answer.nextCursor());
        } else {
            OrderAnswer.Listed answer = platform.get(caller, OrderAnswer.Listed.class, "/" + kind, query);
            model.addAttribute("runs", answer.data());
            model.addAttribute("nextCursor", answer.nextCursor());
        }
        model.addAttribute("kind", kind);
        model.addAttribute("kinds", KINDS);
        model.addAttribute("state", state == null ? "" : state);
        model.addAttribute("task", task == null ? "" : task.strip());
        model.addAttribute("states", List.of("queued", "running", "paused", "succeeded", "failed", "cancelled"));
        return script(request) ? "runs :: list" : "runs";
    }

    @GetMapping("/ui/runs/{id}")
    String run(@PathVariable("id") String id, HttpServletRequest request, Model model) {
        RunAnswer run = platform.get(Caller.of(request), RunAnswer.class, "/adaptations/{}", id);
        model.addAttribute("run", run);
        model.addAttribute("chart", ScoreChart.of(run));
        return "run";
    }

    @GetMapping("/ui/runs/{id}/live")
    String live(@PathVariable("id") String id, HttpServletRequest request, Model model) {
        run(id, request, model);
        return "run :: live";
    }

    @PostMapping("/ui/runs/{id}/{action}")
    String act(@PathVariable("id") String id, @PathVariable("action") String action, HttpServletRequest request) {
        Caller caller = Caller.of(request);
        String kind = kind(id);
        if (action.equals("delete")) {
            platform.act(caller, HttpMethod.DELETE, "/" + kind + "/{}", id);
            return list(kind);
        }
        platform.act(caller, HttpMethod.POST, "/" + kind + "/{}/{}", id, action);
        return kind.equals("adaptations") ? "redirect:/ui/runs/" + id : list(kind);
    }

    private static String list(String kind) {
        return kind.equals("adaptations") ? "redirect:/ui/runs" : "redirect:/ui/runs?kind=" + kind;
    }

    /** Path of the runs of the kind that an id is of. */
    private static String kind(String id) {
        if (id.startsWith("rev_")) {
            return "revisions";
        }
        return id.startsWith("evl_") ? "evaluations" : "adaptations";
    }

    @GetMapping("/ui/runs/{id}/candidates/{round}/{candidate}")
    String candidate(
            @PathVariable("id") String id,
            @PathVariable("round") int round,
            @PathVariable("candidate") int candidate,
            HttpServletRequest request,
            Model model) {
        Caller caller = Caller.of(request);
        RunAnswer run = platform.get(caller, RunAnswer.class, "/adaptations/{}", id);
        CandidateAnswer detail = platform.get(
                caller, CandidateAnswer.class, "/adaptations/{}/rounds/{}/candidates/{}", id, round, candidate);
        RunAnswer.Round its = run.rounds().stream()
                .filter(other -> other.index() == round)
                .findFirst()
                .orElseThrow(() -> new PlatformException(ErrorCode.NOT_FOUND, "Run " + id + " has no round " + round));
        String diff = detail.diff();
        if (diff == null && detail.harness() != null && !detail.harness().equals(its.parent())) {
            diff = platform.text(caller, DIFF, "/harnesses/{}/diff/{}", its.parent(), detail.harness());
        }
        model.addAttribute("run", run);
        model.addAttribute("round", its);
        model.addAttribute("candidate", detail);
        model.addAttribute("diff", DiffRows.of(diff));
        return "candidate";
    }

    @GetMapping("/ui/runs/{id}/matrix")
    String matrix(@PathVariable("id") String id, HttpServletRequest request, Model model) {
        Caller caller = Caller.of(request);
        model.addAttribute("run", platform.get(caller, RunAnswer.class, "/adaptations/{}", id));
        List<Matrix.Measurement> measured = platform.get(caller, Matrix.Listed.class, "/adaptations/{}/evaluations", id)
                .data();
        model.addAttribute(
                "matrices",
                List.of(Matrix.of("dev", measured), Matrix.of("held_out", measured), Matrix.of("feedback", measured)));
        return "matrix";
    }

    @GetMapping("/ui/runs/{id}/question")
    String question(
            @PathVariable("id") String id,
            @RequestParam("item") String item,
            @RequestParam("harness") String harness,
            @RequestParam(name = "repeat", defaultValue = "0") int repeat,
            HttpServletRequest request,
            Model model) {
        Caller caller = Caller.of(request);
        model.addAttribute("run", platform.get(caller, RunAnswer.class, "/adaptations/{}", id));
        model.addAttribute(
                "question",
                platform.get(
                        caller,
                        QuestionAnswer.class,
                        "/adaptations/{id}/questions/{item}",
                        Map.of("id", id, "item", item),
                        Map.of("harness", harness, "repeat", repeat)));
        return "question";
    }

    @GetMapping("/ui/compare")
    String compare(
            @RequestParam(name = "a", defaultValue = "") String first,
            @RequestParam(name = "b", defaultValue = "") String second,
            HttpServletRequest request,
            Model model) {
        Caller caller = Caller.of(request);
        model.addAttribute(
                "recent",
                platform.get(caller, RunAnswer.Listed.class, "/adaptations", Map.of("limit", PAGE_SIZE))
                        .data());
        model.addAttribute("a", first);
        model.addAttribute("b", second);
        if (!first.isBlank() && !second.isBlank()) {
            RunAnswer left = platform.get(caller, RunAnswer.class, "/adaptations/{}", first.strip());
            RunAnswer right = platform.get(caller, RunAnswer.class, "/adaptations/{}", second.strip());
            model.addAttribute("comparison", Comparison.of(left, right));
            String before = harness(left);
            String after = harness(right);
            model.addAttribute("same", before != null && before.equals(after));
            if (before != null && after != null && !before.equals(after)) {
                model.addAttribute(
                        "diff", DiffRows.of(platform.text(caller, DIFF, "/harnesses/{}/diff/{}", before, after)));
            }
        }
        return "compare";
    }

    private static @Nullable String harness(RunAnswer run) {
        return run.result() == null ? null : run.result().harness();
    }

    @GetMapping("/ui/runs/new")
    String form(
            @RequestParam(name = "task", defaultValue = "") String task,
            @RequestParam(name = "like", defaultValue = "") String like,
            HttpServletRequest request,
            Model model) {
        RunForm form = like.isBlank()
                ? RunForm.empty(task)
                : RunForm.like(platform.get(Caller.of(request), RunAnswer.class, "/adaptations/{}", like.strip()));
        return form(form, request, model);
    }

    private String form(RunForm form, HttpServletRequest request, Model model) {
        Caller caller = Caller.of(request);
        model.addAttribute("form", form);
        model.addAttribute(
                "tasks",
                platform.get(caller, TaskAnswer.Listed.class, "/tasks", Map.of("limit", 100))
                        .data());
        model.addAttribute(
                "models",
                platform.get(caller, ModelAnswer.Listed.class, "/models").data());
        return "run-new";
    }

    @PostMapping("/ui/runs")
    String start(HttpServletRequest request, HttpServletResponse response, Model model) {
        RunForm form = RunForm.of(request);
        try {
            RunAnswer run = platform.post(Caller.of(request), RunAnswer.class, form.body(), "/adapt");
            return "redirect:/ui/runs/" + run.id();
        } catch (PlatformException e) {
            if (e.code().status() != 400 && e.code().status() != 422) {
                throw e;
            }
            // The form comes back as it was filled in, with what is wrong.
            response.setStatus(e.code().status());
            model.addAttribute(
                    "problem",
                    Objects.requireNonNullElse(e.getMessage(), e.code().title()));
            model.addAttribute("faults", e.errors());
            return form(form, request, model);
        }
    }
}
