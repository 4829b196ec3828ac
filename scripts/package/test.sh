#!/usr/bin/env bash
# Tests a .deb in bare Debian roots without a compiler or a network: installation, demonstration, setup, an upgrade with a store in
# use, removal.
#
#   scripts/package/test.sh [PACKAGE.deb [OLDER.deb]]     as root; without OLDER.deb the upgrade is from the same files, with a lower version
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source scripts/package/lib.sh

package=${1:-$(echo "${ERGO_PACKAGES:-target/package}"/*.deb)}
[ -f "$package" ] || die "no package at $package: run make package first"
[ -z "${2:-}" ] || [ -f "$2" ] || die "no older package at $2"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

older=${2:-$work/older.deb}
if [ -z "${2:-}" ]; then
  dpkg-deb -R "$package" "$work/older"
  sed -i 's/^Version: .*/Version: 0.0.1~test/' "$work/older/DEBIAN/control"
  dpkg-deb --root-owner-group -Zgzip -z1 -b "$work/older" "$older" >/dev/null
fi

# Runs in the root, with no network but an unconfigured loopback device.
cat >"$work/inside.sh" <<'INSIDE'
set -euo pipefail
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
as_ada() { su ada -s /bin/bash -c "cd ~/shop && $1"; }
seconds() { date +%s.%N; }
took() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.1f", b - a }'; }

! command -v cc >/dev/null || fail "there is a compiler"
useradd --create-home ada
mkdir -p /home/ada/shop /home/ada/.claude
printf '# Rules\n\n- Never log email addresses, because the privacy review forbids it.\n' >/home/ada/shop/CLAUDE.md
chown -R ada:ada /home/ada

start=$(seconds)
dpkg -i /packages/older.deb >/dev/null || fail "the older package cannot be installed"
install=$(took "$start" "$(seconds)")
awk -v t="$install" 'BEGIN { exit !(t < 10) }' || fail "dpkg -i took $install s"

start=$(seconds)
as_ada "ergo demo --plain </dev/null" >/tmp/demo || fail "the demonstration ended with an error: $(tail -n 5 /tmp/demo)"
[ "$(grep -c '^Refused:' /tmp/demo)" = 3 ] || fail "the demonstration did not refuse three writes"
demo=$(took "$start" "$(seconds)")

as_ada "ergo setup --yes" >/tmp/setup || fail "setup: $(cat /tmp/setup)"
grep -q ergo /home/ada/.claude/settings.json || fail "setup did not write the settings of Claude Code"
as_ada "ergo import rules CLAUDE.md" >/dev/null
as_ada "ergo remember 'Deploys run only on green CI.' --reason 'A red deploy cost us a Friday.'" >/dev/null
before=$(as_ada "ergo claims --json" | tr ',' '\n' | grep -c '"statement"')
old=$(as_ada "ergo daemon status --json" | grep -o '"pid": *[0-9]*' | head -n 1 | tr -dc 0-9)

start=$(seconds)
dpkg -i /packages/new.deb >/dev/null || fail "the upgrade failed"
upgrade=$(took "$start" "$(seconds)")
for _ in $(seq 100); do [ -d "/proc/$old" ] || break; sleep 0.1; done
[ ! -d "/proc/$old" ] || fail "the old daemon, process $old, still runs"
after=$(as_ada "ergo claims --json" | tr ',' '\n' | grep -c '"statement"')
[ "$before" = "$after" ] || fail "$before claims before the upgrade, $after after it"
new=$(as_ada "ergo daemon status --json" | grep -o '"pid": *[0-9]*' | head -n 1 | tr -dc 0-9)
[ "$new" != "$old" ] || fail "no new daemon"
as_ada "ergo doctor" >/tmp/doctor 2>&1 || fail "doctor: $(cat /tmp/doctor)"
as_ada "ergo remember 'Deploys run on red CI.' --reason 'We are in a hurry.'" >/tmp/refused && fail "a contradiction was stored"
grep -q 'A red deploy cost us a Friday' /tmp/refused || fail "the refusal does not show the reason"
as_ada "ergo why 'may we deploy on red CI?'" >/tmp/why || fail "why fails"
grep -q 'Friday' /tmp/why || fail "why does not answer"
for file in /usr/share/man/man1/ergo.1.gz /usr/share/man/man1/ergo-remember.1.gz /usr/share/bash-completion/completions/ergo \
  /usr/share/zsh/vendor-completions/_ergo /usr/share/fish/vendor_completions.d/ergo.fish /usr/share/doc/ergo/ergo.cdx.json \
  /usr/lib/systemd/user/ergo.service; do
  [ -s "$file" ] || fail "$file is missing"
done
grep -q llama /usr/share/doc/ergo/THIRD-PARTY.txt || fail "the licences do not name llama.cpp"

store=$(find /home/ada -name 'ergo.db' -o -name '*.db' -path '*ergo*' | head -n 1)
[ -s "$store" ] || fail "no store was found"
dpkg -r ergo >/dev/null || fail "the removal failed"
for _ in $(seq 100); do [ -d "/proc/$new" ] || break; sleep 0.1; done
[ ! -d "/proc/$new" ] || fail "after the removal the daemon, process $new, still runs"
[ ! -e /usr/bin/ergo ] || fail "the program is still there"
[ -s "$store" ] || fail "the removal took the store with it"
dpkg -i /packages/new.deb >/dev/null
[ "$(as_ada "ergo claims --json" | tr ',' '\n' | grep -c '"statement"')" = "$after" ] || fail "claims are gone after a new installation"
as_ada "ergo setup --remove --yes" >/dev/null
! grep -q ergo /home/ada/.claude/settings.json 2>/dev/null || fail "setup --remove left something behind"
as_ada "ergo daemon stop" >/dev/null
printf 'install %s s, demonstration %s s, upgrade %s s; %s claims kept\n' "$install" "$demo" "$upgrade" "$after"
INSIDE

for suite in ${ERGO_TEST_SUITES:-trixie bookworm bullseye}; do
  root=$(debian_root bare "$suite" "")
  rm -rf "$work/root"
  cp -a "$root" "$work/root"
  mkdir -p "$work/root/packages"
  cp "$package" "$work/root/packages/new.deb"
  cp "$older" "$work/root/packages/older.deb"
  cp "$work/inside.sh" "$work/root/inside.sh"
  printf '%s: ' "$suite"
  unshare --mount --net --pid --fork bash -euo pipefail -c '
    mount --make-rprivate /
    mount -t proc proc "$1/proc"
    mount --bind /dev "$1/dev"
    exec chroot "$1" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 bash /inside.sh
  ' bash "$work/root"
done
