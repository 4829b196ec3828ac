"""Writes OUT/families.jsonl, frames.jsonl, edits.jsonl, public.jsonl, neighbours.jsonl and counts.json.

python -m ergo_nli.generate OUT --families DIR --data DIR --eval DIR [--seed N]
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from .. import licences, rows as R
from . import edits, families, frames
from .surface import Surface


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("out")
    ap.add_argument("--families", required=True)
    ap.add_argument("--data", required=True, help="folder with extra_rules, neighbour_neutrals and public_train (.jsonl.gz)")
    ap.add_argument("--eval", required=True, help="folder whose sentences must not be trained on")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--family-rounds", type=int, default=12)
    ap.add_argument("--frames", type=int, default=16000)
    ap.add_argument("--edits", type=int, default=12000)
    args = ap.parse_args()
    out, data = Path(args.out), Path(args.data)
    out.mkdir(parents=True, exist_ok=True)
    held_out = R.eval_sentences(args.eval)
    s = Surface(random.Random(args.seed))
    counts: dict = {"held_out_sentences": len(held_out), "files": {}}

    def finish(name: str, made: Iterable[dict]) -> None:
        unique = list({(r["a"], r["b"]): r for r in made}.values())
        kept, leaked = R.drop_leaks(unique, held_out)
        s.rng.shuffle(kept)
        R.write(out / f"{name}.jsonl", kept)
        by = Counter(f"{r['src']} {r['y']}" for r in kept)
        counts["files"][name] = {"rows": len(kept), "dropped_as_leak": leaked, "by_source_and_label": dict(sorted(by.items()))}
        print(f"{name}: {len(kept)} rows, {leaked} dropped because a side stands in the evaluation data")

    finish("families", families.rows(families.read_families(args.families), s, args.family_rounds))
    finish("frames", frames.rows(s, args.frames))

    rules = list(R.read(data / "extra_rules.jsonl.gz"))
    cleared = [r for r in rules if r["unit"] in licences.CLEARED_REPOSITORIES and R.normal(r["text"]) not in held_out]
    counts["rules"] = {"all": len(rules), "cleared_and_not_in_eval": len(cleared)}
    R.write(out / "rules.jsonl", cleared)
    calibration = [r for r in rules if r["unit"] not in licences.CLEARED_REPOSITORIES and R.normal(r["text"]) not in held_out]
    R.write(out / "calibration.jsonl", calibration)
    counts["rules"]["calibration_only"] = len(calibration)
    by_unit: dict[str, list[str]] = defaultdict(list)
    for r in cleared:
        by_unit[r["unit"]].append(r["text"])
    edited = edits.Edits([r["text"] for r in cleared], s).rows(args.edits)
    finish("edits", [*edited, *edits.strangers(by_unit, s, args.edits // 8)])

    known = {r["text"] for r in cleared}
    near = list(R.read(data / "neighbour_neutrals.jsonl.gz"))
    kept = [r for r in near if r["a"] in known and r["b"] in known]
    counts["neighbours_without_cleared_licence"] = len(near) - len(kept)
    finish("neighbours", kept)

    public = list(R.read(data / "public_train.jsonl.gz"))
    kept = [r for r in public if licences.public_source(r["src"]) in licences.CLEARED_PUBLIC]
    counts["public_without_cleared_licence"] = len(public) - len(kept)
    finish("public", kept)
    (out / "counts.json").write_text(json.dumps(counts, indent=1) + "\n")


if __name__ == "__main__":
    main()
