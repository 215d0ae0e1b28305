package org.harnesslearning.contracts.access;

import java.util.List;
import java.util.Locale;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.jspecify.annotations.Nullable;
import org.springframework.core.MethodParameter;
import org.springframework.web.bind.support.WebDataBinderFactory;
import org.springframework.web.context.request.NativeWebRequest;
import org.springframework.web.method.support.HandlerMethodArgumentResolver;
import org.springframework.web.method.support.ModelAndViewContainer;
import org.springframework.web.servlet.config.annotation.WebMvcConfigurer;

/** Gives controllers the {@link Caller}; calls without the headers count as scope {@code read}. To be imported. */
public final class CallerArgument implements HandlerMethodArgumentResolver, WebMvcConfigurer {
    @Override
    public void addArgumentResolvers(List<HandlerMethodArgumentResolver> resolvers) {
        resolvers.add(this);
    }

    @Override
    public boolean supportsParameter(MethodParameter parameter) {
        return parameter.getParameterType() == Caller.class;
    }

    @Override
    public Object resolveArgument(
            MethodParameter parameter,
            @Nullable ModelAndViewContainer container,
            NativeWebRequest request,
            @Nullable WebDataBinderFactory binders) {
        String key = request.getHeader(Caller.KEY_HEADER);
        String scope = request.getHeader(Caller.SCOPE_HEADER);
        return new Caller(key == null ? "internal" : key, scope == null ? Scope.READ : scope(scope));
    }

    private static Scope scope(String name) {
        try {
            return Scope.valueOf(name.toUpperCase(Locale.ROOT));
        } catch (IllegalArgumentException e) {
            throw new PlatformException(ErrorCode.INTERNAL, "header " + Caller.SCOPE_HEADER + " is not a scope", e);
        }
    }
}
