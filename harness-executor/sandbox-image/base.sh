#!/usr/bin/env bash
# Prints the name of a Docker image with Python 3.11, which the platform's images build on.
#
#   base.sh [IMAGE]
#
# With IMAGE (or HARNESS_SANDBOX_BASE) that image is used, and pulled where it is missing. Without it the choice is, in
# this order: python:3.11-slim where the engine has it, a base built earlier, python:3.11-slim from a registry, and last
# a base made from Debian packages with debootstrap and `docker import`, which needs root and a Debian mirror only.
# The mirror is the first one of this machine's apt configuration, or HARNESS_DEBIAN_MIRROR.
set -euo pipefail

default_image=python:3.11-slim
suite=bookworm # its python3 is 3.11
packages=python3,python3-venv,ca-certificates

say() { printf '%s\n' "$*" >&2; }
die() { say "sandbox base image: $*"; exit 1; }
present() { docker image inspect "$1" >/dev/null 2>&1; }

command -v docker >/dev/null || die "the docker command is missing; install Docker Engine (Debian: apt-get install docker.io)"
docker version >/dev/null 2>&1 || die "the Docker daemon does not answer; start it (systemctl start docker) or set DOCKER_HOST"

wanted=${1:-${HARNESS_SANDBOX_BASE:-}}
if [ -n "$wanted" ]; then
  present "$wanted" || timeout 600 docker pull --quiet "$wanted" >&2 || die "can't pull $wanted"
  printf '%s\n' "$wanted"
  exit 0
fi

built=harness-python-base:$(sha256sum "${BASH_SOURCE[0]}" | cut -c1-12)
choose_present() {
  for image in "$default_image" "$built"; do
    if present "$image"; then
      printf '%s\n' "$image"
      exit 0
    fi
  done
}
choose_present

# One build at a time on this machine; whoever waited finds the result of the other.
exec 9>"${TMPDIR:-/tmp}/harness-image.lock"
flock 9
choose_present

if timeout 300 docker pull --quiet "$default_image" >/dev/null 2>&1; then
  printf '%s\n' "$default_image"
  exit 0
fi
say "No image registry answers; building $built from Debian packages (a few minutes) ..."

[ "$(id -u)" = 0 ] || die "building from Debian packages needs root; run once as root, or name an image in HARNESS_SANDBOX_BASE"
if ! command -v debootstrap >/dev/null; then
  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends debootstrap; } >&2 ||
    die "can't install debootstrap"
fi
# Where apt has no mirror of this suite (another distribution), debootstrap uses its own default.
mirror=${HARNESS_DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $suite" \
  'Component: main' 2>/dev/null | head -n 1)}

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root
for attempt in 1 2 3; do
  if debootstrap --variant=minbase --include="$packages" "$suite" "$root" ${mirror:+"$mirror"} >"$work/log" 2>&1; then
    break
  fi
  tail -n 5 "$work/log" >&2
  [ "$attempt" -lt 3 ] || die "debootstrap failed"
  rm -rf --one-file-system "$root"
done

# What a container never needs: caches, documentation, logs, device nodes, and every set-user-id bit.
rm -rf "$root"/var/cache/apt/* "$root"/var/cache/debconf/*-old "$root"/var/lib/apt/lists/* "$root"/var/log/* \
  "$root"/usr/share/{doc,man,info,locale,lintian,bug} "$root"/debootstrap
find "$root/dev" -mindepth 1 -delete
find "$root" -xdev -perm /6000 -type f -exec chmod a-s {} +
find "$root" -xdev -name __pycache__ -type d -prune -exec rm -rf {} +
: >"$root/etc/resolv.conf"
: >"$root/etc/machine-id"
printf 'sandbox\n' >"$root/etc/hostname"

tar -C "$root" --sort=name --mtime=@0 --numeric-owner --xattrs -cf - . |
  docker import --change 'ENV PATH=/usr/local/bin:/usr/bin:/bin' --change 'ENV LANG=C.UTF-8' \
    --change 'LABEL org.harnesslearning.image=base' - "$built" >&2
printf '%s\n' "$built"
