#!/usr/bin/env bash
# Runs the scenarios named on the command line, or all of them, and closes with "N passed, N failed, N skipped".
# Exit code 77 of a scenario means skipped; with CI set that counts as a failure.
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

passed=0 failed=0 skipped=0
for scenario in ${@:-enter house duplicate-login hostile http hippo sweep orphan sigstop worlds crowd loss}; do
  if [ -f "$scenario.sh" ]; then command=("./$scenario.sh"); else command=(node "$scenario.mjs"); fi
  echo "== $scenario"
  code=0
  "${command[@]}" || code=$?
  case $code in
    0) passed=$((passed + 1)) ;;
    77) skipped=$((skipped + 1)) ; echo "SKIPPED: $scenario" ;;
    *) failed=$((failed + 1)) ; echo "FAILED: $scenario (exit code $code)" ;;
  esac
done
echo "clients: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && { [ -z "${CI:-}" ] || [ "$skipped" -eq 0 ]; }
