#!/usr/bin/env bash
# From data to GGUF: generate, pretrain, train, mine and train again, measure, convert. See README.md.
#   run.sh BASE DATA EVAL WORK [ROUNDS]
#     BASE    folder with model.safetensors, tokenizer.json, vocab.txt of all-MiniLM-L6-v2
#     DATA    folder with extra_rules, neighbour_neutrals and public_train (.jsonl.gz)
#     EVAL    evaluation folder: measured on, never trained on
#     WORK    everything is written here; steps whose result is there are skipped
#     ROUNDS  rounds of mining, default 2
# Environment: PYTHON (default python3), NICE (default 19), THREADS (0: two while the machine is idle), LIMIT (seconds a training
# step may take; its schedule is shortened to fit), NLI_PAUSE (a file; work sleeps while it exists, and that time does not count),
# TINY (1: each step takes a few rows, to see that all of it runs; the model is worthless and is not measured).
set -euo pipefail

if (($# < 4)); then
  sed -n '2,12s/^# \{0,1\}//p' "$0"
  exit 2
fi
base=$(realpath "$1") data=$(realpath "$2") eval=$(realpath "$3") rounds=${5:-2}
work=$(mkdir -p "$4" && realpath "$4")
python=${PYTHON:-python3} threads=${THREADS:-0} limit=${LIMIT:-1000000}
cd "$(dirname "$0")"

part=1 few=()
if [[ -n ${TINY:-} ]]; then
  part=200 few=(--family-rounds 1 --frames 300 --edits 200)
fi
n() { echo "$(($1 / part))"; } # so many rows; in a tiny run a small part of them

step() { nice -n "${NICE:-19}" "$python" -m "ergo_nli.$1" "${@:2}"; }
train() {
  local out=$1
  shift
  [[ -e $out ]] || step train "$out" --base "$base" --threads "$threads" --max-seconds "$limit" "$@"
}

crates=()
if [[ -d ${REGISTRY:-$HOME/.cargo/registry/src} ]]; then
  [[ -e $work/crates.jsonl ]] || step crates "$work/crates.jsonl" --registry "${REGISTRY:-$HOME/.cargo/registry/src}"
  crates=(--crates "$work/crates.jsonl")
fi
generate() { step generate "$1" --families families --data "$data" --eval "$eval" "${crates[@]}" "${few[@]}" "${@:2}"; }

made=$work/generated
if [[ ! -e $made/counts.json ]]; then
  generate "$made"
fi
if [[ ! -e $work/pool.jsonl ]]; then
  step pool "$work/pool.jsonl" --most "$(n 100000)" --base "$base" --families families --rules "$made/rules.jsonl" --eval "$eval"
  step pool "$made/judge_neighbours.jsonl" --most "$(n 100000)" --judge --base "$base" --families families --rules "$made/judge_rules.jsonl" --eval "$eval"
fi

# Plain sentence pairs first, the domain afterwards.
train "$work/public.safetensors" --data "$made/public.jsonl:$(n 14000)n" --lr 1.2e-4 --lr-end 4e-5
train "$work/round0.safetensors" --init "$work/public.safetensors" --lr 1.5e-4 --lr-end 2e-5 --longest 90 --data \
  "$made/families.jsonl:$(n 36000)n" "$made/frames.jsonl:$(n 8000)n" "$made/edits.jsonl:$(n 8000)n" "$made/neighbours.jsonl:$(n 6000)n"

last=$work/round0.safetensors
for ((round = 1; round <= rounds; round++)); do
  next=$work/round$round.safetensors
  fresh=$work/generated$round
  if [[ ! -e $next ]]; then
    generate "$fresh" --seed $((round + 1))
    step mine "$last" "$work/hard$round.jsonl" --base "$base" --seed "$round" --keep "$(n 3500)" --false "$(n 3500)" --pool \
      "$work/pool.jsonl:$(n 16000)" "$fresh/families.jsonl:$(n 16000)" "$fresh/frames.jsonl:$(n 2500)" "$fresh/edits.jsonl:$(n 4000)"
    train "$next" --init "$last" --lr 1.2e-4 --lr-end 2e-6 --longest 90 --seed "$round" --data \
      "$work"/hard*.jsonl "$fresh/families.jsonl:$(n 20000)n" "$fresh/frames.jsonl:$(n 4000)n" "$fresh/edits.jsonl:$(n 2500)n"
  fi
  last=$next
done

step heldout "$work"/round*.safetensors --base "$base" --families families --replay "$made/calibration_neighbours.jsonl" --claims "$(n 2000)"
[[ -n ${TINY:-} ]] || step evaluate "$work"/round*.safetensors --base "$base" --eval "$eval" --cosine 0.4 --json "$work/figures.json"
step convert "$last" "$work/ergo-nli-minilm-q8_0.gguf" --base "$base"
step check "$work/ergo-nli-minilm-q8_0.gguf" "$work/read-back.safetensors" --against "$last" --base "$base"
