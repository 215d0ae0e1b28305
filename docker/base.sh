#!/usr/bin/env bash
# Prints the name of a Docker image that the platform's images build on.
#
#   base.sh KIND [IMAGE]
#
# Kinds: python (sandboxes, engine proxy), java (services), postgres, prometheus.
# With IMAGE that image is used, and pulled where it is missing. Without it the choice is, in this order: the kind's
# default image where the engine has it, a base built earlier, the default image from a registry, and last a base made
# from Debian packages with debootstrap and `docker import`, which needs root and a Debian mirror only. The mirror is the
# first one of this machine's apt configuration, or HARNESS_DEBIAN_MIRROR.
set -euo pipefail

suite=bookworm
changes=(--change 'ENV PATH=/usr/local/bin:/usr/bin:/bin' --change 'ENV LANG=C.UTF-8'
  --change 'LABEL org.harnesslearning.image=base')
kind=${1:?kind}
case $kind in
  python) default_image=python:3.11-slim packages=python3,python3-venv,ca-certificates ;; # bookworm's is 3.11
  java) default_image=debian:bookworm-slim packages=libgomp1,libstdc++6 ;;
  postgres) default_image=postgres:17-bookworm packages=postgresql-15,libnss-wrapper ;;
  prometheus)
    default_image=prom/prometheus:v3.5.0 packages=prometheus
    changes+=(--change 'ENTRYPOINT ["/usr/bin/prometheus"]' --change 'USER 65534:65534')
    ;;
  *) printf 'base image: unknown kind %s\n' "$kind" >&2 && exit 2 ;;
esac

say() { printf '%s\n' "$*" >&2; }
die() { say "base image $kind: $*"; exit 1; }
present() { docker image inspect "$1" >/dev/null 2>&1; }

command -v docker >/dev/null || die "the docker command is missing; install Docker Engine (Debian: apt-get install docker.io)"
docker version >/dev/null 2>&1 || die "the Docker daemon does not answer; start it (systemctl start docker) or set DOCKER_HOST"

wanted=${2:-}
if [ -n "$wanted" ]; then
  present "$wanted" || timeout 600 docker pull --quiet "$wanted" >&2 || die "can't pull $wanted"
  printf '%s\n' "$wanted"
  exit 0
fi

built=harness-$kind-base:$(sha256sum "${BASH_SOURCE[0]}" | cut -c1-12)
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

[ "$(id -u)" = 0 ] || die "building from Debian packages needs root; run once as root, or name an image of your own"
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

# What a container never needs: caches, documentation, logs, device nodes, every set-user-id bit, a database cluster.
rm -rf "$root"/var/cache/apt/* "$root"/var/cache/debconf/*-old "$root"/var/lib/apt/lists/* "$root"/var/log/* \
  "$root"/usr/share/{doc,man,info,locale,lintian,bug} "$root"/debootstrap "$root"/var/lib/postgresql/15 "$root"/etc/postgresql/15
find "$root/dev" -mindepth 1 -delete
find "$root" -xdev -perm /6000 -type f -exec chmod a-s {} +
find "$root" -xdev -name __pycache__ -type d -prune -exec rm -rf {} +
: >"$root/etc/resolv.conf"
: >"$root/etc/machine-id"
printf 'sandbox\n' >"$root/etc/hostname"

tar -C "$root" --sort=name --mtime=@0 --numeric-owner --xattrs -cf - . |
  docker import "${changes[@]}" - "$built" >&2
printf '%s\n' "$built"
