#!/usr/bin/env bash
# Runs the scenarios named on the command line, or all of them, and closes with "N passed, N failed, N skipped".
# Exit code 77 of a scenario means skipped; with CI set that counts as a failure.
#
# Scenarios that mostly wait run three at a time (LANES); those that measure or load the machine run alone. The output of each comes as a whole when it has ended.
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

ALONE=" http crowd "
LANES=${LANES:-3}
outputs=$(mktemp -d)
trap 'rm -rf "$outputs"' EXIT

# scenario NAME: its output and exit code in files.
scenario() {
  local code=0
  if [ -f "$1.sh" ]; then "./$1.sh"; else node "$1.mjs"; fi >"$outputs/$1" 2>&1 || code=$?
  echo "$code" >"$outputs/$1.code"
}

passed=0 failed=0 skipped=0

# conclude: prints and counts the scenarios that have ended since the last call.
conclude() {
  local file name code
  for file in "$outputs"/*.code; do
    [ -f "$file" ] || continue
    name=$(basename "$file" .code) code=$(cat "$file")
    echo "== $name"
    cat "$outputs/$name"
    rm "$file"
    case $code in
      0) passed=$((passed + 1)) ;;
      77) skipped=$((skipped + 1)) ; echo "SKIPPED: $name" ;;
      *) failed=$((failed + 1)) ; echo "FAILED: $name (exit code $code)" ;;
    esac
  done
}

# Once, before scenarios that need it run side by side. One that cannot have it says why.
node -e 'import("./hippolyzer.mjs").then(({ installHippolyzer }) => installHippolyzer()).catch(() => {})'

# The longest first.
running=0 most=$LANES
for name in ${@:-loss enter house keepsake uploads gifts carry wear duplicate-login hostile hippo sweep orphan sigstop worlds http crowd}; do
  # Beside one that runs alone nothing else begins.
  if [[ $ALONE == *" $name "* ]]; then next=1; else next=$LANES; fi
  if [ "$next" -lt "$most" ]; then most=$next; fi
  while [ "$running" -ge "$most" ]; do
    wait -n
    running=$((running - 1))
    conclude
  done
  most=$next
  scenario "$name" &
  running=$((running + 1))
done
wait
conclude
echo "clients: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && { [ -z "${CI:-}" ] || [ "$skipped" -eq 0 ]; }
