#!/usr/bin/env bash
# Fuzzes one target, guided by coverage: scripts/fuzz.sh TARGET [SECONDS]. The targets are the files of fuzz/targets; the inputs that it starts
# from are fuzz/corpus/TARGET. An input that fails is kept in fuzz/artifacts: put it into fuzz/corpus/TARGET with the fix, where the test suite
# gives it again.
#
# No nightly compiler and no cargo-fuzz: the flags below are what cargo-fuzz passes, without a sanitizer, since the code is safe Rust. Only
# ergo's own crates are instrumented, so that their dependencies are compiled once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../fuzz"
target=${1:-}
[ -n "$target" ] && [ -f "targets/$target.rs" ] || {
  echo "usage: scripts/fuzz.sh TARGET [SECONDS]; targets: $(cd targets && ls | sed 's/\.rs//' | tr '\n' ' ')" >&2
  exit 2
}
seconds=${2:-60}
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
# The first corpus takes new inputs; libFuzzer makes none of these folders.
found=$CARGO_TARGET_DIR/corpus-$target
mkdir -p "$found" "corpus/$target" artifacts

wrapper=$CARGO_TARGET_DIR/instrument
cat >"$wrapper" <<'END'
#!/usr/bin/env bash
# rustc, with coverage for the crates that are fuzzed and for the target.
rustc=$1
shift
case " $* " in
  *" --crate-name ergo "* | *" --crate-name ergo_core "* | *" --crate-name $FUZZ_TARGET "*)
    exec "$rustc" "$@" -Cpasses=sancov-module \
      -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
      -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares
    ;;
  *) exec "$rustc" "$@" ;;
esac
END
chmod +x "$wrapper"
FUZZ_TARGET=$target RUSTC_WRAPPER=$wrapper cargo build --bin "$target"
exec "$CARGO_TARGET_DIR/debug/$target" -max_total_time="$seconds" -artifact_prefix=artifacts/ -max_len=65536 -print_final_stats=1 \
  "$found" "corpus/$target"
