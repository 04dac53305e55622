#!/usr/bin/env bash
# repeat.sh N [SCENARIO]: N runs in a row of one scenario (enter), stopping at the first that fails.
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

runs=${1:?usage: repeat.sh N [SCENARIO]}
for run in $(seq "$runs"); do
  echo "== ${2:-enter}, run $run of $runs"
  node "${2:-enter}.mjs"
done
