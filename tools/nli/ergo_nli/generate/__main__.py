"""Writes OUT/families.jsonl, frames.jsonl, edits.jsonl, public.jsonl, neighbours.jsonl and counts.json to train on; and, never
trained on, judge_pairs.jsonl (pairs of families and crates kept apart), judge_rules.jsonl (those crates), calibration.jsonl (to replay)
and calibration_neighbours.jsonl (near pairs of rules whose licence is not cleared).

python -m ergo_nli.generate OUT --families DIR --data DIR --eval DIR [--crates FILE] [--seed N]
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


CRATES_APART = 55
"""Per cent of the crates whose sentences are kept for the replay."""


def judged(row: dict) -> dict:
    """The row as the judge's fitting reads it: ``label`` (contradiction or harmless) and ``kind``."""
    return {**row, "label": "contradiction" if row["y"] == R.CONTRADICTION else "harmless", "kind": row["src"]}


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("out")
    ap.add_argument("--families", required=True)
    ap.add_argument("--data", required=True, help="folder with extra_rules, neighbour_neutrals and public_train (.jsonl.gz)")
    ap.add_argument("--eval", required=True, help="folder whose sentences must not be trained on")
    ap.add_argument("--crates", help="sentences of crates (ergo_nli.crates): half of the crates to train on, half for the replay")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--themes", help="families of these files only, for training: names without ending, by comma")
    ap.add_argument("--share", type=int, default=100, help="per cent of the families to train on, for a learning curve")
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

    everything = families.read_families(args.families)
    themes = args.themes.split(",") if args.themes else None
    train = [f for f in everything if not f.for_judge and (themes is None or f.theme in themes)]
    train = [f for f in train if R.apart(f"share {f.same[0]}", args.share)]
    judge = [f for f in everything if f.for_judge]
    counts["families"] = {"trained_on": len(train), "for_the_judge": len(judge)}
    finish("families", families.rows(train, s, args.family_rounds))
    finish("frames", frames.rows(s, args.frames))

    rules = [r for r in R.read(data / "extra_rules.jsonl.gz") if R.normal(r["text"]) not in held_out]
    crates = [r for r in R.read(args.crates) if R.normal(r["text"]) not in held_out] if args.crates else []
    cleared = [r for r in rules if r["unit"] in licences.CLEARED_REPOSITORIES]
    uncleared = [r for r in rules if r["unit"] not in licences.CLEARED_REPOSITORIES]
    apart = [r for r in crates if R.apart(r["unit"], CRATES_APART)]
    trained = [*cleared, *(r for r in crates if not R.apart(r["unit"], CRATES_APART))]
    R.write(out / "rules.jsonl", trained)
    R.write(out / "calibration.jsonl", [*uncleared, *apart])
    R.write(out / "judge_rules.jsonl", apart)
    counts["rules"] = {"cleared": len(cleared), "of_crates": len(trained) - len(cleared), "not_cleared": len(uncleared),
                       "of_crates_kept_apart": len(apart)}
    by_unit: dict[str, list[str]] = defaultdict(list)
    for r in trained:
        by_unit[r["unit"]].append(r["text"])
    edited = edits.Edits([r["text"] for r in trained], s).rows(args.edits)
    finish("edits", [*edited, *edits.strangers(by_unit, s, args.edits // 8)])

    edited_apart = edits.Edits([r["text"] for r in apart], s).rows(700) if apart else []
    finish("judge_pairs", map(judged, [*families.rows(judge, s, 8), *edited_apart]))

    known = {r["text"] for r in cleared}
    near = list(R.read(data / "neighbour_neutrals.jsonl.gz"))
    # Real rules that stand near each other are hardly ever one decision, unless they are nearly one sentence.
    kept = [r | ({"same": False} if r["cos"] < R.CLOSE else {}) for r in near if r["a"] in known and r["b"] in known]
    uncleared_near = [r for r in near if r["a"] not in known and r["b"] not in known]
    R.write(out / "calibration_neighbours.jsonl", R.drop_leaks(uncleared_near, held_out)[0])
    counts["neighbours_without_cleared_licence"] = len(near) - len(kept)
    finish("neighbours", kept)

    public = list(R.read(data / "public_train.jsonl.gz"))
    kept = [r for r in public if licences.public_source(r["src"]) in licences.CLEARED_PUBLIC]
    counts["public_without_cleared_licence"] = len(public) - len(kept)
    finish("public", kept)
    (out / "counts.json").write_text(json.dumps(counts, indent=1) + "\n")


if __name__ == "__main__":
    main()
