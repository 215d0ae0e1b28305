/** Tests of the chat templates. */
@NullMarked
package org.harnesslearning.llm.chat;

import org.jspecify.annotations.NullMarked;
