"""MiniLM-L6 (BERT, 384 wide) as a cross-encoder in plain torch.

Differences from the common recipe, both forced by llama.cpp: the token type is 0 for both sentences, and the head is
pooler (linear, tanh) followed by one linear layer, stored as ``cls`` and ``cls.output``.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import nn

from .rows import GATE, LABELS, OUTPUTS

WIDTH, HEADS, DEPTH, INNER, VOCABULARY, POSITIONS = 384, 12, 6, 1536, 30522, 512
SEP = 102


class Layer(nn.Module):
    """One post-norm transformer layer with fused query, key and value."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.o = nn.Linear(WIDTH, WIDTH)
        self.ln1 = nn.LayerNorm(WIDTH, 1e-12)
        self.f1 = nn.Linear(WIDTH, INNER)
        self.f2 = nn.Linear(INNER, WIDTH)
        self.ln2 = nn.LayerNorm(WIDTH, 1e-12)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None, drop: float) -> torch.Tensor:
        batch, length, _ = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        heads = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        mixed = self.o(heads.transpose(1, 2).reshape(batch, length, WIDTH))
        x = self.ln1(x + F.dropout(mixed, drop, self.training))
        return self.ln2(x + F.dropout(self.f2(F.gelu(self.f1(x))), drop, self.training))


