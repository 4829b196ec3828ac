"""What the judge is fitted on: python -m ergo_nli.judge GENERATED OUT [--pairs N] [--sentences N] [--seed N]

Takes a random part of judge_pairs.jsonl (pairs of families that no cross-encoder was trained on), and whole units, chosen at random, of
calibration.jsonl. Writes pairs.jsonl, and the sentences of repositories and of crates apart, since the threshold must hold for both:
replay_repositories.jsonl and replay_crates.jsonl.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from pathlib import Path

from . import rows as R

FEWEST = 4
"""Units with fewer sentences say nothing of neighbours."""


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("generated", type=Path)
    ap.add_argument("out", type=Path)
    ap.add_argument("--pairs", type=int, default=2600)
    ap.add_argument("--sentences", type=int, default=5200)
    ap.add_argument("--seed", type=int, default=7)
    args = ap.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    rng = random.Random(args.seed)

    by_unit: dict[str, list[dict]] = defaultdict(list)
    for row in R.read(args.generated / "calibration.jsonl"):
        by_unit[row["unit"]].append({"unit": row["unit"], "text": row["text"]})
    units = sorted(by_unit)
    rng.shuffle(units)
    chosen: list[dict] = []
    for unit in units:
        if len(chosen) >= args.sentences:
            break
        if len(by_unit[unit]) >= FEWEST:
            chosen += by_unit[unit]
    crates = {row["unit"] for row in R.read(args.generated / "judge_rules.jsonl")}
    for name, of_crates in (("repositories", False), ("crates", True)):
        count = R.write(args.out / f"replay_{name}.jsonl", (r for r in chosen if (r["unit"] in crates) == of_crates))
        print(f"replay_{name}: {count} sentences")

    pairs = list(R.read(args.generated / "judge_pairs.jsonl"))
    rng.shuffle(pairs)
    kept = ({key: row[key] for key in ("a", "b", "label", "kind")} for row in pairs[: args.pairs])
    print(f"pairs: {R.write(args.out / 'pairs.jsonl', kept)}")


if __name__ == "__main__":
    main()
