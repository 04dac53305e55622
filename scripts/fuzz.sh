#!/usr/bin/env bash
# fuzz.sh SECONDS [TARGET…]: fuzzes the targets (by default all) that long each, guided by coverage.
#
# libFuzzer needs a program with coverage counters. `cargo fuzz` asks the nightly compiler for them; the pinned stable
# one can insert them too, by the same LLVM pass, as long as no sanitizer is wanted. The decoders have no `unsafe`, so
# what a sanitizer would find is a panic here anyway; overflow checks and debug assertions are on.
#
# Inputs that reached new code are kept in the cache and are where the next run begins; seeds lie in fuzz/seeds. An input
# that crashes is written to fuzz/artifacts/TARGET, and `fuzz.sh 0 TARGET` runs all of those again.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

seconds=${1:?usage: fuzz.sh SECONDS [TARGET…]}
shift
need_cargo
command -v c++ >/dev/null || missing "a C++ compiler is missing" "on Debian and Ubuntu: apt-get install g++"

if [ -n "${CARGO_TARGET_DIR:-}" ]; then fuzz_target=$CARGO_TARGET_DIR/fuzz; else fuzz_target=$PWD/fuzz/target; fi
host=$(rustc -vV | sed -n 's/^host: //p')
flags="--cfg fuzzing -Ccodegen-units=1 -Cpasses=sancov-module"
for argument in -sanitizer-coverage-level=4 -sanitizer-coverage-inline-8bit-counters -sanitizer-coverage-pc-table \
  -sanitizer-coverage-trace-compares -simplifycfg-branch-fold-threshold=0; do
  flags="$flags -Cllvm-args=$argument"
done
# With an explicit --target the flags do not reach build scripts and procedural macros.
RUSTFLAGS=$flags CARGO_TARGET_DIR=$fuzz_target \
  cargo build --manifest-path fuzz/Cargo.toml --release --locked --bins --target "$host"

if [ $# -eq 0 ]; then set -- $(basename -s .rs fuzz/src/bin/*.rs); fi
for name; do
  program=$fuzz_target/$host/release/$name
  [ -x "$program" ] || missing "there is no fuzz target $name" "there are: $(basename -s .rs fuzz/src/bin/*.rs | xargs)"
  artifacts=fuzz/artifacts/$name
  mkdir -p "$cache/fuzz/$name" "$artifacts"
  if [ "$seconds" -eq 0 ]; then
    find "$artifacts" -type f -exec "$program" {} +
    continue
  fi
  echo "== fuzzing $name for $seconds s"
  seeds=fuzz/seeds/$name
  if [ ! -d "$seeds" ]; then seeds=; fi
  log=$(mktemp)
  # 4 KiB covers every datagram and, for the decoders of HTTP bodies, all of the grammar. An input that takes more than 5 s
  # or 1 GiB counts as a crash.
  if ! "$program" "$cache/fuzz/$name" $seeds -artifact_prefix="$artifacts/" -max_total_time="$seconds" -max_len=4096 \
    -timeout=5 -rss_limit_mb=1024 -print_final_stats=1 -verbosity=0 >"$log" 2>&1; then
    tail -n 60 "$log" >&2
    echo "throng: $name crashed; the input is in $artifacts" >&2
    rm -f "$log"
    exit 1
  fi
  grep -E 'number_of_executed_units|peak_rss_mb' "$log" || true
  rm -f "$log"
done
