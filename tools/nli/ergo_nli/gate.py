"""How many writes would be asked about: python -m ergo_nli.gate CHECKPOINT... --base DIR --eval DIR --calibration FILE [--claims N]

A write is compared with the ten nearest earlier claims of its repository, and is asked about if one of them passes a threshold. For each share of
harmless writes: the threshold, and the recall of the contradictions of pairs.jsonl at it, by three scores: the gate (the mean probability of both
orders), the margin of a contradiction, and the mean of both as log-odds. Thresholds come twice: from rules of repositories outside the evaluation
(--calibration), with the share of the evaluation's writes that they let through; and from the evaluation's own writes.
Only the pair itself is scored here: whether retrieval finds the older claim is not part of it.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

import numpy as np
import torch

from . import rows as R
from .evaluate import NEIGHBOURS, Replay, auc, by_unit
from .model import Ids, embed, load, logits, margin

SHARES = (0.02, 0.08, 0.2, 0.33)
LIMIT = 12.0


def scores(model, ids: Ids, pairs: list[tuple[str, str]]) -> dict[str, np.ndarray]:
    """Scores of the pairs by name."""
    z = [logits(model, ids, pairs), logits(model, ids, [p[::-1] for p in pairs])]
    gate = np.mean([1 / (1 + np.exp(-x[:, R.GATE])) for x in z], axis=0)
    against = np.mean([margin(x) for x in z], axis=0)
    odds = np.log(np.clip(gate, 1e-6, 1 - 1e-6)) - np.log(np.clip(1 - gate, 1e-6, 1 - 1e-6))
    return {"gate": gate, "margin": against, "both": odds.clip(-LIMIT, LIMIT) + against.clip(-LIMIT, LIMIT)}


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("checkpoints", nargs="+")
    ap.add_argument("--base", required=True)
    ap.add_argument("--eval", required=True)
    ap.add_argument("--calibration", required=True, help="rules (unit, text) to choose thresholds on: calibration.jsonl of the generate step")
    ap.add_argument("--claims", type=int, default=800, help="rules of the calibration, and of each replay of the evaluation")
    ap.add_argument("--seed", type=int, default=1)
    args = ap.parse_args()
    torch.set_num_threads(1)
    rng, ids, root = random.Random(args.seed), Ids(args.base), Path(args.eval)

    def some(units: list[list[dict]]) -> list[list[dict]]:
        units = [u for u in units if len(u) > NEIGHBOURS]
        rng.shuffle(units)
        chosen: list[list[dict]] = []
        for unit in units:
            if sum(map(len, chosen)) >= args.claims:
                break
            chosen.append(unit[: args.claims // 4])
        return chosen

    sources = {"calibration": (some(by_unit(Path(args.calibration), "unit")), "text"),
               "rules": (some(by_unit(root / "rules_corpus.jsonl", "unit")), "text"),
               "decisions": (some(by_unit(root / "adr_corpus.jsonl", "repo")), "claim")}
    texts = sorted({r[text] for units, text in sources.values() for u in units for r in u})
    vectors = dict(zip(texts, embed(load(f"{args.base}/model.safetensors"), ids, texts)))
    replays = {name: Replay(units, text, vectors, 0.0) for name, (units, text) in sources.items()}
    labelled = list(R.read(root / "pairs.jsonl"))
    y = np.array([r["label"] == "contradiction" for r in labelled])
    together = np.array([r["label"] in ("contradiction", "consistent") for r in labelled])
    for path in args.checkpoints:
        model = load(path)
        harmless = {name: scores(model, ids, r.pairs) for name, r in replays.items()}
        pairs = scores(model, ids, [(r["a"], r["b"]) for r in labelled])
        print(f"{path}: " + ", ".join(f"{r.claims} {n}" for n, r in replays.items())
              + f"; AUC of the gate for contradictions {auc(pairs['gate'], y):.3f}, for contradictions and agreement {auc(pairs['gate'], together):.3f}")
        for score, s in pairs.items():
            highest = {name: r.highest(harmless[name][score]) for name, r in replays.items()}
            own = np.sort(np.concatenate([highest["rules"], highest["decisions"]]))[::-1]
            for share in SHARES:
                t = float(highest["calibration"][int(len(highest["calibration"]) * share)])
                asked = ", ".join(f"{name} {100 * (highest[name] > t).mean():.0f} %" for name in ("rules", "decisions"))
                at = float(own[int(len(own) * share)])
                print(f"  {score:6} {100 * share:3.0f} % asked: threshold {t:.3f}, recall {(s[y] > t).mean():.2f}, asked of the evaluation's {asked}"
                      f" | by its own threshold {at:.3f} recall {(s[y] > at).mean():.2f}", flush=True)


if __name__ == "__main__":
    main()
