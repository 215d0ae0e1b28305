#!/usr/bin/env bash
# Builds a team's own image for sandboxes from a folder with a Dockerfile, unless it exists, and prints its name,
# harness-sandbox-NAME:<hash of all inputs>, for executor.images.<name>.image.
#
#   derive.sh FOLDER NAME
#
# The Dockerfile says "ARG SANDBOX" and "FROM ${SANDBOX}" and adds to that image; what a harness shall import goes to
# /opt/packages. HARNESS_IMAGE_SANDBOX names the image to build on (default: the one of build.sh), HARNESS_BUILD_NETWORK the
# network of the build (default; "none" for none).
set -euo pipefail
fail() { printf 'derive: %s\n' "$*" >&2; exit 1; }
[ $# -eq 2 ] || fail "usage: derive.sh FOLDER NAME"
folder=$(cd "$1" && pwd) || exit 1
name=$2
[[ $name =~ ^[a-z0-9][a-z0-9-]{0,62}$ ]] || fail "a name has small letters, digits and dashes"
[ -f "$folder/Dockerfile" ] || fail "$folder has no Dockerfile"
sandbox=${HARNESS_IMAGE_SANDBOX:-$("$(dirname "${BASH_SOURCE[0]}")/build.sh")}
id() { docker image inspect --format '{{.Id}}' "$1"; }
start() { docker image inspect --format '{{json .Config.Entrypoint}} {{json .Config.Cmd}} {{.Config.User}}' "$1"; }

tag=harness-sandbox-$name:$({
  id "$sandbox"
  cd "$folder" && find . -type f -print0 | sort -z | xargs -0 sha256sum
} | sha256sum | cut -c1-12)
if ! docker image inspect "$tag" >/dev/null 2>&1; then
  chmod -R a+rX "$folder" # readable inside whatever this checkout's umask was
  log=$(DOCKER_BUILDKIT=${DOCKER_BUILDKIT:-0} docker build --network "${HARNESS_BUILD_NETWORK:-default}" \
    --build-arg SANDBOX="$sandbox" --tag "$tag" "$folder" 2>&1) || {
    printf '%s\n' "$log" >&2
    exit 1
  }
  if [ "$(start "$tag")" != "$(start "$sandbox")" ]; then
    docker image rm "$tag" >/dev/null
    fail "$folder/Dockerfile changes ENTRYPOINT, CMD or USER: the image has to start with the runner, as the one it is built on"
  fi
fi
printf '%s\n' "$tag"
