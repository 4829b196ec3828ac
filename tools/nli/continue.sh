#!/usr/bin/env bash
# Goes on from a finished model when families were added: the shipped file was made so. See README.md.
#   continue.sh FROM.gguf THEMES BASE DATA EVAL WORK
#     FROM    the model to go on from
#     THEMES  the new families: names of files without ending, by comma
#     others  as for run.sh
# Three rounds on what the last one gets wrong, the new themes in half of each; then one that is mostly harmless neighbours, from the average of
# beginning and end. What comes out is the average of beginning and end again: by itself the last round knows more, and is too sure of it.
# Environment: PYTHON, NICE, THREADS, TINY as for run.sh.
set -euo pipefail

if (($# < 6)); then
  sed -n '2,9s/^# \{0,1\}//p' "$0"
  exit 2
fi
from=$(realpath "$1") themes=$2 base=$(realpath "$3") data=$(realpath "$4") eval=$(realpath "$5")
work=$(mkdir -p "$6" && realpath "$6")
python=${PYTHON:-python3} threads=${THREADS:-1}
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
# round LAST NEXT INIT ALL NEW POOL FALSE LR: mines with LAST, trains NEXT from INIT
round() {
  local last=$1 next=$2 init=$3 all=$4 new=$5 pool=$6 false=$7 rate=$8
  [[ -e $work/$next.safetensors ]] && return
  step mine "$work/$last.safetensors" "$work/hard-$next.jsonl" --base "$base" --seed 5 --keep "$(n 5000)" --false "$(n "$false")" --pool \
    "$work/pool.jsonl:$(n "$pool")" "$work/$all/families.jsonl:$(n 12000)" "$work/$new/families.jsonl:$(n 18000)" \
    "$work/$all/frames.jsonl:$(n 3000)" "$work/$all/edits.jsonl:$(n 3000)"
  step train "$work/$next.safetensors" --base "$base" --init "$work/$init.safetensors" --threads "$threads" --lr "$rate" --lr-end 2e-6 --warm-up 30 \
    --longest 90 --data "$work/hard-$next.jsonl" "$work/$new/families.jsonl:$(n 22000)n" "$work/$all/families.jsonl:$(n 12000)n" \
    "$work/$all/frames.jsonl:$(n 4000)n" "$work/$all/edits.jsonl:$(n 3000)n" "$work/$all/neighbours.jsonl:$(n 5000)n"
}

[[ -e $work/begin.safetensors ]] || step check "$from" "$work/begin.safetensors"
generate "$work/all"
generate "$work/new" --themes "$themes" --seed 11
generate "$work/again" --seed 23
[[ -e $work/pool.jsonl ]] || step pool "$work/pool.jsonl" --most "$(n 60000)" --base "$base" --families families --rules "$work/all/rules.jsonl" --eval "$eval"

round begin one begin all new 16000 4500 1.2e-4
round one two one again new 24000 5000 1e-4
round two three two all new 10000 4000 1.2e-4
average "$work/middle.safetensors" "$work/begin.safetensors" "$work/three.safetensors"
round three four middle again new 50000 9000 1e-4
average "$work/end.safetensors" "$work/begin.safetensors" "$work/four.safetensors"

step heldout "$work/begin.safetensors" "$work/end.safetensors" --base "$base" --families families --replay "$work/all/calibration_neighbours.jsonl" \
  --claims "$(n 2000)" --fresh "$themes"
step convert "$work/end.safetensors" "$work/ergo-nli-minilm-q8_0.gguf" --base "$base"
step check "$work/ergo-nli-minilm-q8_0.gguf" "$work/read-back.safetensors" --against "$work/end.safetensors" --base "$base"
