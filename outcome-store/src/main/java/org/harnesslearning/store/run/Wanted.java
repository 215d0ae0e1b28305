package org.harnesslearning.store.run;

/** What a user asked of a running run; obeyed between two committed units of work. */
public enum Wanted {
    CANCEL,
    PAUSE
}
