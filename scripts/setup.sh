#!/usr/bin/env bash
# Checks that ergo can be built here: Rust new enough, and the tools in NEEDS. Installs what is missing with apt
# (with sudo if not root); on other systems it says what to do. Prints nothing if nothing is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The one list of what the build needs besides Rust: what it is | the function below that proves it | Debian packages.
NEEDS=(
  "a C compiler with its headers, for the bundled SQLite|have_c|gcc libc6-dev"
  "a C++ compiler with its library, for llama.cpp|have_cxx|g++"
  "make and cmake, for llama.cpp|have_cmake|make cmake"
  "libclang, which reads llama.cpp's headers|have_libclang|libclang-dev"
  "git, which ergo and its tests use to tell projects apart|have_git|git"
)

# Makes a folder for a proof, where cargo will run programs too: /tmp may forbid that.
proof_folder() {
  mkdir -p "${CARGO_TARGET_DIR:-target}" && mktemp -d "${CARGO_TARGET_DIR:-target}/setup.XXXXXX"
}

# Compiles, links and runs standard input: $1 is the compiler with its options, $2 the language.
compiles() {
  local folder status=0
  command -v "${1%% *}" >/dev/null || return 1
  folder=$(proof_folder) || return 1
  # shellcheck disable=SC2086 # The compiler may bring options.
  { $1 -x "$2" - -o "$folder/proof" && "$folder/proof"; } >/dev/null 2>&1 || status=1
  rm -rf "$folder"
  return "$status"
}

# A compiler without the C library's headers is a common half-installation.
have_c() { compiles "${CC:-cc}" c <<<$'#include <stdlib.h>\nint main(void) { return EXIT_SUCCESS; }'; }

have_cxx() { compiles "${CXX:-c++}" c++ <<<$'#include <string>\nint main() { return (int)std::string().size(); }'; }

# llama.cpp asks for cmake 3.14. Without CMAKE_GENERATOR, cmake calls make.
have_cmake() {
  local version
  version=$(cmake --version 2>/dev/null | awk '/^cmake version/ { print $3 }') && at_least 3.14 "$version" || return 1
  case ${CMAKE_GENERATOR:-} in
    Ninja*) ninja --version ;;
    *) make --version ;;
  esac >/dev/null 2>&1
}

# Prints the files that bindgen's loader (clang-sys 1.9, build/dynamic.rs and build/common.rs) takes for libclang, as
# "version path", in its order of preference. libclang-cpp and libclang_rt are other libraries with similar names.
libclang_candidates() {
  local folders=() prefix folder file name version
  if [ -n "${LIBCLANG_PATH:-}" ]; then
    folders=("$LIBCLANG_PATH")
    [ -f "$LIBCLANG_PATH" ] && folders=("$(dirname "$LIBCLANG_PATH")")
  else
    prefix=$("${LLVM_CONFIG_PATH:-llvm-config}" --prefix 2>/dev/null) && folders+=("$prefix/bin" "$prefix/lib" "$prefix/lib64")
    IFS=: read -ra more <<<"${LD_LIBRARY_PATH:-}:${LIBRARY_PATH:-}"
    for folder in "${more[@]}"; do [ -n "$folder" ] && folders+=("$folder"); done
    folders+=(/usr/local/llvm*/lib* /usr/local/lib*/*/* /usr/local/lib*/* /usr/local/lib* /usr/lib*/*/* /usr/lib*/* /usr/lib*
      /usr/local/opt/llvm*/lib /Library/Developer/CommandLineTools/usr/lib
      /Applications/Xcode.app/Contents/Developer/Toolchains/XcodeDefault.xctoolchain/usr/lib)
  fi
  for folder in "${folders[@]}"; do
    [ -d "$folder" ] || continue
    for file in "$folder"/libclang.so "$folder"/libclang-*.so "$folder"/libclang.so.* "$folder"/libclang-*.so.* "$folder"/libclang.dylib; do
      name=${file##*/}
      case $name in *-cpp.*) continue ;; esac
      [ -f "$file" ] && [ -r "$file" ] || continue
      case $name in
        libclang.dylib) version=0 ;;
        # The loader passes over what is no ELF file.
        *) [ "$(head -c 4 "$file" | tail -c 3)" = ELF ] || continue
          version=${name#libclang} version=${version#-} version=${version#.so} version=${version#.} version=${version%.so} ;;
      esac
      printf '%s %s\n' "${version:-0}" "$file"
    done
  done
}

