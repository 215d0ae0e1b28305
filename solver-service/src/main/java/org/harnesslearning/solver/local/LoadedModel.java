package org.harnesslearning.solver.local;

import org.harnesslearning.llm.LanguageModel;
import org.harnesslearning.llm.chat.ChatEncoder;

/** A checkpoint in memory: its engine and its tokenizer with chat template. */
record LoadedModel(LanguageModel engine, ChatEncoder encoder) {}
