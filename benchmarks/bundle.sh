#!/usr/bin/env bash
# Packs the platform and the learning experiment for a host that has neither a JDK nor Maven nor a network: a Java runtime,
# the jars, the sandbox images and, if given, a portable Docker engine. See docs/experiments.md, "On a GPU host".
set -euo pipefail
ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

usage() {
  cat <<'TEXT'
usage: benchmarks/bundle.sh --out DIR [options]

Writes DIR/part-000, part-001, … and DIR/unpack.sh. On the other host, with all of them in one folder:

  bash unpack.sh TARGET          joins and unpacks the parts, starts the engine that was packed unless one runs, loads the
                                 images, and writes TARGET/env
  . TARGET/env                   variables for benchmarks/learn.sh, which lies in TARGET/benchmarks

  --device cuda|cpu (cuda)       natives of ONNX Runtime and PyTorch
  --for train|evaluate (train)   evaluate leaves PyTorch out: about half the size; no stage trains then
  --engine FILE.txz              a portable engine: an archive with docker-bundle/bin/{dockerd,docker,…} and docker-bundle/lib
  --part-bytes N (60000000)      size of a part

The other host needs bash, tar, xz and, for the engine, root.

Needs this checkout's build tools (Maven downloads what it lacks), a JDK in JAVA_HOME and a Docker engine with the images or a
way to build them.
TEXT
}

say() { printf '==> %s\n' "$*" >&2; }
fail() {
  printf 'bundle: %s\n' "$*" >&2
  exit 3
}

out= device=cuda purpose=train engine= bytes=60000000
while [ $# -gt 0 ]; do
  case "$1" in
    --help | -h) usage; exit 0 ;;
    --out | --device | --for | --engine | --part-bytes) [ $# -ge 2 ] || fail "option $1 needs a value" ;;
    *) usage >&2; exit 2 ;;
  esac
  case "$1" in
    --out) out="$2" ;;
    --device) device="$2" ;;
    --for) purpose="$2" ;;
    --engine) engine="$2" ;;
    --part-bytes) bytes="$2" ;;
  esac
  shift 2
done
[ -n "$out" ] || fail "--out names no folder"
[ -z "$engine" ] || [ -f "$engine" ] || fail "there is no file $engine"
case "$device" in cuda) profile=-Pgpu natives='-gpu' ;; cpu) profile='-P!gpu' natives='' ;; *) fail "--device is cuda or cpu" ;; esac
case "$purpose" in train | evaluate) ;; *) fail "--for is train or evaluate" ;; esac
case "$bytes" in '' | *[!0-9]*) fail "--part-bytes is no number" ;; esac
[ -x "${JAVA_HOME:-}/bin/jlink" ] || fail "JAVA_HOME names no JDK with jlink"

