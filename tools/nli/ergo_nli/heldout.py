"""Old against new on unseen subjects: python -m ergo_nli.heldout CHECKPOINT... --base DIR --families DIR --replay FILE [--fresh THEME,...]

Pairs come from the families kept apart for the judge, which no training has seen, told apart by theme: those of --fresh and the
others. The threshold is chosen for each checkpoint on real neighbouring rules of repositories that are not trained on either
(calibration_neighbours.jsonl of the generate step): at most --per-mille of 1,000 rules may have a pair above it.
Printed: recall of the contradictions at that threshold, how many harmless pairs of the families it lets through, and the AUC.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from itertools import product

import numpy as np
import torch

from . import rows as R
from .evaluate import TOP, auc
from .generate.families import Family, read_families
from .generate.surface import Surface
from .model import Ids, both_ways, load

PAIRS = 4
"""Pairs of each kind that one family gives at most."""


def pairs(families: list[Family], s: Surface) -> list[tuple[str, str, bool]]:
    """(one, other, whether they contradict) for each family, in plain wording."""
    found = []
    for family in families:
        component = s.component()

        def some(ones: list[str], others: list[str], against: bool) -> None:
            every = [(a, b) for a, b in product(ones, others) if a != b]
            for a, b in s.rng.sample(every, min(PAIRS, len(every))):
                found.append((s.fill(a, component), s.fill(b, component), against))

        some(family.same, family.against, True)
        some(family.same, family.within, False)
        some(family.same, family.beside, False)
        some(family.same, family.same, False)
    return found


def replay(path: str, claims: int, rng: random.Random) -> tuple[list[tuple[str, str]], np.ndarray]:
    """Neighbour pairs of ``claims`` rules drawn at random, and the number of the rule that each belongs to."""
    by_claim: dict[str, set[str]] = defaultdict(set)
    for row in R.read(path):
        a, b = sorted((row["a"], row["b"]))
        by_claim[a].add(b)
    chosen = rng.sample(sorted(by_claim), min(claims, len(by_claim)))
    found = [(n, (a, b)) for n, a in enumerate(chosen) for b in sorted(by_claim[a])]
    return [pair for _, pair in found], np.array([n for n, _ in found])


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("checkpoints", nargs="+")
    ap.add_argument("--base", required=True)
    ap.add_argument("--families", required=True)
    ap.add_argument("--replay", required=True)
    ap.add_argument("--fresh", default="", help="themes (file names without ending, by comma) to be told apart")
    ap.add_argument("--claims", type=int, default=1500, help="rules of the replay")
    ap.add_argument("--per-mille", type=float, default=2.0)
    ap.add_argument("--seed", type=int, default=1)
    args = ap.parse_args()
    torch.set_num_threads(1)
    s = Surface(random.Random(args.seed))
    fresh = set(args.fresh.split(","))
    judge = [f for f in read_families(args.families) if f.for_judge]
    groups = {"fresh": pairs([f for f in judge if f.theme in fresh], s), "other": pairs([f for f in judge if f.theme not in fresh], s)}
    neighbours, owner = replay(args.replay, args.claims, s.rng)
    rules = int(owner.max()) + 1
    ids = Ids(args.base)
    print(f"{rules} rules, {len(neighbours)} neighbour pairs, {len(judge)} families kept apart", flush=True)
    for path in args.checkpoints:
        model = load(path)
        best = np.full(rules, -np.inf)
        np.maximum.at(best, owner, both_ways(model, ids, neighbours, TOP))
        threshold = float(np.sort(best)[::-1][int(rules * args.per_mille / 1000)])
        print(f"{path}: threshold {threshold:.2f}")
        for name, found in groups.items():
            if not found:
                continue
            y = np.array([against for *_, against in found])
            z = both_ways(model, ids, [(a, b) for a, b, _ in found])
            recall, false = (z[y] > threshold).mean(), 1000 * (z[~y] > threshold).mean()
            print(f"  {name}: recall {recall:.3f} of {y.sum()}, {false:.1f} of 1,000 harmless pairs, AUC {auc(z, y):.3f}", flush=True)


if __name__ == "__main__":
    main()
