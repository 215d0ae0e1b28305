/** HTTP edge shared by all services: problem details, request ids, the installation secret, clients. */
@NullMarked
package org.harnesslearning.contracts.web;

import org.jspecify.annotations.NullMarked;
