#!/usr/bin/env bash
# The learning curve: the same training on a quarter, a half and all of the families, measured on families that none of them saw.
#   curve.sh BASE DATA EVAL WORK [UNSEEN]
#     UNSEEN  themes to leave out of all trainings and to measure on: names of files in families/ without ending, by comma
#     others  as for run.sh
# Each training takes as many pairs, so that what differs is the number of families. Environment: PYTHON, NICE, THREADS, LIMIT, TINY as for run.sh.
set -euo pipefail

if (($# < 4)); then
  sed -n '2,6s/^# \{0,1\}//p' "$0"
  exit 2
fi
base=$(realpath "$1") data=$(realpath "$2") eval=$(realpath "$3") unseen=${5:-}
work=$(mkdir -p "$4" && realpath "$4")
python=${PYTHON:-python3}
cd "$(dirname "$0")"

part=1 few=()
if [[ -n ${TINY:-} ]]; then
  part=200 few=(--family-rounds 1 --frames 300 --edits 200)
fi
n() { echo "$(($1 / part))"; }
step() { nice -n "${NICE:-19}" "$python" -m "ergo_nli.$1" "${@:2}"; }
train() { [[ -e $1 ]] || step train "$1" --base "$base" --threads "${THREADS:-1}" --max-seconds "${LIMIT:-1000000}" "${@:2}"; }

themes=$(cd families && printf '%s\n' *.txt | sed 's/\.txt$//' | grep -vxF -e "${unseen//,/$'\n'}" | paste -sd,)
made=()
for share in 25 50 100; do
  rows=$work/families$share
  [[ -e $rows/counts.json ]] || step generate "$rows" --families families --data "$data" --eval "$eval" --themes "$themes" --share "$share" "${few[@]}"
  train "$work/public.safetensors" --data "$rows/public.jsonl:$(n 14000)n" --lr 1.2e-4 --lr-end 4e-5
  train "$work/of$share.safetensors" --init "$work/public.safetensors" --lr 1.5e-4 --lr-end 2e-6 --longest 90 --data \
    "$rows/families.jsonl:$(n 24000)n" "$rows/frames.jsonl:$(n 4000)n" "$rows/edits.jsonl:$(n 4000)n" "$rows/neighbours.jsonl:$(n 6000)n"
  made+=("$work/of$share.safetensors")
done
step heldout "${made[@]}" --base "$base" --families families --replay "$work/families100/calibration_neighbours.jsonl" \
  --claims "$(n 2000)" --unseen "$unseen"
[[ -n ${TINY:-} ]] || step evaluate "${made[@]}" --base "$base" --eval "$eval" --cosine 0.4
