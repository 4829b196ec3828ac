"""Keeps what a checkpoint gets wrong: python -m ergo_nli.mine CHECKPOINT OUT --base DIR --pool rows.jsonl... [--keep N] [--false N]

Two kinds of rows are written: the harmless pairs with the highest contradiction margin (they set the false-block rate), and the
rows of any label with the highest loss. The order in which the model read a pair is kept, and the other order is added.
"""

from __future__ import annotations

import argparse
import random

import numpy as np
import torch

from . import rows as R
from .model import Ids, load, logits, margin
from .train import GATE_WEIGHT

SUSPECT = 6.0
"""A harmless pair of real rules above this margin is left out: at the very top stand true clashes."""


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("checkpoint")
    ap.add_argument("out")
    ap.add_argument("--base", required=True)
    ap.add_argument("--pool", nargs="+", required=True, help="row files; file:N scores N of its rows")
    ap.add_argument("--keep", type=int, default=3000, help="rows of highest loss")
    ap.add_argument("--false", type=int, default=3000, help="harmless pairs of highest margin")
    ap.add_argument("--threads", type=int, default=1)
    ap.add_argument("--seed", type=int, default=1)
    args = ap.parse_args()
    torch.set_num_threads(args.threads)
    rng = random.Random(args.seed)
    pool: list[dict] = []
    for spec in args.pool:
        path, _, count = spec.partition(":")
        found = list(R.read(path))
        rng.shuffle(found)
        pool += found[: int(count)] if count else found
    z = logits(load(args.checkpoint), Ids(args.base), [(r["a"], r["b"]) for r in pool])
    z, gate = z[:, : R.GATE], z[:, R.GATE]
    log_p = z - np.logaddexp.reduce(z, axis=1, keepdims=True)
    allowed = np.array(R.ALLOWED, bool)[[r["y"] for r in pool]]
    loss = -np.logaddexp.reduce(np.where(allowed, log_p, -1e9), axis=1)
    signs = np.array([0 if r.get("same") is None else 1 if r["same"] else -1 for r in pool])
    loss += np.where(signs, GATE_WEIGHT * np.logaddexp(0, -signs * gate), 0)
    m = margin(z)
    harmless = np.array([r["y"] in (R.NEUTRAL, R.ENTAILMENT, R.NOT_CONTRADICTION) for r in pool])
    suspect = np.array([r["src"].startswith("near") for r in pool]) & (m > SUSPECT)

    order = [i for i in np.argsort(-m) if harmless[i] and not suspect[i]][: args.false]
    chosen = dict.fromkeys(order)
    chosen.update(dict.fromkeys([i for i in np.argsort(-loss) if not suspect[i]][: args.keep]))
    out = []
    for i in chosen:
        r = pool[i]
        out += [{**r, "src": "hard." + r["src"]}, {**r, "a": r["b"], "b": r["a"], "src": "hard." + r["src"]}]
    rng.shuffle(out)
    print(f"{args.out}: {R.write(args.out, out)} rows of {len(pool)} pairs; {int(suspect.sum())} suspects left out; "
          f"margin of the {len(order)}th harmless pair {m[order[-1]]:.2f}; loss > 0.7 in {100 * float((loss > 0.7).mean()):.1f} %")


if __name__ == "__main__":
    main()
