"""Old against new on unseen subjects: python -m ergo_nli.heldout CHECKPOINT... --base DIR --families DIR --replay FILE [--fresh THEME,...]

Pairs come from the families kept apart for the judge, which no training has seen, told apart by theme: those of --fresh and the
others; and from any families of --unseen, themes that were written after the training. The threshold is chosen for each checkpoint on real neighbouring rules of repositories that are not trained on either
(calibration_neighbours.jsonl of the generate step): at most --per-mille of 1,000 rules may have a pair above it.
Printed: recall of the contradictions at that threshold, how many harmless pairs of the families it lets through, and the AUC; and that of the
gate, for what speaks of the same decision against what stands beside it.
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
from .gate import scores
from .generate.families import Family, read_families
from .generate.surface import Surface
from .model import Ids, both_ways, load

PAIRS = 4
"""Pairs of each kind that one family gives at most."""


def pairs(families: list[Family], s: Surface) -> list[tuple[str, str, bool, bool | None]]:
    """(one, other, whether they contradict, whether they speak of the same decision if that is known) for each family, in plain wording."""
    found = []
    for family in families:
        component = s.component()

        def some(ones: list[str], others: list[str], against: bool, same: bool | None) -> None:
            every = [(a, b) for a, b in product(ones, others) if a != b]
            for a, b in s.rng.sample(every, min(PAIRS, len(every))):
                found.append((s.fill(a, component), s.fill(b, component), against, same))

        some(family.same, family.against, True, True)
        some(family.same, family.within, False, True)
        some(family.same, family.beside, False, False if family.within else None)
        some(family.same, family.same, False, True)
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
    ap.add_argument("--unseen", default="", help="themes of which no family was trained on")
    ap.add_argument("--most", type=int, default=250, help="families of each group, drawn at random")
    ap.add_argument("--per-mille", type=float, nargs="+", default=[1.0, 2.0])
    ap.add_argument("--seed", type=int, default=1)
    args = ap.parse_args()
    torch.set_num_threads(1)
    s = Surface(random.Random(args.seed))
    fresh, unseen = set(args.fresh.split(",")), set(args.unseen.split(","))
    everything = read_families(args.families)
    judge = [f for f in everything if f.for_judge and f.theme not in unseen]
    chosen = {"fresh": [f for f in judge if f.theme in fresh], "other": [f for f in judge if f.theme not in fresh],
              "unseen": [f for f in everything if f.theme in unseen]}
    groups = {name: pairs(s.rng.sample(of, min(args.most, len(of))), s) for name, of in chosen.items()}
    neighbours, owner = replay(args.replay, args.claims, s.rng)
    rules = int(owner.max()) + 1
    ids = Ids(args.base)
    print(f"{rules} rules, {len(neighbours)} neighbour pairs, {len(judge)} families kept apart", flush=True)
    for path in args.checkpoints:
        model = load(path)
        best = np.full(rules, -np.inf)
        np.maximum.at(best, owner, both_ways(model, ids, neighbours, TOP))
        thresholds = [float(np.sort(best)[::-1][int(rules * per_mille / 1000)]) for per_mille in args.per_mille]
        print(f"{path}: thresholds " + ", ".join(f"{t:.2f} at {n:g} in 1,000" for t, n in zip(thresholds, args.per_mille)), flush=True)
        for name, found in groups.items():
            if not found:
                continue
            y = np.array([pair[2] for pair in found])
            told = np.array([pair[3] is not None for pair in found])
            same = np.array([bool(pair[3]) for pair in found])
            of = scores(model, ids, [pair[:2] for pair in found])
            z, gate = of["margin"], of["gate"]
            at = ", ".join(f"{(z[y] > t).mean():.3f}" for t in thresholds)
            false = ", ".join(f"{1000 * (z[~y] > t).mean():.1f}" for t in thresholds)
            print(f"  {name}: recall {at} of {y.sum()}, {false} of 1,000 harmless pairs, AUC {auc(z, y):.3f}, of the gate {auc(gate[told], same[told]):.3f}",
                  flush=True)


if __name__ == "__main__":
    main()
