#!/usr/bin/env bash
# Runs a command with a temporary folder in memory, because the daemons of the tests sync each write to disk. The folder
# is removed at the end. If TMPDIR is set, or /dev/shm or the memory has less than 4 GB free, or programs may not run in
# /dev/shm, the command runs as it is.
set -euo pipefail

readonly NEEDED=$((4 * 1024 * 1024)) # KiB

has_room() {
  [ -w /dev/shm ] || return 1
  [ "$(df -Pk /dev/shm | awk 'NR == 2 { print $4 }')" -ge "$NEEDED" ] || return 1
  [ "$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo)" -ge "$NEEDED" ]
}

if [ -n "${TMPDIR:-}" ] || ! has_room; then
  exec "$@"
fi
folder=$(mktemp -d /dev/shm/ergo-tests.XXXXXX)
trap 'rm -rf "$folder"' EXIT
printf '#!/bin/sh\n' >"$folder/true"
chmod +x "$folder/true"
if "$folder/true" 2>/dev/null; then
  export TMPDIR=$folder
fi
"$@"
