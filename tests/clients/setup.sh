# Sourced by the scripts here: strict mode, the binary, and node_modules exactly as locked.
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
npm_install tests/clients
cd tests/clients

if [ -z "${THRONG_BIN:-}" ]; then
  for profile in release debug; do
    if [ -x "$target/$profile/throng" ]; then THRONG_BIN=$target/$profile/throng && break; fi
  done
fi
if [ ! -x "${THRONG_BIN:-}" ]; then
  echo "no throng binary: build it (cargo build --release -p throng) or set THRONG_BIN" >&2
  exit 1
fi
export THRONG_BIN
