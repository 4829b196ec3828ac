#!/usr/bin/env bash
# Goes on from a finished model when families were added: the shipped file was made so. See README.md.
#   continue.sh FROM.gguf THEMES BASE DATA EVAL WORK
#     FROM    the model to go on from
#     THEMES  the new families: names of files without ending, by comma
#     others  as for run.sh
# A round on the new themes beside all others; one on what the average of both (a third the beginning) gets wrong, most of it real rules that stand near
# each other; then the average of beginning and end, and the gate's row fitted anew on it. By itself the last round knows more, and is too sure of it.
# Environment: PYTHON, NICE, THREADS, LIMIT, TINY as for run.sh; SHARE: parts of the end to one of the beginning in the average, 1.
set -euo pipefail

if (($# < 6)); then
  sed -n '2,10s/^# \{0,1\}//p' "$0"
  exit 2
fi
from=$(realpath "$1") themes=$2 base=$(realpath "$3") data=$(realpath "$4") eval=$(realpath "$5")
work=$(mkdir -p "$6" && realpath "$6")
python=${PYTHON:-python3} threads=${THREADS:-1} limit=${LIMIT:-1000000} share=${SHARE:-1}
cd "$(dirname "$0")"

part=1 few=()
if [[ -n ${TINY:-} ]]; then
  part=200 few=(--family-rounds 1 --frames 300 --edits 200)
fi
n() { echo "$(($1 / part))"; }
step() { nice -n "${NICE:-19}" "$python" -m "ergo_nli.$1" "${@:2}"; }
average() { [[ -e $1 ]] || step soup "$@"; }

crates=()
if [[ -d ${REGISTRY:-$HOME/.cargo/registry/src} ]]; then
  [[ -e $work/crates.jsonl ]] || step crates "$work/crates.jsonl" --registry "${REGISTRY:-$HOME/.cargo/registry/src}"
  crates=(--crates "$work/crates.jsonl")
fi
generate() {
  [[ -e $1/counts.json ]] || step generate "$1" --families families --data "$data" --eval "$eval" "${crates[@]}" "${few[@]}" "${@:2}"
}
train() { # OUT INIT OPTION...
  [[ -e $1 ]] || step train "$1" --base "$base" --init "$2" --threads "$threads" --lr-end 2e-6 --warm-up 30 --longest 90 --max-seconds "$limit" "${@:3}"
}
mine() { # OUT OPTION...
  [[ -e $1 ]] || step mine "$work/middle.safetensors" "$1" --base "$base" --seed 5 "${@:2}"
}

[[ -e $work/begin.safetensors ]] || step check "$from" "$work/begin.safetensors"
generate "$work/all"
generate "$work/new" --themes "$themes" --seed 11
generate "$work/again" --seed 23
if [[ ! -e $work/pool_rules.jsonl ]]; then
  step pool "$work/pool.jsonl" --most "$(n 60000)" --base "$base" --families families --rules "$work/all/rules.jsonl" --eval "$eval"
  grep '"near.rule"' "$work/pool.jsonl" > "$work/pool_rules.jsonl"
fi

train "$work/one.safetensors" "$work/begin.safetensors" --lr 1.2e-4 --data "$work/new/families.jsonl:$(n 26000)n" \
  "$work/all/families.jsonl:$(n 9000)n" "$work/all/frames.jsonl:$(n 3000)n" "$work/all/edits.jsonl:$(n 3000)n" "$work/all/neighbours.jsonl:$(n 8815)n"
average "$work/middle.safetensors" "$work/begin.safetensors:1" "$work/one.safetensors:2"
mine "$work/hard-rules.jsonl" --keep "$(n 1500)" --false "$(n 4000)" --pool "$work/pool_rules.jsonl:$(n 16000)"
mine "$work/hard-families.jsonl" --keep "$(n 2000)" --false "$(n 1200)" --pool "$work/new/families.jsonl:$(n 6000)" \
  "$work/again/families.jsonl:$(n 3000)" "$work/all/frames.jsonl:$(n 1200)" "$work/all/edits.jsonl:$(n 1200)"
train "$work/two.safetensors" "$work/middle.safetensors" --lr 1e-4 --seed 2 --data "$work/hard-rules.jsonl" "$work/hard-families.jsonl" \
  "$work/new/families.jsonl:$(n 14000)n" "$work/again/families.jsonl:$(n 8000)n" "$work/again/frames.jsonl:$(n 1500)n" \
  "$work/again/edits.jsonl:$(n 1500)n" "$work/again/neighbours.jsonl:$(n 3000)n"
average "$work/average.safetensors" "$work/begin.safetensors:1" "$work/two.safetensors:$share"
[[ -e $work/end.safetensors ]] || step head "$work/average.safetensors" "$work/end.safetensors" --base "$base" \
  --data "$work/new/families.jsonl:$(n 7000)n" "$work/pool_rules.jsonl:$(n 4000)n"

step heldout "$work/begin.safetensors" "$work/end.safetensors" --base "$base" --families families --replay "$work/all/calibration_neighbours.jsonl" \
  --claims "$(n 2000)" --fresh "$themes"
[[ -n ${TINY:-} ]] || step gate "$work/end.safetensors" --base "$base" --eval "$eval" --calibration "$work/all/calibration.jsonl"
step convert "$work/end.safetensors" "$work/ergo-nli-minilm-q8_0.gguf" --base "$base"
step check "$work/ergo-nli-minilm-q8_0.gguf" "$work/read-back.safetensors" --against "$work/end.safetensors" --base "$base"
