#!/usr/bin/env bash
# Speed of LoRA training beside Hugging Face PEFT: same checkpoint of random weights, batch and rank, one after the other.
# usage: benchmarks/train.sh [4b|rehearse|ranks|rehearse-ranks] [key=value …]
#                                                  keys: batch length rank steps warmup checkpointing; of ranks also: ranks micro
#   4b        on a host with an NVIDIA GPU: 4.4 billion parameters in bfloat16, batch 8 x 1,024, rank 16 on all projections
#   ranks     on a host with several GPUs: one process, then `ranks` of them (2) on the same batch (16); their ratio, and
#             their losses, which must be alike. rehearse-ranks: the same over Gloo with a tiny model on a processor
#   rehearse  on a processor with a tiny model in fp32: shows that both sides run and start from nearly the same loss; no figure
# Needs JDK 25; the peer needs python3 (or PYTHON) with torch, transformers, peft and accelerate. On a GPU also CUDA 13 and
# cuDNN 9 libraries, in LD_LIBRARY_PATH or among python3's packages (pip install torch brings them), and 20 GB of disk.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
what="${1:-4b}"
shift || true
python="${PYTHON:-python3}"
work="${HARNESS_GPU_WORK:-target/gpu}"
mkdir -p "$work"

batch=8 length=1024 rank=16 steps=10 warmup=20 checkpointing=false ranks=2 micro=8
case "$what" in
  4b) shape=4b device=cuda profile=-Pgpu ;;
  rehearse) shape=tiny device=cpu profile=-P!gpu batch=2 length=64 rank=4 steps=3 warmup=1 ;;
  ranks) shape=4b device=cuda profile=-Pgpu batch=16 ;;
  rehearse-ranks) shape=tiny device=cpu profile=-P!gpu batch=4 micro=2 length=64 rank=4 steps=3 warmup=1 ;;
  *) sed -n '2,10p' "$0" >&2; exit 2 ;;
esac
for setting in "$@"; do
  case "$setting" in
    ranks=* | micro=* | batch=* | length=* | rank=* | steps=* | warmup=* | checkpointing=*) declare "$setting" ;;
    *) echo "unknown setting $setting" >&2; exit 2 ;;
  esac
done

packages="$("$python" -c 'import nvidia; print(list(nvidia.__path__)[0])' 2>/dev/null || true)"
if [ "$device" = cuda ] && [ -n "$packages" ]; then
  LD_LIBRARY_PATH="$(find "$packages" -name 'lib*.so.*' -exec dirname {} + | sort -u | tr '\n' ':')${LD_LIBRARY_PATH:-}"
  export LD_LIBRARY_PATH
fi
./mvnw -q -B "$profile" -pl benchmarks -am -DskipTests package dependency:build-classpath -Dmdep.outputFile=target/train.classpath
classpath="benchmarks/target/classes:trainer-service/target/classes:llm-runtime/target/classes:$(cat benchmarks/target/train.classpath)"
run() {
  "${JAVA_HOME:+$JAVA_HOME/bin/}java" --enable-native-access=ALL-UNNAMED -cp "$classpath" "org.harnesslearning.benchmarks.$@"
}
[ -f "$work/$shape/model.safetensors" ] || run RandomCheckpoint "$work/$shape" "$shape"
[ "$device" = cuda ] && nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader

log="$work/train-$shape.log"
if [ "$what" = ranks ] || [ "$what" = rehearse-ranks ]; then
  options=(device=$device batch="$batch" micro="$micro" length="$length" rank="$rank" steps="$steps" warmup="$warmup")
  run RanksBenchmark "$work/$shape" "${options[@]}" | tee "$log"
  export WORLD_SIZE=$ranks MASTER_ADDR=127.0.0.1 MASTER_PORT="${MASTER_PORT:-29511}"
  for ((i = 1; i < ranks; i++)); do
    RANK=$i LOCAL_RANK=$i run RanksBenchmark "$work/$shape" "${options[@]}" &
  done
  RANK=0 LOCAL_RANK=0 run RanksBenchmark "$work/$shape" "${options[@]}" | tee -a "$log"
  wait
  awk -F= -v n="$ranks" '/^ranks_1_/ { one = $2 } $0 ~ "^ranks_" n "_" { all = $2 }
    END { printf "%d ranks / 1: %.2f (%.0f / %.0f tokens/s)\n", n, all / one, all, one }' "$log"
  exit
fi
run TrainingBenchmark "$work/$shape" device=$device batch="$batch" length="$length" rank="$rank" steps="$steps" \
  warmup="$warmup" checkpointing="$checkpointing" threads=1 | tee "$log"
if ! "$python" -c 'import torch, transformers, peft' 2>/dev/null; then
  echo "no torch, transformers and peft here: no peer"
  exit 0
fi
"$python" benchmarks/peers/peft_training.py "$work/$shape" $device "$batch" "$length" "$rank" "$steps" "$warmup" \
  "$checkpointing" | tee -a "$log"
awk -F= '/^ours_tokens/ { ours = $2 } /^peft_tokens/ { peft = $2 }
  END { printf "ratio ours / peft: %.2f (%.0f / %.0f tokens/s)\n", ours / peft, ours, peft }' "$log"
