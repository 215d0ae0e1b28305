#!/usr/bin/env bash
# Builds the images of the services from the reactor's output (./mvnw package), each once for its content, and prints
# NAME=IMAGE lines for docker-compose.yml.
#
#   images.sh [--gpu] [SERVICE...]
#
# Without a service: all five, Postgres and the engine proxy. With --gpu solver-service and trainer-service go
# on HARNESS_CUDA_BASE, with the natives that a build with -Pgpu brought.
# Bases: HARNESS_JAVA_BASE, HARNESS_POSTGRES_IMAGE, HARNESS_SANDBOX_BASE, else chosen by base.sh. Needs a JDK 25 in
# JAVA_HOME (jlink).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
out=$root/target/images

say() { printf '%s\n' "$*" >&2; }
die() { say "images: $*"; exit 1; }
hash_of() { sha256sum | cut -c1-12; }
present() { docker image inspect "$1" >/dev/null 2>&1; }

services=(gateway proposer-service harness-executor solver-service trainer-service)
variant=
wanted=()
for argument in "$@"; do
  case $argument in
    --gpu) variant=-gpu ;;
    *) wanted+=("$argument") ;;
  esac
done
[ ${#wanted[@]} -gt 0 ] || wanted=("${services[@]}" postgres engine-proxy)

main_of() {
  case $1 in
    gateway) printf 'org.harnesslearning.gateway.GatewayApplication 8080' ;;
    proposer-service) printf 'org.harnesslearning.proposer.ProposerApplication 8081' ;;
    harness-executor) printf 'org.harnesslearning.executor.ExecutorApplication 8082' ;;
    solver-service) printf 'org.harnesslearning.solver.SolverApplication 8083' ;;
    trainer-service) printf 'org.harnesslearning.trainer.TrainerApplication 8084' ;;
    *) die "unknown service $1" ;;
  esac
}

mkdir -p "$out"
# One run at a time in a checkout; whoever waited finds the result of the other.
exec 8>"$out/lock"
flock 8

build() { # tag, folder, further arguments
  local tag=$1 folder=$2 log
  shift 2
  say "image: building $tag"
  log=$(DOCKER_BUILDKIT=${DOCKER_BUILDKIT:-0} docker build --network none --tag "$tag" "$@" "$folder" 2>&1) || {
    printf '%s\n' "$log" | tail -n 30 >&2
    die "$tag could not be built"
  }
}

# --- Java runtime -----------------------------------------------------------------------------------------------------

# What the services and their libraries use of the JDK. A missing module shows in the tests of the started services.
java_modules=java.se,jdk.crypto.ec,jdk.httpserver,jdk.jcmd,jdk.jfr,jdk.management,jdk.net,jdk.unsupported,jdk.zipfs

runtime() {
  [ -x "${JAVA_HOME:-}/bin/jlink" ] || die "JAVA_HOME names no JDK with jlink"
  local id
  id=$({ cat "$JAVA_HOME/release" && printf '%s' "$java_modules"; } | hash_of)
  runtime=$out/runtime-$id
  if [ ! -d "$runtime" ]; then
    say "images: making the Java runtime (jlink)"
    rm -rf "$runtime.part"
    "$JAVA_HOME/bin/jlink" --add-modules "$java_modules" --no-header-files --no-man-pages --generate-cds-archive \
      --output "$runtime.part" >&2 || die "jlink failed"
    mv "$runtime.part" "$runtime"
  fi
}

# --- services ---------------------------------------------------------------------------------------------------------

