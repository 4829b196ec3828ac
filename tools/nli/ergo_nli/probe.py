"""What a frozen language model knows of a pair: python -m ergo_nli.probe MODEL.gguf CHECKPOINT --base DIR --families DIR --generated DIR

A trial for the deep stage, not a part of the shipped model. The hidden state of the last token, after a pair in one fixed wording, is read at a few
depths of a causal language model (transformers, weights from the GGUF file); a logistic regression over it is trained on pairs of families,
and measured on families kept apart and on harmless neighbours of real repositories. Printed: the AUC of the probe, of the cross-encoder CHECKPOINT on
the same pairs, and of both together. Needs `pip install transformers` beside the requirements.
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from . import rows as R
from .evaluate import auc
from .generate.families import read_families
from .generate.surface import Surface
from .heldout import pairs
from .model import Ids, both_ways, load

WORDING = "Two rules of one software project.\nA: {a}\nB: {b}\nQuestion: can a team follow both A and B? Answer:"
DEPTHS = (0.5, 0.67, 0.83, 1.0)
"""Where hidden states are read, as shares of the model's layers."""
RIDGES = (1e-3, 1e-2, 1e-1, 1.0)
FOLDS = 4


def arguments() -> argparse.Namespace:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("model")
    ap.add_argument("checkpoint")
    ap.add_argument("--base", required=True)
    ap.add_argument("--families", required=True)
    ap.add_argument("--generated", required=True, help="folder of the generate step: neighbours and calibration_neighbours")
    ap.add_argument("--train", type=int, default=1600, help="pairs of families, and half as many neighbours")
    ap.add_argument("--test", type=int, default=600, help="pairs of families kept apart, and as many neighbours")
    ap.add_argument("--tokens", type=int, default=1200, help="padded tokens in a batch")
    ap.add_argument("--seed", type=int, default=1)
    return ap.parse_args()


def states(path: str, found: list[tuple[str, str, bool]], tokens: int) -> np.ndarray:
    """(pair, depth, width): hidden states of the last token, one order of each pair."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    where = {"pretrained_model_name_or_path": str(Path(path).parent), "gguf_file": Path(path).name}
    tokenizer = AutoTokenizer.from_pretrained(**where)
    model = AutoModelForCausalLM.from_pretrained(**where, dtype=torch.bfloat16).eval()
    ids = [tokenizer(WORDING.format(a=a, b=b))["input_ids"] for a, b, _ in found]
    order = sorted(range(len(ids)), key=lambda at: len(ids[at]))
    out: list[np.ndarray | None] = [None] * len(ids)
    start = time.time()
    at = done = 0
    with torch.inference_mode():
        while at < len(order):
            batch = [order[at]]
            while at + len(batch) < len(order) and len(ids[order[at + len(batch)]]) * (len(batch) + 1) <= tokens:
                batch.append(order[at + len(batch)])
            longest = max(len(ids[n]) for n in batch)
            x = torch.zeros(len(batch), longest, dtype=torch.long)
            mask = torch.zeros(len(batch), longest, dtype=torch.long)
            for row, n in enumerate(batch):
                x[row, : len(ids[n])] = torch.tensor(ids[n])
                mask[row, : len(ids[n])] = 1
            hidden = model.model(input_ids=x, attention_mask=mask, output_hidden_states=True).hidden_states
            chosen = [hidden[round(share * (len(hidden) - 1))] for share in DEPTHS]
            for row, n in enumerate(batch):
                out[n] = torch.stack([h[row, len(ids[n]) - 1].float() for h in chosen]).numpy()
            at += len(batch)
            done += int(mask.sum())
            if at % 200 < len(batch):
                print(f"{at} of {len(order)} pairs, {done / (time.time() - start):.0f} tokens/s", flush=True)
    return np.stack([one for one in out if one is not None])


def regression(x: np.ndarray, y: np.ndarray, ridge: float) -> tuple[np.ndarray, float]:
    """Weights and intercept of a ridge-penalised logistic regression."""
    xs, ys = torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
    w, b = torch.zeros(xs.shape[1], requires_grad=True), torch.zeros(1, requires_grad=True)
    solver = torch.optim.LBFGS([w, b], max_iter=200, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        solver.zero_grad()
        loss = F.binary_cross_entropy_with_logits(xs @ w + b, ys) + ridge * (w * w).sum()
        loss.backward()
        return loss

    solver.step(closure)
    return w.detach().numpy(), float(b.detach())


def folds(x: np.ndarray, y: np.ndarray, ridge: float, seed: int) -> np.ndarray:
    """Scores of each row by weights that were learnt without its fold."""
    part = np.random.default_rng(seed).integers(0, FOLDS, len(y))
    out = np.zeros(len(y))
    for fold in range(FOLDS):
        w, b = regression(x[part != fold], y[part != fold], ridge)
        out[part == fold] = x[part == fold] @ w + b
    return out


def neighbours(path: Path, count: int, rng: random.Random) -> list[tuple[str, str, bool]]:
    found = [(row["a"], row["b"], False) for row in R.read(path)]
    return rng.sample(found, min(count, len(found)))


def main() -> None:
    args = arguments()
    torch.set_num_threads(1)
    rng = random.Random(args.seed)
    s = Surface(random.Random(args.seed))
    families = read_families(args.families)
    generated = Path(args.generated)
    own = [pairs([f for f in families if f.for_judge == judge], s) for judge in (False, True)]
    train = rng.sample(own[0], min(args.train, len(own[0]))) + neighbours(generated / "neighbours.jsonl", args.train // 2, rng)
    test = rng.sample(own[1], min(args.test, len(own[1]))) + neighbours(generated / "calibration_neighbours.jsonl", args.test, rng)
    found = train + test
    y = np.array([float(against) for *_, against in found])
    x = states(args.model, found, args.tokens)
    x = (x - x[: len(train)].mean(0)) / (x[: len(train)].std(0) + 1e-6)
    margin = both_ways(load(args.checkpoint), Ids(args.base), [(a, b) for a, b, _ in found])
    mine, theirs = slice(0, len(train)), slice(len(train), len(found))
    from_families = slice(len(train), len(found) - args.test)
    truth = y.astype(bool)
    print(f"cross-encoder: AUC {auc(margin[theirs], truth[theirs]):.3f}, families alone {auc(margin[from_families], truth[from_families]):.3f}")
    for at, share in enumerate(DEPTHS):
        figures = x[:, at] / np.sqrt(x.shape[2])
        scored = {ridge: folds(figures[mine], y[mine], ridge / len(train), args.seed) for ridge in RIDGES}
        ridge = max(scored, key=lambda r: auc(scored[r], truth[mine]))
        w, b = regression(figures[mine], y[mine], ridge / len(train))
        probe = figures @ w + b
        both = np.stack([np.concatenate([scored[ridge], probe[theirs]]), margin], 1)
        # The cross-encoder has seen the families it was trained on: what both weigh together is learnt on half of those kept apart.
        half = np.random.default_rng(args.seed).random(len(test)) < 0.5
        v, c = regression(both[theirs][half], y[theirs][half], 1e-3)
        joint = both[theirs] @ v + c
        rest = ~half
        print(
            f"depth {share}: ridge {ridge}, probe AUC {auc(probe[theirs], truth[theirs]):.3f}, families alone "
            f"{auc(probe[from_families], truth[from_families]):.3f}; on the other half: cross-encoder {auc(margin[theirs][rest], truth[theirs][rest]):.3f}, "
            f"both {auc(joint[rest], truth[theirs][rest]):.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
