#!/bin/sh
# Scores a harness through the API and ends by its gate, with nothing but a shell and curl.
#
#   HARNESS_URL=https://harness.example.org HARNESS_KEY=hl_… ./evaluate.sh HARNESS.py TASK.jsonl [BASELINE.py]
#
# Exit codes: 0 the gate passed; 1 it failed; 2 the request is wrong; 3 the platform failed or can't be reached.
# Optional: SCORER (numeric), SPLIT (held_out), MODEL (the platform's default), MIN_SCORE (0.9), TIMEOUT_S (1800),
# OUT (folder of the reports, .), RUN_KEY (the pipeline's own id: a step that is repeated finds its run again).
set -eu

: "${HARNESS_URL:?is not set}" "${HARNESS_KEY:?is not set}"
HARNESS=$1
TASK=$2
BASELINE=${3:-}
SCORER=${SCORER:-numeric}
SPLIT=${SPLIT:-held_out}
MIN_SCORE=${MIN_SCORE:-0.9}
TIMEOUT_S=${TIMEOUT_S:-1800}
OUT=${OUT:-.}
RUN_KEY=${RUN_KEY:-evaluate-$$-$(date +%s)}
answer=$(mktemp)
trap 'rm -f "$answer"' EXIT
mkdir -p "$OUT"

# call METHOD PATH [curl options]: the body goes to $answer; anything but 2xx ends the script.
call() {
  method=$1
  path=$2
  shift 2
  status=$(curl -sS -X "$method" -o "$answer" -w '%{http_code}' --max-time 120 \
    -H "Authorization: Bearer $HARNESS_KEY" "$@" "$HARNESS_URL$path") || {
    echo "no platform answers at $HARNESS_URL" >&2
    exit 3
  }
  case $status in
    2??) ;;
    400 | 404 | 409 | 413 | 415 | 422)
      cat "$answer" >&2
      exit 2
      ;;
    *)
      cat "$answer" >&2
      exit 3
      ;;
  esac
}

# The first text field of a name in the last answer.
field() { grep -o "\"$1\" *: *\"[^\"]*\"" "$answer" | head -n 1 | sed 's/.*: *"//; s/"$//'; }

# A file as a JSON string.
json_text() {
  printf '"'
  tr -d '\r' <"$1" | sed 's/\\/\\\\/g; s/"/\\"/g' | awk '{ gsub(/\t/, "\\t"); printf "%s\\n", $0 }'
  printf '"'
}

call POST "/tasks?scorer=$SCORER&description=Answer%20the%20question." \
  -H "Content-Type: application/jsonl" -H "Idempotency-Key: $RUN_KEY-task" --data-binary "@$TASK"
task=$(field id)

body="{\"task\": {\"id\": \"$task\"}, \"split\": \"$SPLIT\", \"harness\": {\"source\": $(json_text "$HARNESS")}"
if [ -n "$BASELINE" ]; then
  body="$body, \"baseline\": {\"source\": $(json_text "$BASELINE")}"
fi
if [ -n "${MODEL:-}" ]; then
  body="$body, \"solver\": {\"model\": \"$MODEL\"}"
fi
body="$body, \"gate\": {\"min_score\": $MIN_SCORE}}"
printf '%s' "$body" | call POST /evaluations -H "Content-Type: application/json" -H "Prefer: wait=0" \
  -H "Idempotency-Key: $RUN_KEY-evaluation" --data-binary @-
run=$(field id)
echo "evaluation $run"

waited=0
while :; do
  call GET "/evaluations/$run"
  state=$(field state)
  case $state in
    succeeded | failed | cancelled) break ;;
  esac
  if [ "$waited" -ge "$TIMEOUT_S" ]; then
    echo "still $state after $TIMEOUT_S s" >&2
    exit 3
  fi
  sleep 1
  waited=$((waited + 1))
done
gate=$(field gate)

call GET "/evaluations/$run/report?format=junit"
cp "$answer" "$OUT/harness-junit.xml"
call GET "/evaluations/$run/report?format=markdown"
cp "$answer" "$OUT/harness-report.md"
sed -n '3p' "$OUT/harness-report.md"
echo "state $state, gate $gate"

[ "$state" = succeeded ] || exit 3
[ "$gate" = passed ] || exit 1
