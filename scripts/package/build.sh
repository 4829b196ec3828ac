#!/usr/bin/env bash
# Builds the packages of one version: .deb, .rpm and .tar.gz, with manual pages, completions, licences, a list of components
# (CycloneDX) and SHA-256 sums. The same commit and the same tools give the same bytes.
#
#   scripts/package/build.sh                    build in a Debian 11 root, so that glibc 2.31 is enough (needs root and debootstrap)
#   scripts/package/build.sh --here             build on this system: in a container of CI, or for macOS (.tar.gz alone;
#                                               GNU's coreutils, findutils, tar and sed come first in PATH)
#   scripts/package/build.sh --program FILE     package a program that is already built
#
# ERGO_PACKAGES names the folder for results (default target/package), ERGO_ROOTS that of Debian roots, which are kept.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/package/lib.sh

mode=root program=
case ${1:-} in
  "") ;;
  --here) mode=here ;;
  --program) mode=program program=$(realpath "${2:?--program needs a file}") ;;
  # shellcheck disable=SC1111
  *) die "unknown option “$1” (expected --here or --program FILE)" ;;
esac

version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
commit=$(git rev-parse --short=10 HEAD 2>/dev/null || true)
[ -z "$(git status --porcelain 2>/dev/null)" ] || { say "the working tree has changes that are not committed"; commit=$commit-dirty; }
# The time of everything in the packages is that of the commit.
epoch=$(git log -1 --format=%ct 2>/dev/null || date +%s)
system=$(uname -s | tr '[:upper:]' '[:lower:]') machine=$(uname -m)
out=${ERGO_PACKAGES:-target/package}
# Cargo.toml names the staged files by this path.
stage=target/package/stage
mkdir -p "$out"
out=$(realpath "$out")

# What cargo compiles with. llama.cpp leaves out AVX2 if it sees SOURCE_DATE_EPOCH, so that is set for packaging only.
build() {
  local source=$1 cargo_home=$2
  local maps=("--remap-path-prefix=$source=/ergo" "--remap-path-prefix=$cargo_home=/cargo")
  local features=()
  [ "$system" != linux ] || features=(--features static-cxx)
  env -u SOURCE_DATE_EPOCH ERGO_COMMIT="$commit" RUSTFLAGS="${maps[*]}" \
    CFLAGS="-ffile-prefix-map=$cargo_home=/cargo" CXXFLAGS="-ffile-prefix-map=$cargo_home=/cargo" \
    cargo build --profile dist --locked "${features[@]}" --bin ergo
}

# Builds in a Debian 11 root that has nothing but a C and a C++ compiler, cmake and libclang. Rust and the crates' sources are
# those of this machine, at fixed places.
build_in_root() {
  local root
  root=$(debian_root build bullseye gcc,g++,make,cmake,libclang-dev,git,ca-certificates)
  cargo fetch --locked
  mkdir -p "$root"/{src,cargo,rust,target} "$out/build"
  unshare --mount bash -euo pipefail -c '
    root=$1 out=$2
    mount --make-rprivate /
    mount --bind "$PWD" "$root/src"
    mount --bind "$(rustc --print sysroot)" "$root/rust"
    mount --bind "${CARGO_HOME:-$HOME/.cargo}" "$root/cargo"
    mount --bind "$out/build" "$root/target"
    mount -t proc proc "$root/proc"
    chroot "$root" /usr/bin/env -i HOME=/root PATH=/rust/bin:/usr/bin:/bin CARGO_HOME=/cargo CARGO_TARGET_DIR=/target CARGO_NET_OFFLINE=true \
      commit="$3" system=linux CARGO_BUILD_JOBS="${CARGO_BUILD_JOBS:-$(nproc)}" \
      bash -euo pipefail -c "cd /src; $4; build /src /cargo"
  ' bash "$root" "$out" "$commit" "$(declare -f build)"
  program=$out/build/dist/ergo
}

