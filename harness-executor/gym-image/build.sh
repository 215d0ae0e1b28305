#!/usr/bin/env bash
# Builds the image that generates and scores Reasoning Gym's families unless it exists, and prints its name,
# harness-gym:<hash of all inputs>.
#
#   build.sh [BASE_IMAGE]
#
# The base image is chosen by ../sandbox-image/base.sh (by default python:3.11-slim, or one made from Debian packages).
# The Python packages come from the package index that pip is set up for on this machine, checked against the hashes of
# requirements.txt; a second build finds them in HARNESS_CACHE (by default the user's cache folder). Fetching is done by
# this machine's pip, or where there is none by the base image's, in a container on this machine's network. The build
# itself and the finished image need no network.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

say() { printf '%s\n' "$*" >&2; }
die() { say "gym image: $*"; exit 1; }

base=$(../sandbox-image/base.sh "$@")
inputs=(Dockerfile requirements.txt gym_server.py gym_library.py)
tag=harness-gym:$({
  docker image inspect --format '{{.Id}}' "$base"
  sha256sum "${inputs[@]}"
} | sha256sum | cut -c1-12)
present() { docker image inspect "$tag" >/dev/null 2>&1; }
finish() { printf '%s\n' "$tag"; exit 0; }
if present; then finish; fi

# One build at a time on this machine; whoever waited finds the result of the other.
exec 9>"${TMPDIR:-/tmp}/harness-gym-image.lock"
flock 9
if present; then finish; fi
say "Building $tag (fetches about 30 MB of Python packages) ..."

case $(docker version --format '{{.Server.Arch}}') in
  amd64) machine=x86_64 ;;
  arm64) machine=aarch64 ;;
  *) die "there are no packages for this processor" ;;
esac
cache=${HARNESS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/harness-learning}/wheels/$machine-$(sha256sum requirements.txt | cut -c1-12)
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT

platforms=()
for version in manylinux_2_28 manylinux_2_27 manylinux_2_17 manylinux2014 manylinux_2_12 manylinux2010 manylinux_2_5 manylinux1; do
  platforms+=(--platform "${version}_$machine")
done
download=(download --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary :all: --python-version 3.11
  --implementation cp --abi cp311 --abi abi3 --abi none "${platforms[@]}")

fetch_on_this_machine() {
  command -v python3 >/dev/null && python3 -m pip --version >/dev/null 2>&1 &&
    python3 -m pip "${download[@]}" --dest "$work/wheels" --requirement requirements.txt >&2
}
# With this machine's certificates and settings of pip, since its index may be a mirror.
fetch_in_a_container() {
  local options=(--rm --interactive --network host --user 0:0 --entrypoint /bin/sh) name
  for name in $(compgen -e); do
    case $name in
      PIP_CERT | PIP_FIND_LINKS | PIP_CONFIG_FILE) ;;
      PIP_* | http_proxy | https_proxy | no_proxy | HTTP_PROXY | HTTPS_PROXY | NO_PROXY) options+=(--env "$name") ;;
    esac
  done
  local certificates=${PIP_CERT:-${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}}
  if [ -f "$certificates" ]; then
    options+=(--volume "$(readlink -f "$certificates"):/certificates.crt:ro" --env PIP_CERT=/certificates.crt)
  fi
  local file
  for file in "${PIP_CONFIG_FILE:-}" "$HOME/.config/pip/pip.conf" "$HOME/.pip/pip.conf" /etc/pip.conf; do
    if [ -n "$file" ] && [ -f "$file" ]; then
      options+=(--volume "$(readlink -f "$file"):/pip.conf:ro" --env PIP_CONFIG_FILE=/pip.conf)
      break
    fi
  done
  options+=(--volume "$PWD/requirements.txt:/requirements.txt:ro" --volume "$work/wheels:/wheels" --volume /etc/resolv.conf:/etc/resolv.conf:ro)
  docker run "${options[@]}" "$base" -c 'python3 -m venv /venv && exec /venv/bin/pip "$@"' sh \
    "${download[@]}" --dest /wheels --requirement /requirements.txt >&2 </dev/null
}

mkdir "$work/wheels"
if [ -d "$cache" ]; then
  cp "$cache"/*.whl "$work/wheels/"
else
  fetch_on_this_machine || fetch_in_a_container ||
    die "can't fetch the packages of requirements.txt; set up pip for an index that this machine reaches (pip.conf or PIP_INDEX_URL)"
  mkdir -p "$(dirname "$cache")"
  staged=$(mktemp -d "$cache.XXXXXX")
  cp "$work/wheels"/*.whl "$staged/"
  mv -T "$staged" "$cache" 2>/dev/null || rm -rf "$staged"
fi

cp "${inputs[@]}" "$work/"
chmod -R a+rX "$work"
docker build --network none --build-arg BASE="$base" --tag "$tag" "$work" >"$work/log" 2>&1 || {
  tail -n 20 "$work/log" >&2
  die "the build failed (if a package is damaged, delete $cache)"
}
# The stage that unpacked the packages, which some builders keep without a name.
docker image prune --force --filter label=org.harnesslearning.image=gym-packages >/dev/null 2>&1 || true
finish
