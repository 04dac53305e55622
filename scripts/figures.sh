#!/usr/bin/env bash
# The figures of a release: every experiment with a release build of a clean checkout, three times where medians are quoted. figures.sh [NAME…] runs
# only these. Some fourteen hours on two cores, of which `keep` takes six; nothing else may run meanwhile.
#
# First all experiments once, then again. The report of each run is kept, without its charts and samples, as KEEP/COMMIT/NAME/run-N/report.json
# (KEEP: target/figures), and such a run is not repeated: the runs may be spread over days and machines that share KEEP. COMMIT is that of the
# checkout, so that KEEP lies outside of it if the reports are to be committed. The runs of an experiment are put together at the end:
# target/figures/NAME/summary.html.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# Experiments with a table of limits. The soak and the loopback run come once.
RUNS="crowd latency worlds build login-storm aggregation neighbours recorder crash preflight bot-fidelity agent-updates keep"
ONCE="crowd-lo soak"
REPORT_WITHOUT_CHARTS='
  const { readFileSync, writeFileSync } = require("node:fs");
  const [from, to] = process.argv.slice(1);
  const { series, references, ...report } = JSON.parse(readFileSync(from));
  writeFileSync(to, JSON.stringify(report, null, 1) + "\n");'

need_cargo
need_node
npm_install tests/clients
if [ -n "$(git status --porcelain --untracked-files=no)" ]; then
  echo "files are changed: figures are of a commit" && exit 1
fi
mkdir -p web/dist
cargo build --release --locked -p throng
throng=$target/release/throng
kept=${KEEP:-$target/figures}/$(git rev-parse --short HEAD)

# run NAME N: one run of an experiment, unless its report is there.
run() {
  local options out=$target/figures/$1/run-$2 report=$kept/$1/run-$2/report.json
  if [ -f "$report" ]; then return; fi
  case $1 in
    crowd) options="crowd --starve 40" ;;
    crowd-lo) options="crowd --sink lo" ;;
    soak) options="daily --duration 45m" ;;
    *) options=$1 ;;
  esac
  # shellcheck disable=SC2086 # The options are words.
  rm -rf "$out" # It may be another commit's.
  "$throng" experiment run $options --out "$out" || echo "run $2 of $1: exit status $?"
  if [ -f "$out/report.json" ]; then
    mkdir -p "$(dirname "$report")"
    node -e "$REPORT_WITHOUT_CHARTS" "$out/report.json" "$report"
  fi
}

names=${*:-$RUNS $ONCE}
for n in 1 2 3; do
  for name in $names; do
    [ "$n" -gt 1 ] && [[ " $ONCE " == *" $name "* ]] || run "$name" "$n"
  done
done

failed=""
for name in $names; do
  "$throng" experiment summary "$kept/$name"/run-* --out "$target/figures/$name" || failed="$failed $name"
done
[ -z "$failed" ] || { echo "did not hold or did not run:$failed"; exit 1; }
