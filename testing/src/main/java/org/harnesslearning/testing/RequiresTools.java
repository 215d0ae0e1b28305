package org.harnesslearning.testing;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Needs the tools of {@code k8s/tools.sh}, which are fetched once. Skipped with a message where that fails; a failure when
 * the environment says {@code CI=true}.
 */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@Tag("tools")
@ExtendWith(Requirements.Tools.class)
public @interface RequiresTools {}
