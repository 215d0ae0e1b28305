package org.harnesslearning.contracts.execution;

import com.fasterxml.jackson.annotation.JsonInclude;
import org.jspecify.annotations.Nullable;

/** One run of {@code env.python}; texts are truncated head and tail. */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record PythonRun(
        String code, String stdout, String stderr, @Nullable String error) {}
