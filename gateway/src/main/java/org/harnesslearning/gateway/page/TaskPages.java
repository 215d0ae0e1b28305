package org.harnesslearning.gateway.page;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.gateway.edge.Caller;
import org.jspecify.annotations.Nullable;
import org.springframework.http.MediaType;
import org.springframework.stereotype.Controller;
import org.springframework.ui.Model;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.multipart.MultipartFile;

/** Built-in families, own tasks and their upload. */
@Controller
class TaskPages extends Page {
    private static final MediaType JSONL = MediaType.parseMediaType("application/jsonl");

    private final Platform platform;

    TaskPages(Frame frame, Platform platform) {
        super(frame);
        this.platform = platform;
    }

    @GetMapping("/ui/tasks")
    String list(HttpServletRequest request, Model model) {
        List<TaskAnswer> tasks = platform.get(
                        Caller.of(request), TaskAnswer.Listed.class, "/tasks", Map.of("limit", 100))
                .data();
        Map<String, List<TaskAnswer>> families = new TreeMap<>();
        tasks.stream()
                .filter(task -> !task.own())
                .forEach(task -> families.computeIfAbsent(
                                Objects.requireNonNullElse(task.category(), "other"),
                                name -> new java.util.ArrayList<>())
                        .add(task));
        model.addAttribute("own", tasks.stream().filter(TaskAnswer::own).toList());
        model.addAttribute("families", families);
        model.addAttribute("scorers", List.of("exact", "numeric", "em", "token_f1", "regex", "json"));
        return "tasks";
    }

    @GetMapping("/ui/tasks/{id}")
    String task(@PathVariable("id") String id, HttpServletRequest request, Model model) {
        model.addAttribute("task", platform.get(Caller.of(request), TaskAnswer.class, "/tasks/{}", id));
        return "task";
    }

    @PostMapping("/ui/tasks")
    String upload(
            @RequestParam("name") String name,
            @RequestParam("description") String description,
            @RequestParam("scorer") String scorer,
            @RequestParam("file") MultipartFile file,
            HttpServletRequest request,
            HttpServletResponse response,
            Model model)
            throws IOException {
        Map<String, @Nullable Object> query = new LinkedHashMap<>();
        query.put("name", name.strip());
        query.put("description", description.strip());
        query.put("scorer", scorer);
        try {
            TaskAnswer task =
                    platform.post(Caller.of(request), TaskAnswer.class, JSONL, file.getBytes(), "/tasks", query);
            return "redirect:/ui/tasks/" + task.id();
        } catch (PlatformException e) {
            if (e.code().status() != 400 && e.code().status() != 422 && e.code().status() != 413) {
                throw e;
            }
            response.setStatus(e.code().status());
            model.addAttribute(
                    "problem",
                    Objects.requireNonNullElse(e.getMessage(), e.code().title()));
            model.addAttribute("faults", e.errors());
            model.addAttribute("given", query);
            return list(request, model);
        }
    }
}
