/** What runs the platform: Kubernetes manifests, monitoring rules, dashboards. */
@NullMarked
package org.harnesslearning.standalone.deployment;

import org.jspecify.annotations.NullMarked;
