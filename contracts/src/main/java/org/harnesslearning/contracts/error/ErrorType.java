package org.harnesslearning.contracts.error;

/** Who can do something about an error. */
public enum ErrorType {
    /** The request is wrong; repeating it unchanged fails again. */
    USER,
    /** A defect or a broken part of the platform. */
    INTERNAL,
    /** Something is full or away for now; repeating later may succeed. */
    RESOURCES
}
