#!/usr/bin/env bash
# test.sh [STEP…]: checks and tests, all of them or the ones named, and closes with "N passed, N failed, N skipped".
#
# Steps joined by + run side by side; the output of each comes as a whole when all have ended.
#
# A step that cannot run for want of a tool says so and counts as skipped; with CI=true that is a failure. Later steps run
# even when earlier ones failed, so that one run tells everything.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# In the order of running: the page comes before everything that compiles, since it is embedded in the binary. Side by side run steps that wait or keep one
# core busy; preflight counts instructions. Beside foreign clients and their deadlines runs only what takes the CPU time that they leave.
STEPS="toolchain format words web licences clippy rustdoc test postgres+preflight clients+crowd+cgroup page+dashboards experiments+kills+keep fuzz"
SKIP=77
FUZZ_SECONDS=${FUZZ_SECONDS:-5}

step_toolchain() {
  need_cargo
  need_node
  rustc --version
  cargo --version
  echo "node $(node --version)"
}

step_format() { cargo fmt --all --check && cargo fmt --manifest-path fuzz/Cargo.toml --check; }

# How comments and names read, and whether commits say why; the limits are in scripts/words/limits.mjs.
step_words() {
  need_node
  node --test scripts/words/words.test.mjs
  node scripts/words/main.mjs
}

step_web() {
  need_node
  npm_install web
  npm --prefix web run --silent check
  npm --prefix web run --silent test
  build_web
}

step_clippy() { cargo clippy --workspace --all-targets --locked -- -D warnings; }

step_rustdoc() {
  RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --locked
}

# Licences and sources of dependencies, in seconds: cargo-deny, which `make audit` uses, would be compiled for minutes first.
step_licences() {
  need_node
  npm_install scripts/licences
  node --test scripts/licences/licences.test.mjs
  node scripts/licences/main.mjs
}

# run_test_binaries [ARGUMENT…]: all that cargo makes of the workspace, with these arguments.
run_test_binaries() {
  cargo test --workspace --locked --no-run --message-format=json | node scripts/run_tests.mjs "$@"
}

# As `cargo test --workspace --no-fail-fast`, but with binaries in lanes side by side.
step_test() {
  need_node
  local status=0
  run_test_binaries || status=1
  cargo test --workspace --locked --doc --no-fail-fast || status=1
  return $status
}

# The same tests of the store on its other engine, and what only a real server can show. Beside them, with a database server of its own, step keep's SIGKILLs.
step_postgres() {
  need_node
  build_throng
  local status=0 status_kills=0 kills log=$target/experiments-crashes/keep-postgres.log
  mkdir -p "${log%/*}"
  kills_on_postgres >"$log" 2>&1 &
  kills=$!
  scripts/postgres.sh bash -c "$(declare -f run_test_binaries); set -o pipefail; run_test_binaries postgres --ignored" || status=$?
  wait "$kills" || status_kills=$?
  cat "$log"
  if [ $status -eq 0 ]; then status=$status_kills; fi
  return $status
}

# kills_on_postgres: bots carry things and the server is killed, as many times as KILLS, or 20; all rows are on PostgreSQL, which goes on. On loopback: a server in
# a network of its own does not reach a database.
kills_on_postgres() {
  # shellcheck disable=SC2016 # The address is known within.
  scripts/postgres.sh bash -c '"$@" --store "$THRONG_TEST_POSTGRES"' kills \
    "$target/debug/throng" experiment run keep-kills --quick --kills "${KILLS:-20}" --sink lo --out "$target/experiments-crashes/keep-postgres"
}

# The server under a limit of the kernel's.
step_cgroup() {
  build_throng
  scripts/cgroup.sh cargo test --workspace --locked --test running_server memory_group -- --ignored
}

# States saved by the program of the previous commit, loaded by this one. Not in the default list: its first run compiles that program,
# for minutes, and a shallow checkout lacks the commit. Step test opens a data directory that it left (crates/throng/tests/golden).
step_previous() {
  build_throng
  scripts/previous.sh
}

# 2,000 simulated clients, with the CPU time that others leave. That equal seeds make equal runs, step test shows with 500.
step_crowd() { nice -n 19 cargo test --workspace --locked --test sim crowd -- --ignored; }

