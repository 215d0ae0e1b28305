package org.harnesslearning.gateway.page;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.FieldError;
import org.harnesslearning.contracts.error.PlatformException;
import org.harnesslearning.gateway.edge.Allowances;
import org.harnesslearning.gateway.edge.Caller;
import org.harnesslearning.gateway.key.ApiKeys;
import org.harnesslearning.gateway.route.Scope;
import org.harnesslearning.store.key.ApiKey;
import org.harnesslearning.store.key.KeyLimits;
import org.jspecify.annotations.Nullable;
import org.springframework.stereotype.Controller;
import org.springframework.ui.Model;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;

/** API keys, for admins. A new key's secret is in the answer to its making only. */
@Controller
class KeyPages extends Page {
    private final ApiKeys keys;
    private final Allowances allowances;
    private final Clock clock;

    KeyPages(Frame frame, ApiKeys keys, Allowances allowances, Clock clock) {
        super(frame);
        this.keys = keys;
        this.allowances = allowances;
        this.clock = clock;
    }

    @GetMapping("/ui/keys")
    String list(HttpServletRequest request, Model model) {
        List<ApiKey> all = keys.all();
        model.addAttribute("valid", all.stream().filter(this::valid).toList());
        model.addAttribute("ended", all.stream().filter(key -> !valid(key)).toList());
        model.addAttribute("allowances", allowances);
        model.addAttribute("common", allowances.of(KeyLimits.NONE));
        model.addAttribute("mine", Caller.of(request).keyId());
        return "keys";
    }

    private boolean valid(ApiKey key) {
        return key.revokedAt() == null
                && (key.expiresAt() == null || key.expiresAt().isAfter(clock.instant()));
    }

    @PostMapping("/ui/keys")
    String create(
            @RequestParam("name") String name,
            @RequestParam("scope") String scope,
            @RequestParam(name = "days", defaultValue = "0") int days,
            @RequestParam(name = "rate_per_second", defaultValue = "") String perSecond,
            @RequestParam(name = "rate_burst", defaultValue = "") String burst,
            @RequestParam(name = "max_body_bytes", defaultValue = "") String body,
            HttpServletRequest request,
            HttpServletResponse response,
            Model model) {
        if (days < 0 || days > 3650) {
            throw PlatformException.field(ErrorCode.INVALID_FIELD, "/days", "days must be from 0 to 3650");
        }
        model.addAttribute(
                "given",
                Map.of(
                        "name", name,
                        "scope", scope,
                        "rate_per_second", perSecond,
                        "rate_burst", burst,
                        "max_body_bytes", body));
        try {
            List<FieldError> faults = new ArrayList<>();
            Double rate = number(faults, "rate_per_second", perSecond, Double::valueOf);
            Integer most = number(faults, "rate_burst", burst, Integer::valueOf);
            Long bytes = number(faults, "max_body_bytes", body, Long::valueOf);
            if (!faults.isEmpty()) {
                throw PlatformException.fields(faults);
            }
            ApiKeys.Created created = keys.create(
                    ApiKeys.name(name),
                    Scope.of(scope)
                            .orElseThrow(() -> PlatformException.field(
                                    ErrorCode.INVALID_FIELD, "/scope", "scope must be read, run or admin")),
                    days == 0 ? null : clock.instant().plus(Duration.ofDays(days)),
                    new KeyLimits(rate, most, bytes));
            model.addAttribute("created", created.key());
            model.addAttribute("secret", created.secret());
            model.addAttribute("given", Map.of());
        } catch (PlatformException e) {
            response.setStatus(e.code().status());
            model.addAttribute("problem", e.getMessage());
            model.addAttribute("wrong", wrong(e.errors()));
        }
        return list(request, model);
    }

    private static <T extends Number> @Nullable T number(
            List<FieldError> faults, String field, String text, Function<String, T> reading) {
        if (text.isBlank()) {
            return null;
        }
        try {
            return reading.apply(text.strip());
        } catch (NumberFormatException e) {
            faults.add(new FieldError("/" + field, ErrorCode.INVALID_FIELD, "Field " + field + " must be a number"));
            return null;
        }
    }

    @PostMapping("/ui/keys/{id}/revoke")
    String revoke(@PathVariable("id") String id) {
        if (!keys.revoke(id)) {
            throw new PlatformException(ErrorCode.NOT_FOUND, "No valid key " + id);
        }
        return "redirect:/ui/keys";
    }
}