have_libclang() {
  # The loader takes the highest version. It must load, and find the compiler's own headers (stddef.h), which are in another
  # package than the library: parse a line with it, as bindgen will.
  local library folder status=0
  library=$(libclang_candidates | sort -s -r -V -k1,1 | head -n 1 | cut -d ' ' -f 2-)
  [ -n "$library" ] || return 1
  folder=$(proof_folder) || return 1
  cat >"$folder/probe.c" <<'PROBE'
#include <dlfcn.h>
int main(int count, char **words) {
  void *library = count == 3 ? dlopen(words[1], RTLD_NOW) : 0;
  if (!library) return 1;
  void *(*create)(int, int) = (void *(*)(int, int))dlsym(library, "clang_createIndex");
  void *(*parse)(void *, const char *, const char *const *, int, void *, unsigned, unsigned) =
      (void *(*)(void *, const char *, const char *const *, int, void *, unsigned, unsigned))dlsym(library, "clang_parseTranslationUnit");
  unsigned (*problems)(void *) = (unsigned (*)(void *))dlsym(library, "clang_getNumDiagnostics");
  if (!create || !parse || !problems) return 1;
  void *unit = parse(create(0, 0), words[2], 0, 0, 0, 0, 0);
  return !unit || problems(unit) != 0;
}
PROBE
  printf '#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\nsize_t probe(uint8_t *);\n' >"$folder/headers.h"
  # shellcheck disable=SC2086 # CC may hold options.
  { ${CC:-cc} "$folder/probe.c" -o "$folder/probe" -ldl && "$folder/probe" "$library" "$folder/headers.h"; } >/dev/null 2>&1 || status=1
  rm -rf "$folder"
  return "$status"
}

have_git() { git --version >/dev/null 2>&1; }

# Is version $2 at least $1?
at_least() { [ -n "$2" ] && [ "$(printf '%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

check_rust() {
  local wanted found advice="Run: rustup update stable"
  wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
  command -v cargo >/dev/null && command -v rustc >/dev/null ||
    die "Rust is not installed. Get version $wanted or newer from https://rustup.rs, open a new shell, and run this again."
  found=$(rustc --version | awk '{print $2}')
  # The Rust of a distribution cannot be updated so.
  command -v rustup >/dev/null || advice="Install Rust from https://rustup.rs, open a new shell, and run this again."
  at_least "$wanted" "${found%%-*}" || die "Rust $found is too old: ergo needs $wanted or newer. $advice"
}

install_missing() {
  local packages=("$@") sudo=()
  command -v apt-get >/dev/null ||
    die "apt-get was not found: install the packages named above with your package manager (on macOS:" \
      "xcode-select --install, then brew install cmake), then run this again."
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "packages are missing and sudo is not installed: run \`apt-get install ${packages[*]}\` as root, then run this again."
    sudo=(sudo)
  fi
  say "installing ${packages[*]}"
  # A fresh machine has no package lists yet: try without, then with an update.
  local apt=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get)
  "${apt[@]}" install -y --no-install-recommends "${packages[@]}" >&2 ||
    { "${apt[@]}" update >&2 && "${apt[@]}" install -y --no-install-recommends "${packages[@]}" >&2; } ||
    die "apt-get could not install ${packages[*]}; see its message above."
}

# Prints the packages of every need, on one line.
all_packages() {
  local need packages all=()
  for need in "${NEEDS[@]}"; do
    IFS='|' read -r _ _ packages <<<"$need"
    all+=("$packages")
  done
  printf '%s\n' "${all[*]}"
}

# What to do when cargo stopped for want of something that the checks above took for there.
after_failed_build() {
  say "the build failed; see the error above. These commands install everything that it needs from the system:"
  say "  $([ "$(id -u)" -eq 0 ] || printf 'sudo ')apt-get update && $([ "$(id -u)" -eq 0 ] || printf 'sudo ')apt-get install $(all_packages)"
}

main() {
  local missing=() need what proof packages more
  check_rust
  for need in "${NEEDS[@]}"; do
    IFS='|' read -r what proof packages <<<"$need"
    "$proof" && continue
    say "missing: $what"
    read -ra more <<<"$packages"
    missing+=("${more[@]}")
  done
  [ "${#missing[@]}" -eq 0 ] && return
  install_missing "${missing[@]}"
  for need in "${NEEDS[@]}"; do
    IFS='|' read -r what proof _ <<<"$need"
    "$proof" || die "still missing after the installation: $what"
  done
}

# The tests source this file and call single functions.
[ "${BASH_SOURCE[0]}" = "$0" ] || return 0
case ${1:-} in
  "") main ;;
  --after-failed-build) after_failed_build ;;
  *) die "unknown option “$1” (expected none, or --after-failed-build)" ;;
esac
