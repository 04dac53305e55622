#!/usr/bin/env bash
# previous.sh COMMIT: saves with the program of that commit, and loads with this one. Builds the program in its own folder, which takes
# about ten minutes on two cores the first time and is therefore no part of `make test`; test.sh opens a directory that such a build left.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

need_cargo
[ $# -eq 1 ] || missing "a commit is missing" "make previous COMMIT=main~1"
commit=$(git rev-parse --verify --quiet --short=12 "$1^{commit}") ||
  missing "there is no commit $1" "make previous COMMIT=main~1"
source=$cache/previous/$commit
bin=$source/target/debug/throng
if [ ! -x "$bin" ]; then
  mkdir -p "$source"
  git archive "$commit" | tar -x -C "$source"
  # The page is embedded in the program, and these tests do not look at it.
  mkdir -p "$source/web/dist"
  (cd "$source" && CARGO_TARGET_DIR=$source/target cargo build --locked -p throng)
fi
mkdir -p web/dist
THRONG_PREVIOUS_BIN=$bin cargo test --locked -p throng --test previous_build