class CrossEncoder(nn.Module):
    """Token ids (batch, length) -> logits (batch, 4) in the order of ``rows.OUTPUTS``."""

    def __init__(self, drop: float = 0.0) -> None:
        super().__init__()
        self.word = nn.Embedding(VOCABULARY, WIDTH)
        self.pos = nn.Embedding(POSITIONS, WIDTH)
        self.typ = nn.Embedding(2, WIDTH)
        self.ln = nn.LayerNorm(WIDTH, 1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(DEPTH))
        self.pool = nn.Linear(WIDTH, WIDTH)
        self.cls = nn.Linear(WIDTH, len(OUTPUTS))
        self.drop = drop
        nn.init.normal_(self.cls.weight, std=0.02)
        nn.init.zeros_(self.cls.bias)

    def encode(self, ids: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        """Last hidden states. ``mask`` is true on real tokens; None when nothing is padded."""
        x = self.ln(self.word(ids) + self.pos.weight[: ids.shape[1]] + self.typ.weight[0])
        x = F.dropout(x, self.drop, self.training)
        attend = None if mask is None else mask[:, None, None, :]
        for layer in self.layers:
            x = layer(x, attend, self.drop)
        return x

    def pooled(self, ids: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """What the head reads (batch, 384)."""
        return torch.tanh(self.pool(self.encode(ids, mask)[:, 0]))

    def forward(self, ids: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        return self.cls(F.dropout(self.pooled(ids, mask), self.drop, self.training))


def _name_pairs() -> list[tuple[str, str]]:
    """(our name, published BERT name) of every tensor but the fused query, key and value."""
    pairs = [
        ("word.weight", "embeddings.word_embeddings.weight"),
        ("pos.weight", "embeddings.position_embeddings.weight"),
        ("typ.weight", "embeddings.token_type_embeddings.weight"),
    ]
    for kind in ("weight", "bias"):
        pairs += [(f"ln.{kind}", f"embeddings.LayerNorm.{kind}"), (f"pool.{kind}", f"pooler.dense.{kind}")]
        for i in range(DEPTH):
            ours, theirs = f"layers.{i}.", f"encoder.layer.{i}."
            pairs += [
                (f"{ours}o.{kind}", f"{theirs}attention.output.dense.{kind}"),
                (f"{ours}ln1.{kind}", f"{theirs}attention.output.LayerNorm.{kind}"),
                (f"{ours}f1.{kind}", f"{theirs}intermediate.dense.{kind}"),
                (f"{ours}f2.{kind}", f"{theirs}output.dense.{kind}"),
                (f"{ours}ln2.{kind}", f"{theirs}output.LayerNorm.{kind}"),
            ]
    return pairs


def load(path: str | Path) -> CrossEncoder:
    """A model from a safetensors file with BERT's published names; without a classifier in it, a fresh head,
    and a fresh gate if it was trained before there was one."""
    published = {k.removeprefix("bert."): v for k, v in load_file(path).items()}
    state = {ours: published[theirs] for ours, theirs in _name_pairs()}
    for kind in ("weight", "bias"):
        for i in range(DEPTH):
            parts = [published[f"encoder.layer.{i}.attention.self.{n}.{kind}"] for n in ("query", "key", "value")]
            state[f"layers.{i}.qkv.{kind}"] = torch.cat(parts)
        if f"classifier.{kind}" in published:
            state[f"cls.{kind}"] = published[f"classifier.{kind}"]
    model = CrossEncoder()
    add_gate(state, model)
    report = model.load_state_dict(state, strict=False)
    if report.unexpected_keys or any(not k.startswith("cls.") for k in report.missing_keys):
        raise ValueError(f"{path} is not a MiniLM-L6: {report}")
    return model


def add_gate(state: dict[str, torch.Tensor], fresh: CrossEncoder) -> None:
    """Gives a classifier of three outputs the fourth of ``fresh``."""
    for kind in ("weight", "bias"):
        rows = state.get(f"cls.{kind}")
        if rows is not None and len(rows) == len(LABELS):
            state[f"cls.{kind}"] = torch.cat([rows, getattr(fresh.cls, kind).detach()[GATE:]])


def save(state: dict[str, torch.Tensor], path: str | Path) -> None:
    """Writes a state dict under BERT's published names, f32."""
    out = {theirs: state[ours] for ours, theirs in _name_pairs()}
    for kind in ("weight", "bias"):
        out[f"classifier.{kind}"] = state[f"cls.{kind}"]
        for i in range(DEPTH):
            parts = state[f"layers.{i}.qkv.{kind}"].chunk(3)
            for name, part in zip(("query", "key", "value"), parts):
                out[f"encoder.layer.{i}.attention.self.{name}.{kind}"] = part
    tensors = {k: v.detach().float().contiguous().clone() for k, v in out.items()}
    partial = f"{path}.partial"
    save_file(tensors, partial)
    os.replace(partial, path)


class Ids:
    """Token ids of single sentences ([CLS] .. [SEP]), cached by text and cut to ``longest`` tokens."""

    def __init__(self, base: str | Path, longest: int = 96) -> None:
        self.tokenizer = Tokenizer.from_file(str(Path(base) / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self.longest = longest
        self.cache: dict[str, list[int]] = {}

    def add(self, texts: set[str]) -> None:
        """Tokenises the texts not yet known."""
        new = [t for t in texts if t not in self.cache]
        for i in range(0, len(new), 5000):
            chunk = new[i : i + 5000]
            for text, enc in zip(chunk, self.tokenizer.encode_batch(chunk)):
                ids = enc.ids
                self.cache[text] = ids if len(ids) <= self.longest else [*ids[: self.longest - 1], SEP]

    def pair(self, a: str, b: str) -> list[int]:
        """[CLS] a [SEP] b [SEP]."""
        return self.cache[a] + self.cache[b][1:]


def pad(sequences: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Ids (batch, longest) and the mask of real tokens, or None when all have one length."""
    longest = max(map(len, sequences))
    ids = torch.zeros(len(sequences), longest, dtype=torch.long)
    mask = torch.zeros(len(sequences), longest, dtype=torch.bool)
    for i, seq in enumerate(sequences):
        ids[i, : len(seq)] = torch.tensor(seq)
        mask[i, : len(seq)] = True
    return ids, None if bool(mask.all()) else mask


def wait_while_paused() -> float:
    """Sleeps while the file named by NLI_PAUSE exists, so that others can time things; returns the seconds slept."""
    flag = os.environ.get("NLI_PAUSE")
    began = time.time()
    while flag and os.path.exists(flag):
        time.sleep(2)
    return time.time() - began


def _by_length(sequences: list[list[int]], tokens: int):
    """Index lists of batches of at most about ``tokens`` padded tokens, shortest sequences first."""
    order = sorted(range(len(sequences)), key=lambda i: len(sequences[i]))
    batch: list[int] = []
    for i in order:
        if batch and (len(batch) + 1) * len(sequences[i]) > tokens:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


@torch.inference_mode()
def _of_pairs(model: CrossEncoder, ids: Ids, pairs: list[tuple[str, str]], width: int, tokens: int, of) -> np.ndarray:
    """``of(ids, mask)``, ``width`` numbers of each pair in the given order, in bf16 autocast."""
    ids.add({t for pair in pairs for t in pair})
    sequences = [ids.pair(a, b) for a, b in pairs]
    out = np.zeros((len(pairs), width), np.float32)
    model.eval()
    for batch in _by_length(sequences, tokens):
        wait_while_paused()
        x, mask = pad([sequences[i] for i in batch])
        with torch.autocast("cpu", torch.bfloat16):
            out[batch] = of(x, mask).float().numpy()
    return out


def logits(model: CrossEncoder, ids: Ids, pairs: list[tuple[str, str]], tokens: int = 4096) -> np.ndarray:
    """Logits (n, 4) of the pairs."""
    return _of_pairs(model, ids, pairs, len(OUTPUTS), tokens, model)


def pooled(model: CrossEncoder, ids: Ids, pairs: list[tuple[str, str]], tokens: int = 4096) -> np.ndarray:
    """What the head reads of the pairs (n, 384)."""
    return _of_pairs(model, ids, pairs, WIDTH, tokens, model.pooled)


def margin(z: np.ndarray) -> np.ndarray:
    """Contradiction against the rest: z_c - log(exp z_e + exp z_n)."""
    return z[:, 2] - np.logaddexp(z[:, 0], z[:, 1])


def both_ways(model: CrossEncoder, ids: Ids, pairs: list[tuple[str, str]], top: float = 1.0) -> np.ndarray:
    """Mean margin of both orders: the model's score of a pair.

    With ``top`` below 1 only that share of the pairs, the highest in the first order, is read in the second order too; the
    others keep the first margin. Enough where only the highest scores matter, and nearly twice as fast.
    """
    first = margin(logits(model, ids, pairs))
    again = np.argsort(-first)[: round(len(pairs) * top)]
    first[again] = (first[again] + margin(logits(model, ids, [pairs[i][::-1] for i in again]))) / 2
    return first


@torch.inference_mode()
def embed(model: CrossEncoder, ids: Ids, texts: list[str], tokens: int = 4096) -> np.ndarray:
    """Unit sentence vectors (n, 384): mean of the last hidden states. Use the base model, not a trained one."""
    ids.add(set(texts))
    sequences = [ids.cache[t] for t in texts]
    out = np.zeros((len(texts), WIDTH), np.float32)
    model.eval()
    for batch in _by_length(sequences, tokens):
        wait_while_paused()
        x, mask = pad([sequences[i] for i in batch])
        hidden = model.encode(x, mask).float()
        keep = torch.ones_like(x, dtype=torch.bool) if mask is None else mask
        mean = (hidden * keep[:, :, None]).sum(1) / keep.sum(1, keepdim=True)
        out[batch] = F.normalize(mean, dim=-1).numpy()
    return out
