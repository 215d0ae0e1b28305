#!/usr/bin/env bash
# Prefill of 512 tokens and decode at batch 1 and 8 after it: ours and llama.cpp in turns on the same GGUF files.
#
#   benchmarks/decode.sh PEER_DIR MODEL.gguf...
#
# PEER_DIR is where peers/build_llama_cpp.sh puts llama.cpp (it is built there if it is missing). ROUNDS (3) rounds, of
# which the best of each figure counts; THREADS (all processors); NEW_TOKENS (32);
# KERNELS (onnx, auto or ggml) for ours.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
peer_dir=${1:?usage: decode.sh PEER_DIR MODEL.gguf...}
shift
rounds=${ROUNDS:-3}
threads=${THREADS:-$(nproc)}
fresh=${NEW_TOKENS:-32}
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$here/peers/build_llama_cpp.sh" "$peer_dir" >&2
if [ -z "${CLASS_PATH:-}" ]; then
  (cd "$here/.." && ./mvnw -q -B -pl benchmarks -am -DskipTests package \
    org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath \
    -Dmdep.outputFile=target/class-path -Dmdep.includeScope=runtime) >&2
  CLASS_PATH="$here/target/classes:$(cat "$here/target/class-path")"
fi

ours() {
  "$java" --enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow -cp "$CLASS_PATH" \
    "-Dkernels=${KERNELS:-auto}" org.harnesslearning.benchmarks.DecodeBenchmark "$1" 512 "$fresh" 1 8
}

peer() {
  "$peer_dir/llama-batched-bench" -m "$1" -c 5120 -npp 512 -ntg "$fresh" -npl 1,8 -pps -t "$threads" -tb "$threads"
}

for model in "$@"; do
  name=$(basename "$model" .gguf)
  for round in $(seq "$rounds"); do
    ours "$model" >"$work/$name.ours.$round"
    peer "$model" >"$work/$name.peer.$round" 2>/dev/null
  done
done
python3 - "$work" "$rounds" "$@" <<'PYTHON'
import os, re, sys

work, rounds, models = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
ROWS = ("prefill 512", "decode batch 1", "decode batch 8")


def ours(text):
    prefill = max(float(x) for x in re.findall(r"^prefill 512 tokens: ([0-9.]+) tokens/s", text, re.M))
    decode = {int(b): float(x) for b, x in re.findall(r"^decode batch (\d+) .*?: ([0-9.]+) tokens/s", text, re.M)}
    return prefill, decode[1], decode[8]


def peer(text):
    # | PP | TG | B | N_KV | T_PP s | S_PP t/s | T_TG s | S_TG t/s | ...
    rows = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) >= 8 and cells[0] == "512":
            rows[int(cells[2])] = (float(cells[5]), float(cells[7]))
    return rows[1][0], rows[1][1], rows[8][1]


print("| model | | ours, tokens/s | llama.cpp, tokens/s | ratio |")
print("|---|---|---|---|---|")
for model in models:
    name = os.path.basename(model)[:-5]
    read = lambda who, parse: [parse(open(f"{work}/{name}.{who}.{i}").read()) for i in range(1, rounds + 1)]
    mine, theirs = read("ours", ours), read("peer", peer)
    for i, row in enumerate(ROWS):
        a, b = max(r[i] for r in mine), max(r[i] for r in theirs)
        print(f"| {name} | {row} | {a:.1f} | {b:.1f} | {a / b:.2f} |")
PYTHON
