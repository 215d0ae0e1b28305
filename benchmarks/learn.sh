#!/usr/bin/env bash
# The learning experiment: a corpus from a teacher, supervised training, policy optimisation, evaluation, tables.
# See docs/experiments.md; `benchmarks/learn.sh help` lists stages and options.
set -euo pipefail
ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
export HARNESS_DATA="${HARNESS_DATA:-$ROOT/.harness}"

usage() {
  cat <<'TEXT'
usage: benchmarks/learn.sh STAGE [--out DIR] [--minutes N] [options]

  up        start the platform for this work (all services in one JVM), and wait until it is ready
  down      stop it
  corpus    edits by the teacher on the 21 training families, executed and filtered; each pass begins from what the one
            before was left with
  sft       supervised training on the corpus, on prompts without demonstrations
  grpo      policy optimisation from the version of sft
  check     all kept versions on the 5 withheld families
  evaluate  all arms on the 21 unseen families, once
  import    bring corpora and adapters of DIR into a platform that does not have them (stages do so by themselves)
  report    all tables from the files of DIR alone, to standard output and DIR/report.md; needs no platform

Each stage leaves out what DIR holds already, and ends after --minutes with what it has; give the same command again to go
on, on the same platform or on a fresh one.

All stages      --out DIR (target/learn)  --model NAME (qwen2.5-coder-1.5b)  --solver NAME (the model)  --minutes N (no end)
                --in-flight N (48) revisions at once  --feedback N (6)  --dev N (12) questions  --seed N (1)
                --start cpu|cuda: start the platform first, unless one runs, and fetch the models
                --poll-ms N (1000)  --url URL  --key KEY (of scope admin; both from HARNESS_DATA by default)
corpus          --families A,B  --teacher NAME  --demonstrations SET (default)  --candidates N (8)  --passes N (2)
                --states N (1) starting harnesses of a family in later passes  --revision-seconds N (300)
                --held-out-share X (0.1) of the states  --again N (0) further passes from the minimal harness, with other
                questions; the passes above are left out then  --edited N (0) likewise, from the best harnesses that the
                corpus has of each family
sft             --epochs N (4)  --batch N (8)  --learning-rate X (2e-4)  --rank N (8)  --evaluate-every N (5)
                --patience N (4)  --steps N (1000)  --share-of-best X (0): only edits that score at least this share of the
                best one of their state  --from VERSION: go on from this adapter instead of a new one
grpo            --steps N (40)  --groups N (6) a step  --candidates N (8)  --learning-rate X (5e-5)  --staleness N (0)
                --reward absolute|delta_dev|improvement_dev|delta_same_batch (absolute)  --kl X (0)  --measure-kl true|false
                --from VERSION  --keep-every N (5) steps
                --check true|false (true): each kept version on the withheld families; after --patience N (2) checks in a row
                that are clearly below the best the run ends; the best version is the one that counts
                --states N (1) starting harnesses of a family beside the minimal one, which takes --minimal N (1) turns
                --iterations N (1) steps on each batch  --normalization std|mean (std)  --families A,B
                --entropy X (0): weight of the entropy in the loss  --distinct true|false (false): copies in a group count once
check, evaluate --arms A,B  --parts revisions,scorings,chains,best,noise,demonstrations  --proposals N (4)
                --repeats N (1)  --rounds N (3)  --round-candidates N (1)  --held-out N (12)  --question-seed N (42)
                --families A,B  --sft-version V  --grpo-version V
                --sets A,B: evaluate has one more arm for each of these sets, the untrained model with its demonstrations
                --adapters DIR: with the adapters of another experiment's folder, for an --out that has none
corpus to grpo  --temperature X (0.8)  --top-p X (0.95): of sampling, in check and evaluate too; the checks of grpo keep to
                the defaults, and a folder takes edits of one temperature for each set of families
                --max-tokens N (768)  --solver-max-tokens N (512)
                --rank N (8)  --micro-batch TOKENS (16384)  --gradient-checkpointing true|false
up              --device cpu|cuda (cpu)  --model NAME=FILE (may be repeated; without: all models of the cache)
                --slots N (128 on cuda, 8)  --max-sequence N (8192 on cuda, 4096)  --containers N (192 on cuda, 8)
                --port N (8080)  --heap SIZE (16g on cuda, 3g)  --set NAME=VALUE (may be repeated)

How long, as seen on one H200 with 16 cores: up 12 s; a pass of the corpus (210 edits x 12 questions) 83 s; sft (52 edits x 4
epochs) 25 s; a batch of grpo (16 groups x 8 edits x 8 questions) 42 s; evaluate (4 arms x 21 families x 4 edits and the
fixed harnesses, --in-flight 120) 230 s without the chains. docs/experiments.md has the conditions.

Environment: LEARN_CLASSPATH (jars and classes of standalone and benchmarks; without it they are built by Maven), JAVA (java
to run with), HARNESS_IMAGE_SANDBOX and HARNESS_IMAGE_GYM (images to use; without them they are built), HARNESS_DATA,
HARNESS_CACHE (models). With the first four nothing is built and nothing is downloaded.
TEXT
}

