#!/usr/bin/env bash
# Flows with other programs' clients against the real program: the official Python and TypeScript client libraries, the MCP Inspector's
# command line, the protocol's conformance suite. They are installed from their packages into a temporary folder; what cannot be installed is
# said and skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PATH="${HOME:-/root}/.cargo/bin:$PATH"

cargo build --locked
program=$(cargo metadata --no-deps --format-version 1 | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/debug/ergo
work=$(mktemp -d)
export ERGO_HOME=$work/home HOME=$work
mkdir -p "$ERGO_HOME"
printf '[daemon]\naddress = "127.0.0.1:0"\n' >"$ERGO_HOME/config.toml"
unset ERGO_API_URL ERGO_API_TOKEN
# Fail quickly if no registry answers.
export PIP_RETRIES=1 PIP_DEFAULT_TIMEOUT=20 npm_config_fetch_retries=1 npm_config_fetch_timeout=30000 npm_config_fetch_retry_mintimeout=1000
relay=
trap 'end' EXIT
end() {
  [ -z "$relay" ] || kill "$relay" 2>/dev/null || true
  "$program" daemon stop >/dev/null 2>&1 || true
  ERGO_HOME=$work/cogito-home "$program" daemon stop >/dev/null 2>&1 || true
  rm -rf "$work"
}

skip() {
  echo "skipped: $1"
  [ -z "${ERGO_TEST_SKIPS:-}" ] || echo "$1" >>"$ERGO_TEST_SKIPS"
}

python() {
  command -v python3 >/dev/null || { skip "the Python client: python3 is not installed"; return; }
  if ! { python3 -m venv "$work/python" && "$work/python/bin/pip" install --quiet --disable-pip-version-check mcp; } 2>"$work/log"; then
    skip "the Python client cannot be installed: $(tail -1 "$work/log")"
    return
  fi
  "$work/python/bin/python" scripts/clients/flow.py "$program"
}

# Installs a package into the one folder of node's packages.
package() {
  # shellcheck disable=SC2086 # several packages are several words
  (cd "$work" && npm install --loglevel=error --no-audit --no-fund --no-save $1) >"$work/log" 2>&1
}

typescript() {
  if ! package @modelcontextprotocol/sdk; then
    skip "the TypeScript client cannot be installed: $(head -1 "$work/log")"
    return
  fi
  # A module finds packages beside itself.
  cp scripts/clients/flow.mjs "$work/"
  node "$work/flow.mjs" "$program"
}

inspector() {
  if ! package @modelcontextprotocol/inspector; then
    skip "the Inspector cannot be installed: $(head -1 "$work/log")"
    return
  fi
  local inspect=("$work/node_modules/.bin/mcp-inspector" --cli "$program" mcp --scope test/inspector)
  # grep reads to the end: who writes to one that has found its word and left would fail.
  says() { # text, arguments of the Inspector
    local wanted=$1
    shift
    "${inspect[@]}" "$@" >"$work/log" 2>&1 || { cat "$work/log"; return 1; }
    grep -F -- "$wanted" "$work/log" >/dev/null || { cat "$work/log"; echo "the Inspector's $2 did not print “$wanted”"; return 1; }
  }
  says '"ergo_remember"' --method tools/list
  local call=(--method tools/call --tool-name)
  says 'stored' "${call[@]}" ergo_remember --tool-arg 'statement=Use PostgreSQL for billing.' --tool-arg 'reason=Known.'
  says 'conflict' "${call[@]}" ergo_remember --tool-arg 'statement=Do not use PostgreSQL for billing.' --tool-arg 'reason=Cost.'
  says 'ergo://snapshot' --method resources/list
  says 'review_conflicts' --method prompts/list
  echo "Inspector: tools/list, remember, conflict, resources/list, prompts/list"
}

# Most scenarios of the suite call tools, prompts and resources that a server must have for the suite alone. These apply to every server;
# docs/clients/testing.md says of each of the others why it does not.
conformance() {
  if ! package @modelcontextprotocol/conformance; then
    skip "the conformance suite cannot be installed: $(head -1 "$work/log")"
    return
  fi
  local node=node
  if [ "$(node -p 'process.versions.node.split(".")[0]')" -lt 22 ]; then
    # The packages that were there go with each one that is installed.
    package "node@22 @modelcontextprotocol/conformance" || { skip "the conformance suite: $(head -1 "$work/log")"; return; }
    node=$(ls "$work"/node_modules/node*/bin/node | head -1)
  fi
  "$program" daemon start >/dev/null
  # The suite sends no token, which the daemon's port asks for: the socket does not, and this hands it on.
  node scripts/clients/relay.mjs "$("$program" daemon status --json | sed 's/.*"socket":"\([^"]*\)".*/\1/')" >"$work/port" &
  relay=$!
  for _ in $(seq 100); do [ -s "$work/port" ] && break; sleep 0.1; done
  local failed=0
  for scenario in server-initialize ping tools-list resources-list prompts-list; do
    if "$node" "$work/node_modules/@modelcontextprotocol/conformance/dist/index.js" server --url "http://127.0.0.1:$(cat "$work/port")/mcp" --scenario "$scenario" >"$work/log" 2>&1; then
      echo "conformance: $scenario passes"
    else
      failed=1
      echo "conformance: $scenario FAILS"
      tail -20 "$work/log"
    fi
  done
  kill "$relay"
  relay=
  return "$failed"
}

# cogito-ergo: its published command line, without the server that it would bring along, against the listener that speaks as it does.
cogito() {
  if ! { python3 -m venv "$work/cogito" && "$work/cogito/bin/pip" install --quiet --disable-pip-version-check --no-deps cogito-ergo; } 2>"$work/log"; then
    skip "the client of cogito-ergo cannot be installed: $(tail -1 "$work/log")"
    return
  fi
  local home=$work/cogito-home port notes=$work/cogito-notes
  mkdir -p "$home" "$notes"
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  printf '[daemon]\ntcp = false\n[compat.cogito]\nlisten = "127.0.0.1:%s"\n' "$port" >"$home/config.toml"
  printf '# Backups\n\nThe nightly backup goes to the vault in Bonn.\n' >"$notes/backups.md"
  ERGO_HOME=$home "$program" daemon start >/dev/null
  says() { # text, arguments of the client
    local wanted=$1 said
    shift
    said=$(COGITO_PORT=$port "$work/cogito/bin/cogito" "$@")
    if [[ $said != *"$wanted"* ]]; then
      printf '%s\ncogito-ergo %s: did not print “%s”\n' "$said" "$1" "$wanted" >&2
      ERGO_HOME=$home "$program" daemon stop >/dev/null
      return 1
    fi
  }
  says 'status: ok  |  memories: 0' health
  says 'Added 1 memories.' add 'The api listens on port 8080'
  says 'facts written   : 1' seed --add "$notes"
  says 'memories: 2' health
  says 'The api listens on port 8080' recall 'which port does the api listen on?'
  says 'vault in Bonn' query 'where does the nightly backup go'
  ERGO_HOME=$home "$program" daemon stop >/dev/null
  echo "cogito-ergo: health, add, seed, recall, query"
}

python
if command -v python3 >/dev/null; then cogito; else skip "the client of cogito-ergo: python3 is not installed"; fi
if command -v npm >/dev/null; then
  typescript
  inspector
  conformance
else
  skip "the TypeScript client, the Inspector and the conformance suite: npm is not installed"
fi