# Puts everything at its place under $stage.
stage_files() {
  local doc=$stage/usr/share/doc/ergo
  rm -rf "$stage"
  mkdir -p "$stage"/usr/bin "$stage"/usr/share/man/man1 "$stage"/usr/share/{bash-completion/completions,zsh/site-functions,fish/vendor_completions.d} \
    "$stage/usr/lib/systemd/user" "$doc"
  install -m 755 "$program" "$stage/usr/bin/ergo"
  "$program" man --folder "$stage/usr/share/man/man1"
  gzip -9n "$stage"/usr/share/man/man1/*.1
  "$program" completions bash >"$stage/usr/share/bash-completion/completions/ergo"
  "$program" completions zsh >"$stage/usr/share/zsh/site-functions/_ergo"
  "$program" completions fish >"$stage/usr/share/fish/vendor_completions.d/ergo.fish"
  cp packaging/ergo.service "$stage/usr/lib/systemd/user/ergo.service"
  cp README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$doc"
  cp assets/models/*.LICENSE "$doc"
  gzip -9n "$doc/CHANGELOG.md"
  licences >"$doc/THIRD-PARTY.txt"
  components >"$doc/ergo.cdx.json"
  find "$stage" -type d -exec chmod 755 {} + && find "$stage" -type f ! -path '*/bin/*' -exec chmod 644 {} +
  find "$stage" -exec touch --no-dereference --date="@$epoch" {} +
}

# The licence texts of all crates, and of the C and C++ code that some of them bring along.
licences() {
  "$(tool cargo-about)" generate --locked --offline --fail --manifest-path Cargo.toml --config packaging/about.toml packaging/about.hbs
  cargo metadata --locked --format-version 1 --filter-platform "$(rustc -vV | sed -n 's/^host: //p')" |
    sed 's/"manifest_path":/\n&/g' | sed -n 's|^"manifest_path":"\([^"]*\)/Cargo.toml".*|\1|p' | sort | while read -r folder; do
    for code in "$folder"/{llama.cpp,zstd,sqlite3,ggml}; do
      # Beside a LICENSE, COPYING is the other licence of a choice: zstd's is the GPL.
      file=$code/LICENSE
      [ -f "$file" ] || file=$code/COPYING
      [ -f "$file" ] || continue
      printf '\n%s\n%s\n\n' "$(printf '=%.0s' {1..80})" "${file#"$(dirname "$folder")/"}"
      cat "$file"
    done
  done
}

# The list of components. cargo-cyclonedx writes beside each manifest.
components() {
  SOURCE_DATE_EPOCH=$epoch "$(tool cargo-cyclonedx)" cyclonedx --manifest-path Cargo.toml --format json --spec-version 1.5 \
    --target "$(rustc -vV | sed -n 's/^host: //p')" --override-filename ergo-sbom >&2
  # It names the packages of this workspace by their folder.
  sed "s|path+file://$PWD|path+file:///ergo|g" ergo-sbom.json
  rm -f ergo-sbom.json bench/ergo-sbom.json core/ergo-sbom.json
}

pack_tar() {
  local name=ergo-$version-$machine-$system
  tar --directory "$stage/usr" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$epoch" --format=gnu \
    --transform "s,^\.,$name," -cf - . | gzip -9n >"$out/$name.tar.gz"
}

pack_deb_and_rpm() {
  SOURCE_DATE_EPOCH=$epoch "$(tool cargo-deb)" deb --no-build --no-strip --quiet --output "$out/"
  SOURCE_DATE_EPOCH=$epoch "$(tool cargo-generate-rpm)" generate-rpm --source-date "$epoch" --output "$out/" --target-dir target
}

# The sums of what there is: only Linux has a .deb and a .rpm.
checksums() {
  (cd "$out" && shopt -s nullglob && sha256sum -- *.deb *.rpm *.tar.gz >SHA256SUMS)
}

# The tests source this file and call single functions.
[ "${BASH_SOURCE[0]}" = "$0" ] || return 0

case $mode in
  root) build_in_root ;;
  here)
    CARGO_TARGET_DIR=$out/build build "$PWD" "${CARGO_HOME:-$HOME/.cargo}"
    program=$out/build/dist/ergo
    ;;
esac
stage_files
rm -f "$out"/*.deb "$out"/*.rpm "$out"/*.tar.gz "$out/SHA256SUMS"
pack_tar
[ "$system" != linux ] || pack_deb_and_rpm
checksums
cat "$out/SHA256SUMS"
say "done: $out"