say() { printf '==> %s\n' "$*" >&2; }
fail() {
  printf 'learn: %s\n' "$*" >&2
  exit 3
}

find_java() {
  if [ -z "${JAVA:-}" ]; then
    if [ -n "${JAVA_HOME:-}" ]; then JAVA="$JAVA_HOME/bin/java"; else JAVA="$(command -v java)" || fail "no java: set JAVA or JAVA_HOME"; fi
  fi
  [ -x "$JAVA" ] || fail "$JAVA can't be run"
}

find_classes() {
  if [ -n "${LEARN_CLASSPATH:-}" ]; then
    return
  fi
  local profile=-P!gpu
  if [ "${1:-cpu}" = cuda ] || [ "${LEARN_GPU:-}" = yes ]; then profile=-Pgpu; fi
  say "building (LEARN_CLASSPATH is not set)"
  (cd "$ROOT" && ./mvnw -q -B -ntp "$profile" -pl standalone,benchmarks -am package -Dmaven.test.skip=true -Dspotless.check.skip=true -Dcyclonedx.skip=true) >&2 || fail "the build failed"
  LEARN_CLASSPATH="$ROOT/standalone/target/standalone.jar:$ROOT/benchmarks/target/classes"
}

running() {
  local pid
  pid="$(cat "$HARNESS_DATA/pid" 2>/dev/null)" && [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null &&
    { [ ! -r "/proc/$pid/cmdline" ] || tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q StandaloneApplication; } && printf '%s' "$pid"
}

image() {
  local variable="HARNESS_IMAGE_$1" kind="$2"
  if [ -n "${!variable:-}" ]; then
    printf '%s' "${!variable}"
  else
    bash "$ROOT/harness-executor/$kind-image/build.sh"
  fi
}

up() {
  local device=cpu slots= sequence= containers= port=8080 heap= models=() settings=() name value i pid log sandbox gym
  while [ $# -gt 0 ]; do
    case "$1" in
      --*=*) name="${1%%=*}" value="${1#*=}"; shift ;;
      --*) [ $# -ge 2 ] || fail "option $1 needs a value"; name="$1" value="$2"; shift 2 ;;
      *) fail "'$1' is no option" ;;
    esac
    case "$name" in
      --device) device="$value" ;;
      --slots) slots="$value" ;;
      --max-sequence) sequence="$value" ;;
      --containers) containers="$value" ;;
      --port) port="$value" ;;
      --heap) heap="$value" ;;
      --model) models+=("$value") ;;
      --set) settings+=(--set "$value") ;;
      *) fail "unknown option $name of up" ;;
    esac
  done
  if pid="$(running)"; then
    say "the platform runs already (pid $pid): $(cat "$HARNESS_DATA/ready" 2>/dev/null || printf 'not ready yet')"
    return
  fi
  find_java
  find_classes "$device"
  sandbox="$(image SANDBOX sandbox)" || fail "the sandbox image could not be built"
  gym="$(image GYM gym)" || fail "the image of Reasoning Gym could not be built"
  local all=(
    --port "$port"
    --set "executor.sandbox.image=$sandbox" --set "executor.gym.image=$gym"
    --set solver.adapters.max-resident=6 --set solver.adapters.max-rank=16
    # One key makes all calls of the experiment.
    --set gateway.rate.per-second=1000 --set gateway.rate.burst=2000
    --set executor.execution.kept=2048 --set executor.admission.queue=2048
    --set proposer.executor-patience=20m
  )
  case "$device" in
    cuda)
      : "${slots:=128}" "${sequence:=8192}" "${containers:=192}" "${heap:=16g}"
      all+=(
        --set solver.defaults.device=cuda --set solver.defaults.number-type=bf16 --set trainer.learner.device=cuda
        # Scorers of Reasoning Gym share one container: with one processor they would bound everything.
        --set executor.sandbox.cpus=4 --set "executor.admission.cpus=$((4 * containers + 64))"
        --set executor.gym.max-requests=48 --set executor.gym.memory-mib=8192 --set executor.sandbox.pids=256
        --set executor.pool.size=48
        --set db-scheduler.threads=128
        --set proposer.candidate-lanes=8 --set proposer.question-lanes=3
      )
      ;;
    cpu)
      : "${slots:=8}" "${sequence:=4096}" "${containers:=8}" "${heap:=3g}"
      all+=(--set db-scheduler.threads=16)
      ;;
    *) fail "--device is cpu or cuda" ;;
  esac
  all+=(
    --set "solver.defaults.slots=$slots" --set "solver.defaults.max-sequence=$sequence" --set solver.defaults.max-queue=4096
    --set "executor.sandbox.max-containers=$containers"
  )
  if [ ${#models[@]} -gt 0 ]; then
    all+=(--set solver.discover=false)
    for i in "${!models[@]}"; do
      name="${models[$i]%%=*}" value="${models[$i]#*=}"
      [ -e "$value" ] || fail "there is no file $value for the model $name"
      all+=(
        --set "solver.models[$i].name=$name" --set "solver.models[$i].kind=local" --set "solver.models[$i].checkpoint=$value"
        --set "trainer.checkpoints[$name]=$value" --set "solver.preload[$i]=$name"
      )
    done
    all+=(--set "proposer.default-model=${models[0]%%=*}")
  fi
  mkdir -p "$HARNESS_DATA/logs"
  rm -f "$HARNESS_DATA/ready"
  # A setting given by --set replaces the one of here: given twice, it would be taken for a list.
  local kept=() given
  for ((i = 0; i < ${#all[@]}; i++)); do
    if [ "${all[$i]}" = --set ]; then
      for given in ${settings[@]+"${settings[@]}"}; do
        if [ "${given%%=*}" = "${all[$((i + 1))]%%=*}" ]; then
          i=$((i + 1))
          continue 2
        fi
      done
    fi
    kept+=("${all[$i]}")
  done
  all=("${kept[@]}")
  # More at once than the services' own defaults for connections foresee.
  mkdir -p "$HARNESS_DATA/config"
  for name in proposer-service=60 harness-executor=60 trainer-service=40; do
    [ -e "$HARNESS_DATA/config/${name%=*}.yaml" ] ||
      printf 'spring.datasource.hikari.maximum-pool-size: %s\n' "${name#*=}" >"$HARNESS_DATA/config/${name%=*}.yaml"
  done
  log="$HARNESS_DATA/logs/start.log"
  say "starting the platform on $device (logs: $HARNESS_DATA/logs)"
  cd "$ROOT"
  setsid nohup "$JAVA" --enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow "-Xmx$heap" \
    -cp "$LEARN_CLASSPATH" org.harnesslearning.standalone.StandaloneApplication \
    "${all[@]}" ${settings[@]+"${settings[@]}"} >"$log" 2>&1 </dev/null &
  pid=$!
  for ((i = 0; i < 1200; i++)); do
    if [ -f "$HARNESS_DATA/ready" ]; then
      say "ready: $(cat "$HARNESS_DATA/ready")"
      return
    fi
    kill -0 "$pid" 2>/dev/null || {
      tail -n 20 "$log" >&2
      fail "the platform did not start; see $HARNESS_DATA/logs"
    }
    sleep 0.25
  done
  fail "the platform is not ready after five minutes; see $HARNESS_DATA/logs"
}

down() {
  local pid i
  pid="$(running)" || {
    say "the platform does not run"
    return
  }
  kill "$pid"
  for ((i = 0; i < 240; i++)); do
    kill -0 "$pid" 2>/dev/null || return 0
    sleep 0.25
  done
  fail "pid $pid still runs after a minute"
}

# Takes --start DEVICE out of a stage's options: starts the platform there, with the models that the stage names, unless
# one runs. What is left stands in STAGE_OPTIONS.
start_for() {
  local device= names=() file model wanted=()
  STAGE_OPTIONS=()
  while [ $# -gt 0 ]; do
    case "$1" in
      --start) [ $# -ge 2 ] || fail "option --start needs cpu or cuda"; device="$2"; shift ;;
      --start=*) device="${1#*=}" ;;
      --model | --solver | --teacher) [ $# -ge 2 ] || fail "option $1 needs a value"; names+=("$2"); STAGE_OPTIONS+=("$1" "$2"); shift ;;
      *) STAGE_OPTIONS+=("$1") ;;
    esac
    shift
  done
  [ -n "$device" ] || return 0
  if running >/dev/null; then
    return 0
  fi
  for model in qwen2.5-coder-1.5b ${names[@]+"${names[@]}"}; do
    file="${HARNESS_CACHE:-$HOME/.cache/harness-learning}/models/$model/$model.gguf"
    [ -e "$file" ] || "$ROOT/harness" model fetch "$model" >&2 || fail "the model $model could not be fetched"
    case " ${wanted[*]-} " in *" $model=$file "*) ;; *) wanted+=("$model=$file") ;; esac
  done
  local options=()
  for model in "${wanted[@]}"; do options+=(--model "$model"); done
  # Its folder and variables are no concern of the stage.
  (up --device "$device" "${options[@]}") || exit 3
}

stage="${1:-help}"
[ $# -eq 0 ] || shift
case "$stage" in
  help | --help | -h) usage ;;
  up) up "$@" ;;
  down) down ;;
  corpus | sft | grpo | check | evaluate | import | report)
    case " $* " in *" --help "*) usage; exit 0 ;; esac
    start_for "$@"
    find_java
    find_classes
    exec "$JAVA" --enable-native-access=ALL-UNNAMED -Xmx2g -XX:+UseSerialGC -cp "$LEARN_CLASSPATH" \
      org.harnesslearning.benchmarks.learning.Learn "$stage" ${STAGE_OPTIONS[@]+"${STAGE_OPTIONS[@]}"}
    ;;
  *)
    usage >&2
    exit 2
    ;;
esac
