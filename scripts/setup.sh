#!/usr/bin/env bash
# Makes sure that ergo can be built here: Rust new enough, and the tools in NEEDS. Installs what is missing with apt
# (with sudo where not root), says what to do on other systems, prints nothing where all is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The one list of what the build needs besides Rust: what it is | the function below that proves it | Debian packages.
NEEDS=(
  "a C compiler with its headers, for the bundled SQLite|have_c|gcc libc6-dev"
  "a C++ compiler with its library, for llama.cpp|have_cxx|g++"
  "make and cmake, for llama.cpp|have_cmake|make cmake"
  "libclang, which reads llama.cpp's headers|have_libclang|libclang-dev"
  "git, by whose repositories projects are told apart, in the tests too|have_git|git"
)

have_c() {
  # A compiler without the C library's headers is a common half-installation: compile and link something real.
  local compiler=${CC:-cc} out
  # shellcheck disable=SC2086 # CC may hold options.
  command -v ${compiler%% *} >/dev/null || return 1
  out=$(mktemp) || return 1
  # shellcheck disable=SC2086
  printf '#include <stdlib.h>\nint main(void) { return EXIT_SUCCESS; }\n' | ${compiler} -x c - -o "$out" 2>/dev/null
  local status=$?
  rm -f "$out"
  return "$status"
}

have_cxx() {
  local compiler=${CXX:-c++} out
  command -v ${compiler%% *} >/dev/null || return 1
  out=$(mktemp) || return 1
  # shellcheck disable=SC2086
  printf '#include <string>\nint main() { return std::string().size(); }\n' | ${compiler} -x c++ - -o "$out" 2>/dev/null
  local status=$?
  rm -f "$out"
  return "$status"
}

have_cmake() { command -v cmake >/dev/null && { command -v make || command -v ninja; } >/dev/null; }

have_libclang() {
  # Where the bindings generator looks: LIBCLANG_PATH, llvm-config's folder, the system's folders.
  local folder
  for folder in "${LIBCLANG_PATH:-/nonexistent}" "$(llvm-config --libdir 2>/dev/null || echo /nonexistent)" \
    /usr/lib/llvm-*/lib /usr/lib /usr/lib64 /usr/lib/*-linux-gnu /usr/local/lib \
    /Library/Developer/CommandLineTools/usr/lib /Applications/Xcode.app/Contents/Developer/Toolchains/XcodeDefault.xctoolchain/usr/lib; do
    compgen -G "$folder/libclang*.so*" >/dev/null && return 0
    compgen -G "$folder/libclang.dylib" >/dev/null && return 0
  done
  return 1
}

have_git() { command -v git >/dev/null; }

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

check_rust() {
  local wanted found
  wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
  command -v cargo >/dev/null && command -v rustc >/dev/null ||
    die "Rust is not installed. Get version $wanted or newer from https://rustup.rs, open a new shell, and run this again."
  found=$(rustc --version | awk '{print $2}')
  [ "$(printf '%s\n' "$wanted" "${found%%-*}" | sort -V | head -n 1)" = "$wanted" ] ||
    die "Rust $found is too old: ergo needs $wanted or newer. Run: rustup update stable"
}

install_missing() {
  local packages=("$@") sudo=()
  command -v apt-get >/dev/null ||
    die "this system has no apt-get: install what is named above with its own package manager (on macOS:" \
      "xcode-select --install, then brew install cmake), then run this again."
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "not root and no sudo: let root run \`apt-get install ${packages[*]}\`, then run this again."
    sudo=(sudo)
  fi
  say "installing ${packages[*]}"
  # A fresh machine has no package lists yet: try without, then with an update.
  local apt=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get)
  "${apt[@]}" install -y --no-install-recommends "${packages[@]}" >&2 ||
    { "${apt[@]}" update >&2 && "${apt[@]}" install -y --no-install-recommends "${packages[@]}" >&2; } ||
    die "apt-get could not install ${packages[*]}: its message is above."
}

check_rust
missing=()
for need in "${NEEDS[@]}"; do
  IFS='|' read -r what proof packages <<<"$need"
  "$proof" && continue
  say "missing: $what"
  read -ra more <<<"$packages"
  missing+=("${more[@]}")
done
if [ "${#missing[@]}" -gt 0 ]; then
  install_missing "${missing[@]}"
  for need in "${NEEDS[@]}"; do
    IFS='|' read -r what proof _ <<<"$need"
    "$proof" || die "still missing after the installation: $what"
  done
fi