class_path() {
  local file=$root/$1/target/class-path
  [ -f "$file" ] || die "$file is missing; build first: ./mvnw -pl standalone -am package -Dmaven.test.skip=true"
  { cat "$file" && echo; } | tr ':' '\n' | sed '/^$/d'
}
in_reactor() { [[ $1 == "$root"/* ]]; }
own_jar() {
  local jar
  jar=$(find "$root/$1/target" -maxdepth 1 -name "$1-*.jar" ! -name '*-tests.jar' ! -name '*-sources.jar')
  [ -f "$jar" ] || die "$1 has no jar; build first"
  printf '%s\n' "$jar"
}
put() { cp -l "$1" "$2" 2>/dev/null || cp "$1" "$2"; }

shared_libraries() {
  local service
  for service in "${services[@]}"; do
    class_path "$service" | sort -u
  done | sort | uniq -c | awk -v all=${#services[@]} '$1 == all { print $2 }' |
    while IFS= read -r jar; do in_reactor "$jar" || printf '%s\n' "$jar"; done
}

service_image() {
  local service=$1 main port base context tag jar libraries=() modules=()
  local gpu=
  case $variant/$service in -gpu/solver-service | -gpu/trainer-service) gpu=yes ;; esac
  read -r main port <<<"$(main_of "$service")"
  modules+=("$(own_jar "$service")")
  while IFS= read -r jar; do
    if in_reactor "$jar"; then modules+=("$jar"); else libraries+=("$jar"); fi
  done < <(class_path "$service")
  base=$java_base
  if [ -n "$gpu" ]; then
    base=${HARNESS_CUDA_BASE:-nvidia/cuda:13.0.1-cudnn-runtime-ubuntu24.04}
    base=$(docker/base.sh java "$base")
  fi

  local arguments=(--enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow
    # Few processors and little memory.
    -XX:+UseSerialGC -XX:MaxRAMPercentage=60 -XX:ReservedCodeCacheSize=96m -XX:-UsePerfData
    -XX:+ExitOnOutOfMemoryError
    # Replicas come and go: their addresses are looked up again after two seconds.
    -Dsun.net.inetaddr.ttl=2 -Dsun.net.inetaddr.negative.ttl=1
    -Djava.io.tmpdir=/tmp -Duser.home=/tmp -Dorg.bytedeco.javacpp.cachedir=/tmp/javacpp -Dfile.encoding=UTF-8)
  local names=() list
  for jar in "${modules[@]}" "${libraries[@]}"; do names+=("/app/lib/$(basename "$jar")"); done
  list=$(IFS=:; printf '%s' "${names[*]}")
  arguments+=(-cp "$list" "$main")

  # Released libraries never change under one name; the modules do.
  tag=harness-${service#harness-}:$({
    docker image inspect --format '{{.Id}}' "$base"
    basename "$runtime"
    sha256sum Dockerfile docker/health "${modules[@]}" | cut -d' ' -f1
    printf '%s\n' "${libraries[@]##*/}" "${arguments[@]}" "$shared" "$port"
  } | hash_of)
  if ! present "$tag"; then
    context=$out/context
    rm -rf "$context"
    mkdir -p "$context"/{shared,own,modules}
    cp -al "$runtime" "$context/runtime" 2>/dev/null || cp -a "$runtime" "$context/runtime"
    for jar in "${libraries[@]}"; do
      if grep -qxF "$jar" <<<"$shared"; then put "$jar" "$context/shared/"; else put "$jar" "$context/own/"; fi
    done
    for jar in "${modules[@]}"; do put "$jar" "$context/modules/"; done
    printf '%s\n' "${arguments[@]}" >"$context/java.args"
    install -m 0755 docker/health "$context/health"
    cp Dockerfile "$context/Dockerfile"
    chmod -R a+rX "$context"/{java.args,Dockerfile,shared,own,modules}
    build "$tag" "$context" --build-arg BASE="$base" --build-arg SERVICE="$service" --build-arg PORT="$port"
    rm -rf "$context"
  fi
  printf '%s' "$tag"
}

folder_image() { # name, folder, base
  local tag
  tag=harness-$1:$({ docker image inspect --format '{{.Id}}' "$3"; cat "$2"/*; } | hash_of)
  if ! present "$tag"; then build "$tag" "$2" --build-arg BASE="$3"; fi
  printf '%s' "$tag"
}

java_base= runtime= shared=
for name in "${wanted[@]}"; do
  variable=HARNESS_IMAGE_$(printf '%s' "$name" | tr 'a-z-' 'A-Z_')
  case $name in
    postgres)
      base=$(docker/base.sh postgres "${HARNESS_POSTGRES_IMAGE:-}")
      case $base in
        # The official image brings its own entry point, which takes the same variables.
        harness-postgres-base:*) image=$(folder_image postgres docker/postgres "$base") ;;
        *) image=$base ;;
      esac
      ;;
    prometheus) image=$(docker/base.sh prometheus "${HARNESS_PROMETHEUS_IMAGE:-}") ;;
    engine-proxy)
      base=$(docker/base.sh python "${HARNESS_SANDBOX_BASE:-}")
      image=$(folder_image engine-proxy docker/engine-proxy "$base")
      ;;
    *)
      if [ -z "$java_base" ]; then
        java_base=$(docker/base.sh java "${HARNESS_JAVA_BASE:-}")
        runtime
        shared=$(shared_libraries)
      fi
      image=$(service_image "$name")
      ;;
  esac
  printf '%s=%s\n' "$variable" "$image"
done
