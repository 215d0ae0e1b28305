package org.harnesslearning.contracts.execution;

import java.util.List;
import org.harnesslearning.contracts.task.Item;

/** Generated items in index order. */
public record GenerateResponse(List<Item> items) {
    public GenerateResponse {
        items = List.copyOf(items);
    }
}
