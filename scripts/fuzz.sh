#!/usr/bin/env bash
# fuzz.sh SECONDS [TARGET…]: fuzzes the targets (by default all) that long each, guided by coverage.
#
# libFuzzer needs a program with coverage counters. `cargo fuzz` asks the nightly compiler for them; the pinned stable
# one can insert them too, by the same LLVM pass, as long as no sanitizer is wanted. The decoders have no `unsafe`, so
# what a sanitizer would find is a panic here anyway; overflow checks and debug assertions are on.
#
# Inputs that reached new code are kept in the cache and are where the next run begins; seeds lie in fuzz/seeds. An input
# that crashes is written to fuzz/artifacts/TARGET, and `fuzz.sh 0 TARGET` runs all of those again. `fuzz.sh build` compiles only.
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

if [ "$seconds" = build ]; then exit 0; fi
if [ $# -eq 0 ]; then set -- $(basename -s .rs fuzz/src/bin/*.rs); fi
outputs=$(mktemp -d)
trap 'rm -rf "$outputs"' EXIT

# fuzz NAME: one target, with its output in a file.
fuzz() {
  local name=$1 program=$fuzz_target/$host/release/$1 artifacts=fuzz/artifacts/$1 seeds=fuzz/seeds/$1
  [ -x "$program" ] || missing "there is no fuzz target $name" "there are: $(basename -s .rs fuzz/src/bin/*.rs | xargs)" || return
  mkdir -p "$cache/fuzz/$name" "$artifacts"
  if [ "$seconds" -eq 0 ]; then
    find "$artifacts" -type f -exec "$program" {} +
    return
  fi
  if [ ! -d "$seeds" ]; then seeds=; fi
  local log=$outputs/$name.log
  # 4 KiB covers every datagram and, for the decoders of HTTP bodies, all of the grammar. An input that takes more than 20 s
  # or 1 GiB counts as a crash.
  if ! "$program" "$cache/fuzz/$name" $seeds -artifact_prefix="$artifacts/" -max_total_time="$seconds" -max_len=4096 \
    -timeout=20 -rss_limit_mb=1024 -print_final_stats=1 -verbosity=0 >"$log" 2>&1; then
    tail -n 60 "$log"
    echo "throng: $name crashed; the input is in $artifacts"
    return 1
  fi
  echo "== fuzzed $name for $seconds s"
  grep -E 'number_of_executed_units|peak_rss_mb' "$log" || true
}

# As many at a time as there are cores. After a crash no further one begins.
failed=0 running=0
for name; do
  if [ "$running" -ge "$(nproc)" ]; then
    wait -n || failed=1
    running=$((running - 1))
  fi
  [ "$failed" -eq 0 ] || break
  (fuzz "$name" >"$outputs/$name" 2>&1 || touch "$outputs/$name.crashed"; cat "$outputs/$name"; [ ! -e "$outputs/$name.crashed" ]) &
  running=$((running + 1))
done
while [ "$running" -gt 0 ]; do
  wait -n || failed=1
  running=$((running - 1))
done
exit "$failed"
