package org.harnesslearning.contracts.model;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import java.util.List;

/** Answer of {@code POST /tokenize}. */
@JsonIgnoreProperties(ignoreUnknown = true)
public record TokenizeResponse(List<Integer> tokens, int count, int maxModelLen) {}
