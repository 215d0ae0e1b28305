#!/usr/bin/env bash
# On a host with an NVIDIA GPU: the tests that need one, then the table of speeds beside Hugging Face Transformers.
# usage: benchmarks/gpu.sh [parity|speed|soak|all]; needs JDK 25, CUDA 13 and cuDNN 9 libraries, 20 GB of disk for `speed`.
# The libraries are looked for in LD_LIBRARY_PATH and among the packages of python3 (pip install torch brings them).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
what="${1:-all}"
work="${HARNESS_GPU_WORK:-target/gpu}"
mkdir -p "$work"

packages="$(python3 -c 'import nvidia; print(list(nvidia.__path__)[0])' 2>/dev/null || true)"
if [ -n "$packages" ]; then
  LD_LIBRARY_PATH="$(find "$packages" -name 'lib*.so.*' -exec dirname {} + | sort -u | tr '\n' ':')${LD_LIBRARY_PATH:-}"
  export LD_LIBRARY_PATH
fi

if [ "$what" = parity ] || [ "$what" = all ]; then
  ./mvnw -q -B -Pgpu -pl llm-runtime,trainer-service -am test -Dgroups=cuda -Dsurefire.failIfNoSpecifiedTests=false
  sed -n 's/.* name="\([^"]*\)" time="\([^"]*\)" tests="\([^"]*\)" errors="\([^"]*\)" skipped="\([^"]*\)" failures="\([^"]*\)".*/\1: \3 tests, \4 errors, \6 failures, \5 skipped, \2 s/p' \
    llm-runtime/target/surefire-reports/TEST-*CudaTest.xml trainer-service/target/surefire-reports/TEST-*.xml
fi
[ "$what" = parity ] && exit 0

./mvnw -q -B -Pgpu -pl benchmarks -am -DskipTests package dependency:build-classpath -Dmdep.outputFile=target/gpu.classpath
classpath="benchmarks/target/classes:llm-runtime/target/classes:$(cat benchmarks/target/gpu.classpath)"
run() { "${JAVA_HOME:+$JAVA_HOME/bin/}java" --enable-native-access=ALL-UNNAMED -cp "$classpath" "org.harnesslearning.benchmarks.$@"; }
for shape in 135m 4b; do
  [ -f "$work/$shape/model.safetensors" ] || run RandomCheckpoint "$work/$shape" "$shape"
done
if [ "$what" = speed ] || [ "$what" = all ]; then
  nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
  for shape in 4b 135m; do
    run GpuBenchmark "$work/$shape"
    if python3 -c 'import torch, transformers' 2>/dev/null; then
      python3 benchmarks/peers/transformers_decode.py "$work/$shape"
    else
      echo "no transformers here: no peer"
    fi
  done
fi
if [ "$what" = soak ] || [ "$what" = all ]; then
  run GpuSoak "$work/135m"
fi
