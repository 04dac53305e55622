#!/usr/bin/env bash
# The figures of a release: every experiment with a release build of a clean checkout, three times where medians are quoted. Takes about eight hours
# on two cores; nothing else may run meanwhile. figures.sh [NAME…] runs only these. Reports: target/figures/NAME/summary.html.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# Experiments with a table of limits, and their options. The soak and the loopback run come once.
RUNS="crowd latency worlds login-storm aggregation neighbours recorder crash preflight bot-fidelity agent-updates"
ONCE="crowd-lo soak"

need_cargo
need_node
npm_install tests/clients
if [ -n "$(git status --porcelain --untracked-files=no)" ]; then
  echo "files are changed: figures are of a commit" && exit 1
fi
mkdir -p web/dist
cargo build --release --locked -p throng
throng=$target/release/throng

failed=""
for name in ${*:-$RUNS $ONCE}; do
  out=$target/figures/$name
  case $name in
    crowd) options="crowd --starve 40 --runs 3" ;;
    crowd-lo) options="crowd --sink lo" ;;
    soak) options="daily --duration 45m" ;;
    *) options="$name --runs 3" ;;
  esac
  # shellcheck disable=SC2086 # The options are words.
  "$throng" experiment run $options --out "$out" || failed="$failed $name"
done
[ -z "$failed" ] || { echo "did not hold or did not run:$failed"; exit 1; }
