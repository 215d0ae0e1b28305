# The platform by docker-compose.yml; sourced by ./harness, which has the helpers used here.

case "$HARNESS_DATA" in /*) ;; *) HARNESS_DATA="$PWD/$HARNESS_DATA" ;; esac

# Containers of one checkout's data folder; another name gives another platform on the same engine.
export COMPOSE_PROJECT_NAME="${COMPOSE_PROJECT_NAME:-harness}"
SERVICE_USER=10001

compose_labels=(--filter "label=com.docker.compose.project=$COMPOSE_PROJECT_NAME")

compose_has_containers() { have docker && [ -n "$(timeout 30 docker ps -aq "${compose_labels[@]}" 2>/dev/null)" ]; }

compose_gateway() {
  have docker && timeout 30 docker ps -q "${compose_labels[@]}" --filter label=com.docker.compose.service=gateway 2>/dev/null | head -n 1
}

compose_runs() { [ -n "$(compose_gateway)" ]; }

# Compose v2 where it is there, else Debian's docker-compose 1.29.2; both read the file.
find_compose() {
  if docker compose version >/dev/null 2>&1; then
    COMPOSE=(docker compose)
  elif have docker-compose; then
    COMPOSE=(docker-compose)
  else
    return 1
  fi
  COMPOSE+=(--file "$ROOT/docker-compose.yml")
  # What an operator adds: a route to a tool, say.
  if [ -f "$HARNESS_DATA/config/docker-compose.yml" ]; then
    COMPOSE+=(--file "$HARNESS_DATA/config/docker-compose.yml")
  fi
  if [ -f "$HARNESS_DATA/compose.env" ]; then
    COMPOSE+=(--env-file "$HARNESS_DATA/compose.env")
  fi
}

ensure_compose() {
  if find_compose; then
    return
  fi
  may_install || fail "neither 'docker compose' nor docker-compose is there. Install one (Debian: 'sudo apt-get install docker-compose'), or use './harness up --standalone'."
  say "installing docker-compose"
  apt_install docker-compose || fail "docker-compose could not be installed; './harness up --standalone' needs none"
  find_compose || fail "docker-compose does not run"
}

# A secret that containers read as their own user, and nobody else on this machine.
ensure_secret() {
  local file="$HARNESS_DATA/secrets/$1" prefix="${2:-}" value
  if [ ! -s "$file" ]; then
    value="$(head -c 32 /dev/urandom | base64 | tr -d '\n=' | tr '+/' '-_')"
    (umask 077 && printf '%s%s\n' "$prefix" "$value" >"$file.part" && mv "$file.part" "$file")
  fi
  chmod 0600 "$file"
  if [ "$(id -u)" = 0 ]; then
    chown "$SERVICE_USER:$SERVICE_USER" "$file"
  fi
}

ensure_secrets() {
  mkdir -p "$HARNESS_DATA/config"
  (umask 077 && mkdir -p "$HARNESS_DATA/secrets")
  chmod 0700 "$HARNESS_DATA/secrets"
  ensure_secret internal-secret
  ensure_secret database-password
  ensure_secret admin-key hl_
  ensure_secret grafana-password
}

# Everything that the file leaves open, kept so that docker-compose can be called by hand as well:
#   docker-compose --env-file .harness/compose.env ps
write_compose_env() {
  local socket user group image
  user="$(id -u)" group="$(id -g)"
  if [ "$user" = 0 ]; then
    user="$SERVICE_USER" group="$SERVICE_USER"
  fi
  socket="${DOCKER_HOST:-unix:///var/run/docker.sock}"
  case "$socket" in
    unix://*) socket="${socket#unix://}" ;;
    *) fail "the Docker engine is at $socket; engine-proxy needs a Unix socket (unset DOCKER_HOST, or use './harness up --standalone')" ;;
  esac
  {
    printf 'COMPOSE_PROJECT_NAME=%s\n' "$COMPOSE_PROJECT_NAME"
    printf 'HARNESS_OWNER=%s\n' "$COMPOSE_PROJECT_NAME"
    printf 'HARNESS_UID=%s\nHARNESS_GID=%s\n' "$user" "$group"
    printf 'HARNESS_DOCKER_SOCKET=%s\nHARNESS_DOCKER_GID=%s\n' "$socket" "$(stat -L -c %g "$socket")"
    printf 'HARNESS_SECRETS=%s\nHARNESS_CONFIG=%s\nHARNESS_MODELS=%s\n' \
      "$HARNESS_DATA/secrets" "$HARNESS_DATA/config" "$HARNESS_CACHE/models"
    printf 'HARNESS_HOST=%s\nHARNESS_PORT=%s\n' "$HOST" "$PORT"
    printf 'HARNESS_PRELOAD=%s\n' "$1"
    # More processors than the machine has are refused.
    local name cpus
    cpus="$(nproc)"
    [ "$cpus" -ge 2 ] || for name in POSTGRES EXECUTOR PROPOSER GATEWAY; do printf 'HARNESS_%s_CPUS=%s\n' "$name" "$cpus"; done
    printf 'HARNESS_SOLVER_CPUS=%s\nHARNESS_TRAINER_CPUS=%s\n' "$cpus" "$cpus"
    for image in "${SANDBOX_IMAGES[@]}" "${SERVICE_IMAGES[@]}"; do printf '%s\n' "$image"; done
    # What the user has set wins.
    env | grep -E '^HARNESS_((POSTGRES|EXECUTOR|SOLVER|PROPOSER|TRAINER|GATEWAY|ENGINE_PROXY)_(MEMORY|CPUS)|SANDBOX_(RUNTIME|IMAGES)|PROMETHEUS_(PORT|RETENTION)|GRAFANA_PORT|SOLVER|TRAINER|IMAGE_[A-Z_]+)=' || true
  } >"$HARNESS_DATA/compose.env.part"
  mv "$HARNESS_DATA/compose.env.part" "$HARNESS_DATA/compose.env"
  # An environment variable would win over the file that names it.
  export HARNESS_HOST="$HOST" HARNESS_PORT="$PORT"
}

# What the images build on; where no registry answers this takes minutes, once on a machine.
ensure_service_bases() {
  local kind
  for kind in java postgres; do
    bash "$ROOT/docker/base.sh" "$kind" >/dev/null || fail "the base image for $kind could not be made"
  done
}

ensure_service_images() {
  local lines
  lines="$(bash "$ROOT/docker/images.sh" "$@")" || fail "the images of the services could not be built"
  mapfile -t SERVICE_IMAGES <<<"$lines"
}

compose_url() {
  local address
  address="$(docker port "$(compose_gateway)" 8080/tcp | head -n 1)"
  printf 'http://%s' "${address/0.0.0.0/127.0.0.1}"
}

use_compose() {
  HARNESS_URL="$(compose_url)"
  HARNESS_KEY="${HARNESS_KEY:-$(cat "$HARNESS_DATA/secrets/admin-key")}"
  export HARNESS_URL HARNESS_KEY
}

compose_up() {
  local model="$MODEL_DEMO" profiles=() scale=() images=() i health gateway
  HOST="${HARNESS_HOST:-127.0.0.1}" PORT="${HARNESS_PORT:-8080}"
  while [ $# -gt 0 ]; do
    case "$1" in
      --small) model="$MODEL_SMALL" ;;
      --port | --host | --scale)
        [ $# -ge 2 ] || { printf 'harness up: %s needs a value\n' "$1" >&2 && exit 2; }
        case "$1" in --port) PORT="$2" ;; --host) HOST="$2" ;; --scale) scale+=(--scale "$2") ;; esac
        shift
        ;;
      --port=*) PORT="${1#*=}" ;;
      --host=*) HOST="${1#*=}" ;;
      --scale=*) scale+=(--scale "${1#*=}") ;;
      --observability)
        profiles+=(--profile observability)
        images+=(prometheus)
        ;;
      --gpu)
        profiles+=(--profile gpu)
        scale+=(--scale solver-service=0 --scale trainer-service=0)
        export HARNESS_SOLVER=solver-gpu HARNESS_TRAINER=trainer-gpu
        images=(--gpu "${images[@]}")
        ;;
      --set | --set=*)
        printf 'harness up: --set is for --standalone; write %s/config/<service>.yaml instead\n' "$HARNESS_DATA" >&2
        exit 2
        ;;
      *)
        printf 'harness up: unknown option %s\n' "$1" >&2
        exit 2
        ;;
    esac
    shift
  done
  if running_pid >/dev/null; then
    fail "the standalone platform runs on this data folder; stop it with './harness down'"
  fi
  ensure_jdk
  ensure_docker
  ensure_images
  if has_option --gpu "${images[@]}"; then
    BUILD_FLAGS=(-Pgpu)
  fi
  ensure_build
  ensure_model "$model"
  if has_option prometheus "${images[@]}"; then
    images+=(gateway proposer-service harness-executor solver-service trainer-service postgres engine-proxy)
  fi
  ensure_service_images ${images[@]+"${images[@]}"}
  ensure_secrets
  write_compose_env "$model"
  ensure_compose
  say "starting the services (${COMPOSE[0]}${COMPOSE[1]:+, project $COMPOSE_PROJECT_NAME})"
  "${COMPOSE[@]}" ${profiles[@]+"${profiles[@]}"} up --detach --remove-orphans ${scale[@]+"${scale[@]}"} >&2 ||
    fail "docker-compose could not start the services; './harness logs' shows what they say"
  for ((i = 0; i < 240; i++)); do
    gateway="$(compose_gateway)"
    health="$([ -n "$gateway" ] && docker inspect --format '{{.State.Health.Status}}' "$gateway" 2>/dev/null || true)"
    if [ "$health" = healthy ]; then
      say "ready at $(compose_url); the first key is in $HARNESS_DATA/secrets/admin-key"
      return
    fi
    sleep 1
  done
  fail "the gateway is not ready after four minutes; './harness logs gateway' shows what it says"
}

compose_down() {
  find_compose || fail "docker-compose is missing"
  say "stopping the services of project $COMPOSE_PROJECT_NAME"
  "${COMPOSE[@]}" --profile gpu --profile observability down --remove-orphans "$@" >&2
}

compose_logs() {
  find_compose || fail "docker-compose is missing"
  "${COMPOSE[@]}" --profile gpu --profile observability logs --no-color "$@"
}
