#!/usr/bin/env bash
# Fits the guard's judge to a cross-encoder, in the form of assets/judge.toml, whose thresholds were set by hand: copy what you want
# to keep. See bench/guard-quality.md.
#   judge.sh GENERATED WORK [OPTION...]
#     GENERATED  what `ergo_nli.generate` wrote: judge_pairs, judge_rules, calibration (.jsonl); run.sh leaves it in WORK/generated
#     WORK       everything is written here, the judge to judge.toml; the models' answers are cached in answers.jsonl, so that a second fit takes seconds
#     OPTION     for `ergo-bench guard`: --nli FILE where it is not the one that ships, --llm FILE to fit the deep stage too
# Environment: PYTHON (default python3), ERGO_BENCH (default ergo-bench).
set -euo pipefail

if (($# < 2)); then
  sed -n '2,8s/^# \{0,1\}//p' "$0"
  exit 2
fi
generated=$(realpath "$1") work=$(mkdir -p "$2" && realpath "$2")
shift 2
here=$(cd "$(dirname "$0")" && pwd)
(cd "$here" && "${PYTHON:-python3}" -m ergo_nli.judge "$generated" "$work")
# The limits are in the order of the files of --replay: false refusals per 1,000 sentences of repositories, and of crates.
"${ERGO_BENCH:-ergo-bench}" guard --fit "$work/pairs.jsonl" --replay "$work/replay_repositories.jsonl" "$work/replay_crates.jsonl" \
  --per-1000 2.5 7 --rules-per-1000 5 12 \
  --cache "$work/answers.jsonl" --examples "$work/examples.jsonl" --out "$work/judge.toml" "$@"
