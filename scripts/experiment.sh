#!/usr/bin/env bash
# Builds the release binary and runs `throng experiment` with it: experiment.sh list | run NAME [OPTION…].
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

need_cargo
# Cargo builds anew each time what depends on a directory that is not there.
mkdir -p web/dist
cargo build --release --locked -p throng
exec "$target/release/throng" experiment "$@"
