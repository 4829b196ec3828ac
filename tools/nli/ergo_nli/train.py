"""Fine-tunes the cross-encoder: python -m ergo_nli.train OUT --base DIR --data rows.jsonl[:share] ...

Loss: cross-entropy over the classes a row allows, a little label smoothing, row weights; and for the gate binary cross-entropy on the rows that
say whether both sides speak of the same decision. bf16 autocast, word embeddings
frozen, cosine decay after a short warm-up. What is written is the average of the weights over the last part of the run. SIGTERM
ends a run early: the rate then falls to its end within a hundred steps, and the weights are written.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import signal
import time
from collections.abc import Iterator

import torch
import torch.nn.functional as F

from . import rows as R
from .model import Ids, load, pad, save, wait_while_paused

AVERAGE_EVERY = 20
ENDING_STEPS = 100
"""Steps that a run still makes when it is told to end."""
SMOOTHING = 0.03
GATE_WEIGHT = 0.5
"""Weight of the gate's loss beside that of the classes."""
IDLE_LOAD = 2.2
"""Below this load average (our own share included) a second thread is taken: beside a build it only slows both."""


def arguments() -> argparse.Namespace:
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("out")
    ap.add_argument("--base", required=True, help="folder with model.safetensors and tokenizer.json of all-MiniLM-L6-v2")
    ap.add_argument("--data", nargs="+", required=True, help="row files; file:0.5 takes half, file:2 takes it twice, file:8000n 8000 rows")
    ap.add_argument("--init", help="checkpoint to go on from (else the base)")
    ap.add_argument("--lr", type=float, default=1e-4)
    ap.add_argument("--lr-end", type=float, default=1e-6)
    ap.add_argument("--warm-up", type=int, default=100, help="steps until the rate is reached")
    ap.add_argument("--tokens", type=int, default=1600, help="padded tokens in a batch")
    ap.add_argument("--longest", type=int, default=110, help="pairs with more tokens are left out")
    ap.add_argument("--drop", type=float, default=0.0)
    ap.add_argument("--average", type=float, default=0.3, help="share of the run whose weights are averaged")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--threads", type=int, default=0, help="0: two while the machine is otherwise idle, else one")
    ap.add_argument("--report", type=int, default=100, help="steps between two lines of progress")
    ap.add_argument("--max-seconds", type=float, default=1e9, help="the schedule is shortened to end by then")
    return ap.parse_args()


def take(spec: str, rng: random.Random) -> list[dict]:
    """The rows of one --data entry."""
    path, _, share = spec.partition(":")
    found = list(R.read(path))
    rng.shuffle(found)
    if share.endswith("n"):
        return found[: int(share[:-1])]
    times = float(share or 1)
    return found * int(times) + found[: round(len(found) * (times % 1))]


def batches(examples: list, tokens: int, rng: random.Random) -> Iterator[list]:
    """Batches of like length out of shuffled chunks, so that order stays random and padding small."""
    rng.shuffle(examples)
    for start in range(0, len(examples), 3200):
        chunk = sorted(examples[start : start + 3200], key=lambda e: len(e[0]))
        made, batch = [], []
        for e in chunk:
            if batch and (len(batch) + 1) * len(e[0]) > tokens:
                made.append(batch)
                batch = []
            batch.append(e)
        made.append(batch)
        rng.shuffle(made)
        yield from made


def main() -> None:
    args = arguments()
    rng = random.Random(args.seed)
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads or 1)
    data = [row for spec in args.data for row in take(spec, rng)]
    ids = Ids(args.base)
    ids.add({t for r in data for t in (r["a"], r["b"])})
    examples = [(ids.pair(r["a"], r["b"]), r["y"], r.get("w", 1.0), r.get("same")) for r in data]
    examples = [e for e in examples if len(e[0]) <= args.longest]
    total = sum(len(e[0]) for e in examples)
    print(f"{len(data)} rows, {len(examples)} kept, {total / len(examples):.1f} tokens a pair", flush=True)

    allowed = torch.tensor(R.ALLOWED, dtype=torch.bool)
    model = load(args.init or f"{args.base}/model.safetensors")
    model.drop = args.drop
    model.word.weight.requires_grad_(False)
    model.typ.weight.requires_grad_(False)
    weights = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in weights if p.ndim == 2], "weight_decay": 0.01},
        {"params": [p for p in weights if p.ndim < 2], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, lr=args.lr, betas=(0.9, 0.98), fused=True)

    model.train()
    told: list[int] = []
    signal.signal(signal.SIGTERM, lambda *_: told.append(1))
    ending: tuple[int, float] | None = None
    start = time.time()
    done = seen = right = step = averaged = 0
    loss_sum = 0.0
    mean: dict[str, torch.Tensor] = {}
    for batch in batches(examples, args.tokens, rng):
        start += wait_while_paused()
        if not args.threads and step % 25 == 0:
            torch.set_num_threads(2 if os.getloadavg()[0] < IDLE_LOAD else 1)
        x, mask = pad([e[0] for e in batch])
        y = torch.tensor([e[1] for e in batch])
        w = torch.tensor([e[2] for e in batch])
        share = max(done / total, (time.time() - start) / args.max_seconds)
        if told and not ending:
            ending = step, share
        if ending:
            share = ending[1] + (1 - ending[1]) * (step - ending[0]) / ENDING_STEPS
        if share >= 1:
            break
        rate = args.lr_end + (args.lr - args.lr_end) * 0.5 * (1 + math.cos(math.pi * share))
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / args.warm_up)
        with torch.autocast("cpu", torch.bfloat16):
            z = model(x, mask)
        z, gate = z.float()[:, : R.GATE], z.float()[:, R.GATE]
        log_p = F.log_softmax(z, -1)
        ok = allowed[y]
        fit = -torch.logsumexp(log_p.masked_fill(~ok, -1e9), -1)
        loss = (((1 - SMOOTHING) * fit - SMOOTHING * log_p.mean(-1)) * w).sum() / w.sum()
        told_same = torch.tensor([e[3] is not None for e in batch])
        if told_same.any():
            same = torch.tensor([float(bool(e[3])) for e in batch]).clamp(SMOOTHING, 1 - SMOOTHING)
            each = F.binary_cross_entropy_with_logits(gate, same, reduction="none") * w * told_same
            loss = loss + GATE_WEIGHT * each.sum() / (w * told_same).sum()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimiser.step()
        step += 1
        done += sum(len(e[0]) for e in batch)
        seen += len(batch)
        right += int(ok[torch.arange(len(batch)), z.argmax(1)].sum())
        loss_sum += loss.item() * len(batch)
        if share > 1 - args.average and step % AVERAGE_EVERY == 0:
            averaged += 1
            for k, v in model.state_dict().items():
                mean[k] = v.clone() if averaged == 1 else mean[k].lerp(v, 1 / averaged)
        if step % args.report == 0:
            spent = time.time() - start
            print(f"{spent:6.0f}s {100 * share:5.1f}% loss {loss_sum / seen:.4f} acc {right / seen:.3f} {done / spent:.0f} tok/s", flush=True)
            seen = right = 0
            loss_sum = 0.0
    save(mean or model.state_dict(), args.out)
    print(f"{args.out}: {step} steps, {time.time() - start:.0f} s, {averaged} weights averaged", flush=True)


if __name__ == "__main__":
    main()
