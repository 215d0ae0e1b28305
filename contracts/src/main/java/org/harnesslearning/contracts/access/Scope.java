package org.harnesslearning.contracts.access;

/** Scope of an API key; each allows what the ones before it allow. */
public enum Scope {
    READ,
    RUN,
    ADMIN
}