say "building"
(cd "$ROOT" && ./mvnw -q -B -ntp "$profile" -pl standalone,benchmarks -am package -Dmaven.test.skip=true -Dspotless.check.skip=true -Dcyclonedx.skip=true) >&2 || fail "the build failed"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lib" "$work/images" "$work/benchmarks" "$out"
for jar in "$ROOT"/standalone/target/lib/*.jar; do
  case "$(basename "$jar")" in
    pytorch-*-linux-x86_64*.jar | openblas-*-linux-x86_64*.jar) [ "$purpose" = train ] || continue ;;
  esac
  case "$(basename "$jar")" in
    # With a GPU's natives those for processors are not looked at, and the other way round.
    pytorch-*-linux-x86_64.jar | onnxruntime-*-linux-x86_64.jar) [ "$device" = cpu ] || continue ;;
    *-linux-x86_64-gpu.jar | cuda-*-linux-x86_64.jar) [ "$device" = cuda ] || continue ;;
    embedded-postgres-binaries-linux-arm64*) continue ;;
  esac
  cp "$jar" "$work/lib/"
done
cp "$ROOT/standalone/target/standalone.jar" "$ROOT"/benchmarks/target/benchmarks-*.jar "$work/lib/"
cp "$ROOT/benchmarks/learn.sh" "$work/benchmarks/"
say "making a Java runtime"
"$JAVA_HOME/bin/jlink" --output "$work/jre" --no-header-files --no-man-pages --strip-debug --compress zip-9 \
  --add-modules java.se,jdk.unsupported,jdk.crypto.ec,jdk.management,jdk.management.agent,jdk.zipfs,jdk.jfr,jdk.net,jdk.naming.dns,jdk.localedata,jdk.httpserver,jdk.jcmd,jdk.security.auth,jdk.charsets,jdk.attach \
  --include-locales en
say "saving the images"
sandbox="$(bash "$ROOT/harness-executor/sandbox-image/build.sh")" || fail "the sandbox image could not be built"
gym="$(bash "$ROOT/harness-executor/gym-image/build.sh")" || fail "the image of Reasoning Gym could not be built"
docker save "$sandbox" "$gym" | xz -T0 -3 >"$work/images/images.tar.xz"
printf 'SANDBOX=%s\nGYM=%s\nNATIVES=%s\n' "$sandbox" "$gym" "$natives" >"$work/images/names"
[ -z "$engine" ] || cp "$engine" "$work/engine.txz"
say "packing"
rm -f "$out"/part-[0-9][0-9][0-9]
tar c -C "$work" . | split -b "$bytes" -d -a 3 - "$out/part-"
cat >"$out/unpack.sh" <<'UNPACK'
#!/usr/bin/env bash
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
target="${1:?usage: unpack.sh TARGET}"
mkdir -p "$target"
target="$(cd "$target" && pwd)"
cat "$here"/part-[0-9][0-9][0-9] | tar x -C "$target"
. "$target/images/names"
bin='' lib=''
if [ -f "$target/engine.txz" ]; then
  tar xJf "$target/engine.txz" -C "$target"
  bin="$target/docker-bundle/bin" lib="$target/docker-bundle/lib"
  PATH="$bin:$PATH"
fi
docker_() { LD_LIBRARY_PATH="$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" docker "$@"; }
if ! docker_ info >/dev/null 2>&1; then
  [ -n "$bin" ] || { echo "unpack: no Docker engine answers, and none was packed" >&2; exit 3; }
  data=/var/tmp/docker-data
  mkdir -p "$data"
  # In memory, where that is allowed: the engine writes a lot for each container.
  mountpoint -q "$data" || mount -t tmpfs -o size=24g tmpfs "$data" || true
  LD_LIBRARY_PATH="$lib" setsid "$bin/dockerd" --iptables=false --bridge=none --data-root "$data" >"$target/dockerd.log" 2>&1 </dev/null &
  for _ in $(seq 150); do
    docker_ info >/dev/null 2>&1 && break
    sleep 0.2
  done
fi
xz -dc "$target/images/images.tar.xz" | docker_ load
docker_ run --rm --network none --entrypoint /bin/true "$SANDBOX" || { echo "unpack: the engine starts no container" >&2; exit 3; }
# CUDA and cuDNN as Python packages bring them, where there are some; otherwise LD_LIBRARY_PATH has to name them.
cuda="$(python3 - 2>/dev/null <<'PYTHON' || true
import glob, site
folders = site.getsitepackages() + [site.getusersitepackages()]
print(":".join(path for folder in folders for path in glob.glob(folder + "/nvidia/*/lib") + glob.glob(folder + "/nvidia/*/*/lib")))
PYTHON
)"
cat >"$target/env" <<ENV
export PATH=$bin${bin:+:}\$PATH
export LD_LIBRARY_PATH=${cuda:+$cuda:}/usr/local/cuda/lib64:/usr/local/cuda/extras/CUPTI/lib64\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}
export JAVA=$target/jre/bin/java JAVA_HOME=$target/jre
export JAVA_TOOL_OPTIONS=${NATIVES:+-Dorg.bytedeco.javacpp.platform.extension=$NATIVES}
export LEARN_CLASSPATH="$target/lib/*"
export HARNESS_IMAGE_SANDBOX=$SANDBOX HARNESS_IMAGE_GYM=$GYM
ENV
echo "unpacked: . $target/env && bash $target/benchmarks/learn.sh help"
UNPACK
say "$(ls "$out"/part-[0-9][0-9][0-9] | wc -l) parts, $(du -shc "$out"/part-[0-9][0-9][0-9] | tail -1 | cut -f1), and $out/unpack.sh"
