#!/bin/bash
# Makes the cluster on the first start, then becomes Postgres.
set -euo pipefail
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  user=${POSTGRES_USER:-postgres}
  # initdb asks for the name of its own user, and any id may run this container.
  if ! getent passwd "$(id -u)" >/dev/null; then
    printf 'postgres:x:%s:%s::/tmp:/bin/false\n' "$(id -u)" "$(id -g)" >/tmp/passwd
    printf 'postgres:x:%s:\n' "$(id -g)" >/tmp/group
    LD_PRELOAD=$(find /usr/lib -name libnss_wrapper.so -print -quit)
    export LD_PRELOAD NSS_WRAPPER_PASSWD=/tmp/passwd NSS_WRAPPER_GROUP=/tmp/group
  fi
  # A start that was killed half way leaves a folder that initdb refuses.
  rm -rf "$PGDATA.part"
  mkdir -m 0700 -p "$PGDATA.part"
  initdb --pgdata "$PGDATA.part" --username "$user" --pwfile "${POSTGRES_PASSWORD_FILE:?}" --encoding UTF8 \
    --locale C.UTF-8 --auth-local trust --auth-host scram-sha-256 --data-checksums
  printf 'host all all all scram-sha-256\n' >>"$PGDATA.part/pg_hba.conf"
  database=${POSTGRES_DB:-$user}
  if [ "$database" != postgres ]; then
    printf 'create database "%s"\n' "$database" |
      postgres --single -D "$PGDATA.part" -c unix_socket_directories= postgres >/dev/null
  fi
  rm -rf "$PGDATA"
  mv "$PGDATA.part" "$PGDATA"
  unset LD_PRELOAD NSS_WRAPPER_PASSWD NSS_WRAPPER_GROUP
fi
exec "$@" -D "$PGDATA" -c listen_addresses='*' -c unix_socket_directories=/tmp
