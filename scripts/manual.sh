#!/usr/bin/env bash
# Builds the manual from docs/ into target/manual. Builds mdBook once; after that no network is needed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tools=$PWD/target/manual-tools
if [ ! -x "$tools/bin/mdbook" ]; then
  echo "building mdBook: a few minutes, once" >&2
  env -u CARGO_TARGET_DIR cargo install --locked --quiet --root "$tools" --no-default-features --features search mdbook@0.5.4
fi
"$tools/bin/mdbook" build docs
echo "the manual: $PWD/target/manual/index.html" >&2
