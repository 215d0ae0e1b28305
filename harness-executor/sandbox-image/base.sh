#!/usr/bin/env bash
# Prints the name of a Docker image with Python 3.11, which the images of sandboxes build on.
#
#   base.sh [IMAGE]
#
# IMAGE or HARNESS_SANDBOX_BASE names one; without it docker/base.sh chooses or makes one.
set -euo pipefail
exec "$(dirname "${BASH_SOURCE[0]}")/../../docker/base.sh" python "${1:-${HARNESS_SANDBOX_BASE:-}}"
