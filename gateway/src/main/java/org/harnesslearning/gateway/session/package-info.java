/** Sign-ins of people to the ops pages: cookies, their storage, protection of forms. */
@NullMarked
package org.harnesslearning.gateway.session;

import org.jspecify.annotations.NullMarked;
