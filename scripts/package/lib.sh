# shellcheck shell=bash
# What the scripts of this folder share.

# The tools that package, each at one version; they are built once, each into target/package/tools/NAME@VERSION.
TOOLS="cargo-deb@3.8.0 cargo-generate-rpm@0.21.1 cargo-about@0.9.3 cargo-cyclonedx@0.5.9"

say() { printf 'package: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# Prints the path of a tool, and builds it if it is not there.
tool() {
  local name=$1 wanted folder=${ERGO_PACKAGE_TOOLS:-$PWD/target/package/tools} features=()
  for wanted in $TOOLS; do [ "${wanted%@*}" = "$name" ] && break; done
  folder=$folder/$wanted
  if [ ! -x "$folder/bin/$name" ]; then
    say "building $wanted"
    [ "$name" != cargo-about ] || features=(--features cli)
    env -u CARGO_TARGET_DIR cargo install --locked --quiet --root "$folder" "${features[@]}" "$wanted" >&2
  fi
  printf '%s\n' "$folder/bin/$name"
}

# Prints the path of a Debian root: $1 names it, $2 is the release, $3 its packages beyond the smallest set.
debian_root() {
  local root=${ERGO_ROOTS:-$PWD/target/package/roots}/$1-$2
  [ "$(id -u)" -eq 0 ] || die "a Debian root needs root: run this as root, or build in a container with --here"
  command -v debootstrap >/dev/null || die "debootstrap was not found: apt-get install debootstrap"
  if [ ! -f "$root/etc/debian_version" ] || [ ! -f "$root/.whole" ]; then
    say "making a Debian root of $2 in $root"
    mkdir -p "$root"
    debootstrap --variant=minbase ${3:+--include=$3} "$2" "$root" http://deb.debian.org/debian >&2
    touch "$root/.whole"
  fi
  printf '%s\n' "$root"
}
