# Sourced by the scripts here: strict mode, the checkout's root as working directory, and what several of them need.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Tools and CI's build results live outside the checkout, so that a fresh clone does not begin from nothing.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/throng
if [ "${CI:-}" = true ]; then
  export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$cache/target}
  # Nothing is compiled twice there: intermediate results would cost time and half of the disk.
  export CARGO_INCREMENTAL=${CARGO_INCREMENTAL:-0}
fi
target=${CARGO_TARGET_DIR:-$PWD/target}

DENY_VERSION=0.20.2
NODE_OLDEST=20.19.0
RUST_PINNED=$(sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml)

# Says what is missing and how to get it, and fails.
missing() {
  printf '%s\n' "throng: $1" "        $2" >&2
  return 1
}

# at_least VERSION OLDEST
at_least() { [ "$(printf '%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

need_cargo() {
  local how="install it with rustup (https://rustup.rs); it then fetches Rust $RUST_PINNED by itself"
  command -v cargo >/dev/null || missing "cargo is missing" "$how" || return 1
  local version
  version=$(rustc --version 2>/dev/null | cut -d ' ' -f 2) ||
    missing "Rust $RUST_PINNED is missing" "rustup toolchain install $RUST_PINNED --component rustfmt,clippy" || return 1
  at_least "$version" "$RUST_PINNED" || missing "Rust $version is too old, $RUST_PINNED is needed" "$how" || return 1
  # The bundled SQLite is C.
  command -v cc >/dev/null || missing "a C compiler is missing" "on Debian and Ubuntu: apt-get install gcc libc6-dev"
}

need_node() {
  local how="install Node.js 20.19 or newer with npm (https://nodejs.org)"
  command -v node >/dev/null || missing "node is missing" "$how" || return 1
  command -v npm >/dev/null || missing "npm is missing" "$how" || return 1
  local version
  version=$(node --version) && version=${version#v}
  at_least "$version" "$NODE_OLDEST" || missing "node $version is too old, $NODE_OLDEST is needed" "$how"
}

# need_package COMMAND PACKAGE: installs a Debian package when its command is missing and we may; says how to otherwise.
need_package() {
  command -v "$1" >/dev/null && return
  if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    # One at a time: steps run side by side, and apt refuses a second one.
    mkdir -p "$cache"
    (
      flock 9
      command -v "$1" >/dev/null && exit
      apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends "$2" >/dev/null
    ) 9>"$cache/packages.lock"
  else
    missing "$1 is missing" "on Debian and Ubuntu: apt-get install $2"
  fi
}

# npm_install FOLDER: node_modules exactly as locked; nothing to do when they are.
npm_install() {
  # One at a time: steps run side by side, and each `npm ci` begins by removal of the folder.
  mkdir -p "$cache"
  (
    flock 9
    [ "$1/node_modules/.package-lock.json" -nt "$1/package-lock.json" ] ||
      npm --prefix "$1" ci --ignore-scripts --no-audit --no-fund --loglevel=error
  ) 9>"$cache/npm.lock"
}

# The page's files are embedded in the binary, so they are built before it.
build_web() {
  npm_install web
  if [ ! -f web/dist/index.html ] ||
    [ -n "$(find web -path web/node_modules -prune -o -path web/dist -prune -o -type f -newer web/dist/index.html -print -quit)" ]; then
    npm --prefix web run --silent build
  fi
}

# Installs the pinned cargo-deny into the cache, once; it compiles for minutes. For `make audit` only.
need_deny() {
  deny=$cache/tools/cargo-deny-$DENY_VERSION/bin/cargo-deny
  if [ ! -x "$deny" ]; then
    # Unoptimised: it runs for a second and would compile three times as long.
    CARGO_TARGET_DIR=$cache/tools/build cargo install --locked --debug --quiet \
      --root "$cache/tools/cargo-deny-$DENY_VERSION" "cargo-deny@$DENY_VERSION"
    rm -rf "$cache/tools/build"
  fi
}
