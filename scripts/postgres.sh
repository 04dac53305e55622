#!/usr/bin/env bash
# postgres.sh COMMAND…: runs a command beside a PostgreSQL server of its own and stops the server; the command's exit status.
#
# The server listens on a free port of loopback, keeps its files in a scratch folder, and begins again when a test kills it. Its address is
# in THRONG_TEST_POSTGRES. Exit status 77: there is no PostgreSQL here, and it may not be installed.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

SKIP=77
# Until the first answer, in tenths of a second.
START_MAX=300

# The newest version that is installed; Debian keeps servers out of PATH.
find_server() {
  local found
  found=$(printf '%s\n' /usr/lib/postgresql/*/bin/initdb | sort -V | tail -n 1)
  if [ -x "$found" ]; then dirname "$found"; elif found=$(command -v initdb); then dirname "$found"; else return 1; fi
}

if ! bin=$(find_server); then
  # The package's own cluster is not wanted.
  if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    mkdir -p /etc/postgresql-common
    [ -e /etc/postgresql-common/createcluster.conf ] || echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
  fi
  need_package initdb postgresql || true
  bin=$(find_server) || { echo "PostgreSQL is missing: on Debian and Ubuntu, apt-get install postgresql" && exit $SKIP; }
fi

scratch=$(mktemp -d "${TMPDIR:-/tmp}/throng-postgres.XXXXXX")
# The server refuses to run as root.
as_server=()
if [ "$(id -u)" -eq 0 ]; then
  user=postgres
  id "$user" >/dev/null 2>&1 || user=nobody
  chown "$user" "$scratch"
  as_server=(setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups --)
fi

printf 'throng-test\n' >"$scratch/password"
chmod 644 "$scratch/password"
# Commits are lost with the machine, not with the server's processes, so a scratch server need not wait for the disk.
(cd "$scratch" && "${as_server[@]}" "$bin/initdb" --pgdata="$scratch/data" --username=postgres --pwfile="$scratch/password" \
  --auth=scram-sha-256 --encoding=UTF8 --locale=C --no-sync >"$scratch/initdb.log" 2>&1) ||
  { cat "$scratch/initdb.log" && exit 1; }
cat >>"$scratch/data/postgresql.conf" <<CONF
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
fsync = off
max_connections = 200
log_line_prefix = '%m [%p] '
CONF

# A port that nothing listens on just now.
free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 20000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo $port && return; }
  done
}

keeper=
stop() {
  local status=$?
  trap - EXIT
  touch "$scratch/stop"
  if [ -f "$scratch/data/postmaster.pid" ]; then kill -INT "$(head -n 1 "$scratch/data/postmaster.pid")" 2>/dev/null || true; fi
  if [ -n "$keeper" ]; then wait "$keeper" || true; fi
  rm -rf "$scratch"
  exit $status
}
trap stop EXIT

port=$(free_port)
# As a service manager does: again, while nobody asked for the end.
(
  trap - EXIT
  cd "$scratch"
  until [ -f "$scratch/stop" ]; do
    "${as_server[@]}" "$bin/postgres" -D "$scratch/data" -p "$port" >>"$scratch/server.log" 2>&1 || sleep 0.2
  done
) &
keeper=$!

tries=0
until PGPASSWORD=throng-test "$bin/pg_isready" --quiet --host=127.0.0.1 --port="$port"; do
  tries=$((tries + 1))
  if [ $tries -ge $START_MAX ]; then tail -n 20 "$scratch/server.log" && exit 1; fi
  sleep 0.1
done

status=0
THRONG_TEST_POSTGRES="postgres://postgres:throng-test@127.0.0.1:$port/postgres" "$@" || status=$?
if [ $status -ne 0 ] && [ -n "${CI:-}" ]; then tail -n 50 "$scratch/server.log"; fi
exit $status
