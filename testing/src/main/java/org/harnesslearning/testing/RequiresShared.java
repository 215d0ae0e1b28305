package org.harnesslearning.testing;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ExtendWith;

/** Needs the shared data beside the checkout. Skipped with a message where it is missing; a failure when the environment says {@code CI=true}. */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@Tag("shared")
@ExtendWith(Requirements.Shared.class)
public @interface RequiresShared {}
