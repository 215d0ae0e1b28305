/** Chat templates: conversations rendered with the checkpoint's own Jinja template, and turned into token ids. */
@NullMarked
package org.harnesslearning.llm.chat;

import org.jspecify.annotations.NullMarked;
