package org.harnesslearning.solver.inference;

import java.util.concurrent.atomic.AtomicBoolean;
import org.harnesslearning.contracts.error.ErrorCode;
import org.harnesslearning.contracts.error.PlatformException;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.context.event.EventListener;
import org.springframework.stereotype.Component;

/** Refuses new calls once the service has begun to shut down; running ones finish within the shutdown's time. */
@Component
class Draining {
    private final AtomicBoolean draining = new AtomicBoolean();

    @EventListener(ContextClosedEvent.class)
    void begin() {
        draining.set(true);
    }

    void refuseIfDraining() {
        if (draining.get()) {
            throw new PlatformException(ErrorCode.DRAINING, "The service is shutting down");
        }
    }
}
