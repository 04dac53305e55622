#!/usr/bin/env bash
# run.sh [FLAG…]: builds the page and the release binary, and starts a world on loopback with its data in ./data. Anyone on
# this machine may log in: an account is created at its first login. Flags are those of `throng serve`.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

need_cargo
if [ ! -f web/dist/index.html ]; then need_node; fi
if command -v npm >/dev/null && need_node; then build_web; fi
cargo build --release --locked -p throng
exec "$target/release/throng" serve --open-registration --data data "$@"
