package org.harnesslearning.store.model;

import org.jspecify.annotations.Nullable;

/**
 * A name that requests may use.
 *
 * @param version null: the base model itself
 * @param promoted whether promotions set it
 */
public record ModelAliasRow(
        String name, String base, @Nullable String version, boolean promoted) {}
