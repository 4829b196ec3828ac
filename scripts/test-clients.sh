#!/usr/bin/env bash
# Flows with other programs' clients against ergo. Says what it skips, and why.
set -euo pipefail
echo "skipped: other programs speak to ergo over MCP, which this version does not have yet"
