"""Builds pools of near but harmless pairs to mine in: python -m ergo_nli.pool OUT --base DIR --families DIR --rules FILE --eval DIR

* families: each sentence with its nearest sentences of other families (cosine of the base model) -> neutral; two families may speak of one
  decision;
* rules: each rule with its nearest rules of the same repository and of others -> neutral and another decision, or "not contradiction" where the
  two are so close that one may restate the other.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator

import numpy as np
import torch

from . import rows as R
from .generate.families import read_families
from .generate.surface import Surface
from .model import Ids, embed, load

NEAREST = 6
SAME = 0.93
"""Pairs above this cosine are left out: often one sentence written twice, with a value changed."""


def nearest(vectors: np.ndarray, groups: np.ndarray, within: bool) -> Iterator[tuple[int, int, float]]:
    """(i, j, cosine) of the nearest sentences within the own group, or outside it."""
    for start in range(0, len(vectors), 512):
        cosine = vectors[start : start + 512] @ vectors.T
        same = groups[start : start + 512, None] == groups[None, :]
        cosine[same != within] = -1
        for k, row in enumerate(cosine):
            i = start + k
            for j in np.argpartition(-row, min(NEAREST + 1, len(row) - 1))[: NEAREST + 1]:
                if i != j and 0 < row[j] < SAME:
                    yield i, int(j), float(row[j])


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("out")
    ap.add_argument("--base", required=True)
    ap.add_argument("--families", required=True)
    ap.add_argument("--rules", required=True, help="rules.jsonl of the generate step")
    ap.add_argument("--eval", required=True)
    ap.add_argument("--judge", action="store_true", help="of the families kept apart for the judge")
    ap.add_argument("--most", type=int, default=10**9, help="sentences of families, and of rules, at most")
    ap.add_argument("--seed", type=int, default=1)
    args = ap.parse_args()
    torch.set_num_threads(1)
    s = Surface(random.Random(args.seed))
    ids, encoder = Ids(args.base), load(f"{args.base}/model.safetensors")

    texts, groups = [], []
    for number, family in enumerate(f for f in read_families(args.families) if f.for_judge == args.judge):
        component = s.component()
        for text in family.same + family.against + family.within + family.beside:
            texts.append(s.fill(text, component))
            groups.append(number)
    texts, groups = texts[: args.most], groups[: args.most]
    found: dict[tuple[str, str], dict] = {}
    for i, j, _ in nearest(embed(encoder, ids, texts), np.array(groups), within=False):
        a, b = sorted((texts[i], texts[j]))
        found[a, b] = {"a": a, "b": b, "y": R.NEUTRAL, "src": "near.family"}

    rules = list(R.read(args.rules))[: args.most]
    texts = [r["text"] for r in rules]
    units = {u: n for n, u in enumerate(sorted({r["unit"] for r in rules}))}
    groups = np.array([units[r["unit"]] for r in rules])
    vectors = embed(encoder, ids, texts)
    for within in (True, False):
        for i, j, cosine in nearest(vectors, groups, within):
            a, b = sorted((texts[i], texts[j]))
            row = {"a": a, "b": b, "y": R.NEUTRAL if cosine < R.CLOSE else R.NOT_CONTRADICTION, "src": "near.rule"}
            found[a, b] = row | ({"same": False} if cosine < R.CLOSE else {})
    kept, leaked = R.drop_leaks(found.values(), R.eval_sentences(args.eval))
    s.rng.shuffle(kept)
    print(f"{args.out}: {R.write(args.out, kept)} pairs, {leaked} dropped as leaks")


if __name__ == "__main__":
    main()
