"""Fits the gate alone, the fourth output, on a model that is otherwise left as it is: python -m ergo_nli.head CHECKPOINT OUT --base DIR --data rows.jsonl[:share] ...

For averages of checkpoints, of which one had no gate. The row is a logistic regression on the pooled state, on the rows that say whether both
sides speak of the same decision; half of the weight goes to those that do.
"""

from __future__ import annotations

import argparse
import random

import numpy as np
import torch

from . import rows as R
from .evaluate import auc
from .model import Ids, load, pooled, save
from .train import take

RIDGE = 1e-3
"""Penalty of the squared weights, as a share of the mean loss."""
STEPS = 30
APART = 10
"""One row of so many is not fitted on, to measure."""


def fit(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Weights of a logistic regression, the bias last, by Newton's method."""
    x = np.hstack([x, np.ones((len(x), 1))])
    w = w / w.sum()
    beta = np.zeros(x.shape[1])
    ridge = np.full(x.shape[1], RIDGE)
    ridge[-1] = 0
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-(x @ beta)))
        gradient = x.T @ (w * (p - y)) + ridge * beta
        hessian = (x * (w * p * (1 - p))[:, None]).T @ x + np.diag(ridge + 1e-9)
        step = np.linalg.solve(hessian, gradient)
        beta -= step
        if np.abs(step).max() < 1e-6:
            break
    return beta


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("checkpoint")
    ap.add_argument("out")
    ap.add_argument("--base", required=True)
    ap.add_argument("--data", nargs="+", required=True, help="row files, as for ergo_nli.train; rows that say nothing of the decision are left out")
    ap.add_argument("--seed", type=int, default=1)
    args = ap.parse_args()
    torch.set_num_threads(1)
    rng = random.Random(args.seed)
    data = [r for spec in args.data for r in take(spec, rng) if r.get("same") is not None]
    rng.shuffle(data)
    model = load(args.checkpoint)
    x = pooled(model, Ids(args.base), [(r["a"], r["b"]) for r in data]).astype(np.float64)
    y = np.array([bool(r["same"]) for r in data])
    w = np.array([r.get("w", 1.0) for r in data]) * np.where(y, 1 / y.sum(), 1 / (~y).sum())
    apart = np.arange(len(data)) % APART == 0
    beta = fit(x[~apart], y[~apart], w[~apart])
    z = x @ beta[:-1] + beta[-1]
    print(f"{len(data)} rows, {y.sum()} of the same decision; AUC {auc(z[~apart], y[~apart]):.3f}, on rows not fitted on {auc(z[apart], y[apart]):.3f}")
    state = model.state_dict()
    state["cls.weight"][R.GATE] = torch.tensor(beta[:-1])
    state["cls.bias"][R.GATE] = float(beta[-1])
    save(state, args.out)


if __name__ == "__main__":
    main()
