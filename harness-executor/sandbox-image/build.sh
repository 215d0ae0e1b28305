#!/usr/bin/env bash
# Builds the sandbox image unless it exists, and prints its name, harness-sandbox:<hash of all inputs>.
#
#   build.sh [BASE_IMAGE]
#
# The base image is chosen by base.sh (by default python:3.11-slim, or one made from Debian packages).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

base=$(./base.sh "$@")
tag=harness-sandbox:$({
  docker image inspect --format '{{.Id}}' "$base"
  sha256sum Dockerfile *.py
} | sha256sum | cut -c1-12)
if ! docker image inspect "$tag" >/dev/null 2>&1; then
  chmod 0644 *.py # readable inside whatever this checkout's umask was
  log=$(docker build --network none --build-arg BASE="$base" --tag "$tag" . 2>&1) || {
    printf '%s\n' "$log" >&2
    exit 1
  }
fi
printf '%s\n' "$tag"