# The program with the very dependencies that step test has compiled: `cargo build -p throng` would choose fewer of their features
# and compile most of them again. The pages are embedded in it, so they are built first when they are out of date.
build_throng() {
  build_web
  cargo test --workspace --locked --no-run --test preflight
}

# Preflight with the debug build that the tests use: slowdowns are found, equal builds are quiet.
step_preflight() {
  need_package valgrind valgrind || return $SKIP
  cargo test --workspace --locked --test preflight -- --ignored
}

# Other people's clients, over real sockets.
step_clients() {
  need_node
  need_package nginx nginx-light || echo "scenario http is skipped"
  build_throng
  THRONG_BIN=$target/debug/throng tests/clients/run.sh
}

# The page in a real browser, with bots in the world.
step_page() {
  need_node
  need_package chromium chromium || return $SKIP
  npm_install web
  build_throng
  mkdir -p "$target/artifacts"
  THRONG_BIN=$target/debug/throng node tests/page/page.mjs --screenshot "$target/artifacts/page.png"
}

# Every query of every dashboard, asked of a real Prometheus that scrapes a server with bots in it.
step_dashboards() {
  need_node
  need_package prometheus prometheus || return $SKIP
  build_throng
  THRONG_BIN=$target/debug/throng node tests/dashboards/dashboards.mjs
}

# Every experiment for less than a minute, four at a time, since they mostly wait: all figures come out, and none of them is a measurement. As root in the TUN
# sink, else on loopback and named so. Crashes, of which there are more, are steps of their own.
step_experiments() {
  need_node
  need_package valgrind valgrind || return $SKIP
  npm_install tests/clients
  build_throng
  local throng=$target/debug/throng out=$target/experiments-quick names name status running=0
  names=$("$throng" experiment list | cut -d ' ' -f 1)
  [ -n "$names" ]
  rm -rf "$out"
  mkdir -p "$out"
  for name in $names; do
    if [ "$name" = kills ] || [ "$name" = keep-kills ]; then continue; fi
    if [ "$running" -ge 4 ]; then
      wait -n || true
      running=$((running - 1))
    fi
    quick_experiment "$name" &
    running=$((running + 1))
  done
  wait
  for name in $names; do
    if [ "$name" = kills ] || [ "$name" = keep-kills ]; then continue; fi
    status=$(cat "$out/$name.status")
    if [ "$status" -eq 3 ]; then echo "no TUN device between two namespaces can be had here" && return $SKIP; fi
    if [ "$status" -ne 0 ]; then echo "experiment $name: exit status $status" && return 1; fi
  done
  # Without TUN a run must not fall back to loopback.
  if [ "$(id -u)" -eq 0 ]; then
    status=0
    setpriv --bounding-set=-all --inh-caps=-all "$throng" experiment run daily --quick --sink tun || status=$?
    if [ $status -ne 3 ]; then echo "without TUN the exit status is $status and should be 3" && return 1; fi
  fi
}

# quick_experiment NAME: its output as a whole when it has ended, and its exit status in a file.
quick_experiment() {
  local status=0 options=
  # The part beside a process that takes CPU time comes on request only.
  if [ "$1" = crowd ]; then options="--starve 40"; fi
  # shellcheck disable=SC2086 # Words, or none.
  "$throng" experiment run "$1" --quick $options --out "$out/$1" >"$out/$1.log" 2>&1 || status=$?
  echo "$status" >"$out/$1.status"
  cat "$out/$1.log"
}

# Bots build and the server is killed, again and again: each region is a complete frame. KILLS=200 for the long run.
step_kills() { crashes kills; }

# Bots upload, give, take, rez and remove things and the server is killed, again and again, also with slow synchronisations and a full disk: each thing of which it has
# acknowledged the place is there, and those that must not be copied are there once.
step_keep() { crashes keep-kills; }

# crashes EXPERIMENT: as many as KILLS, or 20.
crashes() {
  build_throng
  # A folder of its own: step experiments removes its own one at the same time.
  local status=0 out=$target/experiments-crashes/$1
  "$target/debug/throng" experiment run "$1" --quick --kills "${KILLS:-20}" --out "$out" || status=$?
  if [ $status -eq 3 ]; then echo "no TUN device between two namespaces can be had here" && return $SKIP; fi
  return $status
}

