package org.harnesslearning.testing;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Needs the Python tools that {@code ./harness verify} installs from the pinned list in {@code python-tools.txt}. Skipped
 * with a message where they are missing; a failure when the environment says {@code CI=true}.
 */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@Tag("python-tools")
@ExtendWith(Requirements.PythonTools.class)
public @interface RequiresPythonTools {}
