#!/usr/bin/env bash
# previous.sh [--write] [COMMIT]: saves with the program of that commit, and loads with this one. Without COMMIT it is the last one before the
# newest change of what a data directory contains (scripts/formats.sh). Its program is built once, with the dependencies that this
# checkout has compiled, and kept in the cache. Exit status 77 in a checkout without that commit.
#
# With --write that program writes a golden directory, crates/throng/tests/golden/data-COMMIT, instead.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

need_cargo
write=
if [ "${1:-}" = --write ]; then write=1 && shift; fi
wanted=${1:-$(scripts/formats.sh --previous)} || exit $?
if ! commit=$(git rev-parse --verify --quiet --short=7 "$wanted^{commit}"); then
  echo "this checkout has no commit $wanted, whose program is to save: git fetch --unshallow"
  exit 77
fi
previous=$cache/previous/$commit
if [ ! -x "$previous/throng" ]; then
  began=$SECONDS
  rm -rf "$previous"
  mkdir -p "$previous/source"
  git archive "$commit" | tar -x -C "$previous/source"
  # The page is embedded in the program, and these tests do not look at it.
  mkdir -p "$previous/source/web/dist"
  # As step test compiles it, so that dependencies are compiled once for both.
  (cd "$previous/source" &&
    CARGO_TARGET_DIR=$target CARGO_INCREMENTAL=0 cargo test --workspace --locked --no-run --test previous_build)
  cp "$target/debug/throng" "$previous/building"
  mv "$previous/building" "$previous/throng"
  rm -rf "$previous/source"
  echo "the program of $commit was built in $((SECONDS - began)) s"
fi
mkdir -p web/dist
export THRONG_PREVIOUS_BIN=$previous/throng
if [ -n "$write" ]; then
  export THRONG_GOLDEN=$PWD/crates/throng/tests/golden/data-$commit
  mkdir "$THRONG_GOLDEN"
  cargo test --workspace --locked --test previous_build the_previous_program_writes_a_golden_directory -- --ignored --exact
  scripts/formats.sh "$commit" >"$THRONG_GOLDEN/formats.txt"
else
  cargo test --workspace --locked --test previous_build
fi
