"""Measures checkpoints: python -m ergo_nli.evaluate CHECKPOINT... --base DIR --eval DIR [--calibration FILE] [--json OUT]

What is measured, on a folder with pairs.jsonl, adr_supersede.jsonl, adr_corpus.jsonl and rules_corpus.jsonl:

* replay: the claims of a repository in order; each new claim is paired with its nearest earlier claims (cosine of the base
  model's sentence vectors, ten at most, none below --cosine); the claim's score is the highest pair score. Every block is false,
  but for the related ids of a decision record.
* recall: contradictions of pairs.jsonl whose score passes the threshold that lets at most 2 claims per 1,000 of each of the
  two replays pass (and at zero); the same for real superseded decisions.
* F1: the best over thresholds, contradiction against the rest; recall per phenomenon at the 2-per-1,000 threshold.
* filter: the share of contradictions kept when 50, 100 or 200 claims per 1,000 are let through, and the pairs a claim.

With --calibration (a rules file outside the evaluation folder: ``unit`` and ``text``) the recall at the threshold chosen
there is given too: the figure that a user can expect, since that threshold has not seen the evaluation rows.

The score is that of the torch model in bf16; the q8_0 file differs by a few hundredths.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch

from . import rows as R
from .model import Ids, both_ways, embed, load

NEIGHBOURS = 10
PER_MILLE = 2.0
TOP = 0.15
"""Share of the replay pairs that are read in both orders."""
NEVER = -99.0
"""Score of a claim without a pair."""


class Replay:
    """Candidate pairs of sentences told in order, per unit."""

    def __init__(self, units: list[list[dict]], text: str, vectors: dict[str, np.ndarray], least: float) -> None:
        self.claims = sum(map(len, units))
        self.pairs: list[tuple[str, str]] = []
        self.owner: list[int] = []
        claim = 0
        for unit in units:
            matrix = np.stack([vectors[r[text]] for r in unit])
            for i, row in enumerate(unit):
                related = set(row.get("related_ids", []))
                cosine = matrix[:i] @ matrix[i]
                for j in np.argsort(-cosine)[:NEIGHBOURS]:
                    if cosine[j] >= least and (unit[j].get("id") not in related or not related):
                        self.pairs.append((unit[j][text], row[text]))
                        self.owner.append(claim)
                claim += 1

    def highest(self, scores: np.ndarray) -> np.ndarray:
        """The highest pair score of each claim, highest claim first."""
        best = np.full(self.claims, NEVER)
        np.maximum.at(best, np.array(self.owner), scores)
        return np.sort(best)[::-1]

    def threshold(self, scores: np.ndarray, per_mille: float) -> float:
        """The score that at most ``per_mille`` claims per 1,000 exceed."""
        allowed = int(self.claims * per_mille / 1000)
        return float(self.highest(scores)[allowed])


def by_unit(path: Path, unit: str) -> list[list[dict]]:
    groups: dict[str, list[dict]] = defaultdict(list)
    for row in R.read(path):
        groups[row[unit]].append(row)
    for rows in groups.values():
        rows.sort(key=lambda r: r.get("seq", 0))
    return list(groups.values())


class Bench:
    """The data of a measurement, prepared once for several checkpoints."""

    def __init__(self, base: str, folder: str, calibration: str | None, least: float) -> None:
        self.least = least
        self.shown: list[tuple] = []
        self.ids = Ids(base)
        root = Path(folder)
        self.pairs = list(R.read(root / "pairs.jsonl"))
        self.supersede = list(R.read(root / "adr_supersede.jsonl"))
        rules, adr = by_unit(root / "rules_corpus.jsonl", "unit"), by_unit(root / "adr_corpus.jsonl", "repo")
        own = by_unit(Path(calibration), "unit") if calibration else []
        pairs = [(r["a"], r["b"]) for r in self.pairs] + [(r["old"]["claim"], r["new"]["claim"]) for r in self.supersede]
        texts = sorted({t for p in pairs for t in p} | {r["text"] for u in rules + own for r in u} | {r["claim"] for u in adr for r in u})
        encoder = load(f"{base}/model.safetensors")
        vectors = dict(zip(texts, embed(encoder, self.ids, texts)))
        self.cosine = {p: float(vectors[p[0]] @ vectors[p[1]]) for p in pairs}
        self.replays = {"rules": Replay(rules, "text", vectors, least), "adr": Replay(adr, "claim", vectors, least)}
        self.calibration = Replay(own, "text", vectors, least) if own else None

    def measure(self, checkpoint: str) -> dict:
        """All figures of one checkpoint."""
        model = load(checkpoint)

        def score(pairs: list[tuple[str, str]], top: float = 1.0) -> np.ndarray:
            found = both_ways(model, self.ids, pairs, top)
            return np.array([NEVER if self.cosine.get(p, 1.0) < self.least else s for p, s in zip(pairs, found)])

        replay = {name: score(r.pairs, TOP) for name, r in self.replays.items()}
        s = score([(r["a"], r["b"]) for r in self.pairs])
        y = np.array([r["label"] == "contradiction" for r in self.pairs])
        d = score([(r["old"]["claim"], r["new"]["claim"]) for r in self.supersede])
        real = np.array([r["label"] == "contradiction" for r in self.supersede])
        explicit = real & np.array([r.get("visible_in_text") == "explicit" for r in self.supersede])

        def at(t: float) -> dict:
            return {
                "threshold": round(t, 2),
                "recall": share(s[y] > t),
                "false_pairs": int((s[~y] > t).sum()),
                "superseded": f"{int((d[real] > t).sum())}/{int(real.sum())}",
                "superseded_explicit": f"{int((d[explicit] > t).sum())}/{int(explicit.sum())}",
                "blocks_per_1000": {n: round(1000 * float((r.highest(replay[n]) > t).mean()), 1) for n, r in self.replays.items()},
            }

        two = max(r.threshold(replay[n], PER_MILLE) for n, r in self.replays.items())
        out = {
            "checkpoint": Path(checkpoint).name,
            "auc": round(auc(s, y), 3),
            "at_2": at(two),
            "at_0": at(max(r.threshold(replay[n], 0) for n, r in self.replays.items())),
            "best_f1": best_f1(s, y),
            "phenomena": phenomena(self.pairs, s, two),
            "filter": {},
        }
        both = np.sort(np.concatenate([r.highest(replay[n]) for n, r in self.replays.items()]))[::-1]
        everything = np.concatenate(list(replay.values()))
        for let in (50, 100, 200):
            t = float(both[int(len(both) * let / 1000)])
            out["filter"][let] = {"kept": share(s[y] > t), "pairs_a_claim": round(float((everything > t).sum() / len(both)), 3)}
        false = [(float(v), n, *pair) for n, r in self.replays.items() for v, pair in zip(replay[n], r.pairs)]
        missed = [(float(v), r["phenomenon"], r["a"], r["b"]) for v, r in zip(s, self.pairs) if r["label"] == "contradiction" and v <= two]
        self.shown = [*sorted(false, reverse=True)[:60], *sorted(missed, reverse=True)]
        if self.calibration:
            c = score(self.calibration.pairs, TOP)
            out["calibrated"] = {"claims": self.calibration.claims, **at(self.calibration.threshold(c, PER_MILLE))}
        return out


def share(hits: np.ndarray) -> float:
    return round(float(hits.mean()), 3) if len(hits) else 0.0


def auc(s: np.ndarray, y: np.ndarray) -> float:
    """Probability that a contradiction scores above another pair."""
    diff = s[y][:, None] - s[~y][None, :]
    return float((diff > 0).mean() + 0.5 * (diff == 0).mean())


def best_f1(s: np.ndarray, y: np.ndarray) -> dict:
    best = {"f1": 0.0}
    for t in s:
        hit = s >= t
        right = int((hit & y).sum())
        p, r = right / int(hit.sum()), right / int(y.sum())
        f = 2 * p * r / (p + r) if p + r else 0.0
        if f > best["f1"]:
            best = {"f1": round(f, 3), "precision": round(p, 3), "recall": round(r, 3), "threshold": round(float(t), 2)}
    return best


def phenomena(rows: list[dict], s: np.ndarray, t: float) -> dict[str, str]:
    """Per label and phenomenon: how many pairs score above the threshold, of how many."""
    out: dict[str, list[bool]] = defaultdict(list)
    for row, score in zip(rows, s):
        out[f"{row['label']}: {row['phenomenon']}"].append(bool(score > t))
    return {k: f"{sum(v)}/{len(v)}" for k, v in sorted(out.items())}


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("checkpoints", nargs="+")
    ap.add_argument("--base", required=True)
    ap.add_argument("--eval", required=True)
    ap.add_argument("--calibration")
    ap.add_argument("--cosine", type=float, default=0.0, help="pairs below this cosine are not read and never block")
    ap.add_argument("--json", help="write all figures here")
    ap.add_argument("--show", help="write the highest harmless and the lowest contradicting pairs of the last checkpoint here")
    ap.add_argument("--threads", type=int, default=1)
    args = ap.parse_args()
    torch.set_num_threads(args.threads)
    bench = Bench(args.base, args.eval, args.calibration, args.cosine)
    found = []
    for path in args.checkpoints:
        m = bench.measure(path)
        found.append(m)
        kept = " ".join(f"{k}:{v['kept']:.2f}" for k, v in m["filter"].items())
        line = f"{m['checkpoint']:26} AUC {m['auc']:.3f} recall@2 {m['at_2']['recall']:.2f} @0 {m['at_0']['recall']:.2f} filter {kept}"
        if "calibrated" in m:
            c = m["calibrated"]
            line += f" calibrated {c['recall']:.2f} at {c['blocks_per_1000']}"
        print(line, f"F1 {m['best_f1']['f1']:.2f} superseded@2 {m['at_2']['superseded']}", flush=True)
    if args.show:
        R.write(args.show, ({"score": round(v, 2), "where": w, "a": a, "b": b} for v, w, a, b in bench.shown))
    if args.json:
        Path(args.json).write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
