#!/usr/bin/env bash
# Fuzzes one target, guided by coverage: scripts/fuzz.sh TARGET [SECONDS]. The targets are the files of fuzz/targets; the inputs that it starts
# from are fuzz/corpus/TARGET. An input that fails is kept in fuzz/artifacts: put it into fuzz/corpus/TARGET with the fix, where the test suite
# gives it again.
#
# No nightly compiler and no cargo-fuzz: the flags below are what cargo-fuzz passes, without a sanitizer, since the code is safe Rust. Only
# ergo itself is instrumented, so that its dependencies are compiled once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../fuzz"
target=${1:?usage: scripts/fuzz.sh TARGET [SECONDS]; targets: $(cd targets && ls | sed 's/\.rs//' | tr '\n' ' ')}
seconds=${2:-60}
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
mkdir -p "$CARGO_TARGET_DIR" "corpus/$target" artifacts

wrapper=$CARGO_TARGET_DIR/instrument
cat >"$wrapper" <<'END'
#!/usr/bin/env bash
# rustc, with coverage for the crate that is fuzzed and for the targets.
rustc=$1
shift
case " $* " in
  *" --crate-name ergo "* | *" --crate-name $FUZZ_TARGET "*)
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
  "$CARGO_TARGET_DIR/corpus-$target" "corpus/$target"
