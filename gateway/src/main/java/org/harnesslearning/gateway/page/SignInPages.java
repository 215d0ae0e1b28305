package org.harnesslearning.gateway.page;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import org.harnesslearning.gateway.session.Sessions;
import org.jspecify.annotations.Nullable;
import org.springframework.stereotype.Controller;
import org.springframework.ui.Model;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;

/** Sign-in with an API key, and sign-out. */
@Controller
class SignInPages extends Page {
    private static final String HOME = "/ui";

    private final Sessions sessions;

    SignInPages(Frame frame, Sessions sessions) {
        super(frame);
        this.sessions = sessions;
    }

    @GetMapping("/")
    String root() {
        return "redirect:" + HOME;
    }

    @GetMapping("/ui/sign-in")
    String form(
            @RequestParam(name = "next", required = false) @Nullable String next,
            HttpServletRequest request,
            HttpServletResponse response,
            Model model) {
        model.addAttribute("formToken", sessions.signInToken(request, response));
        model.addAttribute("next", local(next));
        return "sign-in";
    }

    @PostMapping("/ui/sign-in")
    String signIn(
            @RequestParam("key") String key,
            @RequestParam(name = "next", required = false) @Nullable String next,
            HttpServletRequest request,
            HttpServletResponse response,
            Model model) {
        if (sessions.signIn(key.strip(), request, response)) {
            return "redirect:" + local(next);
        }
        response.setStatus(HttpServletResponse.SC_UNAUTHORIZED);
        model.addAttribute("failed", true);
        return form(next, request, response, model);
    }

    @PostMapping("/ui/sign-out")
    String signOut(HttpServletRequest request, HttpServletResponse response) {
        sessions.signOut(request, response);
        return "redirect:/ui/sign-in";
    }

    /** Where to go after the sign-in: pages of this site only, whatever a link said. */
    private static String local(@Nullable String next) {
        boolean safe = next != null && next.matches("/ui(?:[/?][A-Za-z0-9/?&=._:%,+~-]*)?");
        return safe && next != null ? next : HOME;
    }
}