# What takes hours. Not in the default list: 200 kills of a server in which bots build, and of one in which they carry things, with either database, and a thousand
# seeds of the simulator's building site, of a viewer that keeps objects, and of users who pass things around.
step_long() {
  KILLS=200 step_kills
  KILLS=200 step_keep
  KILLS=200 kills_on_postgres
  cargo test --release -p gateway --lib --locked -- --ignored viewer_cache belongings
  cargo run --release -p sim --locked -- --site --clients 12 --storm-s 20 --seeds 1000 --faults rough --restores 4
  cargo run --release -p sim --locked -- --site --clients 12 --storm-s 20 --seeds 200 --faults panics --hosts 2 --moves
}

step_fuzz() {
  if ! command -v c++ >/dev/null; then
    echo "a C++ compiler is missing: on Debian and Ubuntu, apt-get install g++"
    return $SKIP
  fi
  scripts/fuzz.sh "$FUZZ_SECONDS"
}

outputs=$(mktemp -d)
trap 'rm -rf "$outputs"' EXIT
trap 'end_group; exit 130' INT
trap 'end_group; exit 143' TERM
passed=0 failed=0 skipped=0 summary=

# run_step NAME: runs a step, and writes its exit status and seconds to a file.
run_step() {
  local began=$SECONDS status=0
  printf '\n==== %s\n' "$1"
  # A shell of its own, because `set -e` does not hold inside a function whose status is asked for.
  set +e
  (set -e; "step_$1")
  status=$?
  set -e
  if [ $status -eq $SKIP ] && [ "${CI:-}" = true ]; then echo "a skipped step is a failure in CI" && status=1; fi
  echo "$status $((SECONDS - began))" >"$outputs/$1.status"
}

# run_group NAME…: runs steps side by side, each in a process group of its own, and prints what they printed.
run_group() {
  local name pids=
  printf '\n==== side by side: %s\n' "$*"
  set -m
  for name; do
    run_step "$name" >"$outputs/$name" 2>&1 &
    pids+=" $!"
  done
  set +m
  # A step that was ended from outside has no status of its own.
  # shellcheck disable=SC2086 # Numbers.
  wait $pids || true
  for name; do cat "$outputs/$name"; done
}

# build_fuzz_targets: in the background, with the CPU time that the steps from here on leave: most of them wait for clients. Step fuzz waits for it, by cargo's lock.
build_fuzz_targets() {
  set -m
  nice -n 19 scripts/fuzz.sh build >/dev/null 2>&1 &
  set +m
}

# end_group: ends what runs in the background, with all that they have started, and prints what they printed.
end_group() {
  local job file
  for job in $(jobs -p); do kill -TERM -- "-$job" 2>/dev/null || true; done
  wait
  for file in "$outputs"/*; do
    if [ -f "$file" ] && [ "${file%.status}" = "$file" ] && [ ! -f "$file.status" ]; then cat "$file"; fi
  done
}

# count_step NAME: adds the outcome of a step to the summary.
count_step() {
  local status seconds outcome
  if [ -f "$outputs/$1.status" ]; then
    read -r status seconds <"$outputs/$1.status"
  else
    echo "step $1 was ended from outside"
    status=1 seconds=0
  fi
  case $status in
    0) outcome=passed; passed=$((passed + 1)) ;;
    "$SKIP") outcome=skipped; skipped=$((skipped + 1)) ;;
    *) outcome=FAILED; failed=$((failed + 1)) ;;
  esac
  summary+=$(printf '%-10s %-8s %4d s' "$1" "$outcome" "$seconds")$'\n'
}

set -- ${@:-$STEPS}
for group; do
  if [[ "$group" == clients* ]] && [[ " $* " == *" fuzz "* ]]; then build_fuzz_targets; fi
  names=${group//+/ }
  for name in $names; do
    if ! declare -F "step_$name" >/dev/null; then
      echo "throng: there is no step $name; there are: ${STEPS//+/ }" >&2
      exit 2
    fi
  done
  if [ "$names" = "$group" ]; then
    run_step "$group"
  else
    # shellcheck disable=SC2086 # Names without blanks.
    run_group $names
  fi
  for name in $names; do count_step "$name"; done
done

printf '\n==== summary\n%s\n' "$summary"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
