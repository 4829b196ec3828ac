"""Training rows: labels, files, normalised text, and the leak filter.

A row is one JSON object a line: ``a`` and ``b`` (the two sentences in the order the model reads them), ``y`` (the label),
``src`` (where the row comes from, always filled), optional ``w`` (loss weight), optional ``same`` (whether both speak of the same decision:
a contradiction, a paraphrase, a refinement or an example do, neighbours and unrelated claims do not; absent where that is not known).
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

ENTAILMENT, NEUTRAL, CONTRADICTION, NOT_ENTAILMENT, NOT_CONTRADICTION = range(5)
LABELS = ["entailment", "neutral", "contradiction"]
"""Names of the model's first three logits, in order. Labels 3 and 4 exist in training rows only: they allow two classes."""

GATE = len(LABELS)
"""Index of the fourth logit: whether both sides speak of the same decision (a sigmoid of its own)."""

OUTPUTS = [*LABELS, "same decision"]
"""Names of all logits of the model."""

CLOSE = 0.75
"""Real rules of this cosine may restate each other; below it they are taken for two decisions."""

ALLOWED = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1], [1, 1, 0]]
"""Row ``y`` is satisfied by any of these classes."""


def read(path: str | Path) -> Iterator[dict]:
    """Yields the rows of a .jsonl or .jsonl.gz file."""
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def write(path: str | Path, rows: Iterable[dict]) -> int:
    """Writes rows as .jsonl and returns how many."""
    count = 0
    with open(path, "w", encoding="utf-8") as out:
        for row in rows:
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count


def normal(text: str) -> str:
    """Text for comparing: NFKC, lower case, letters and digits only, single spaces."""
    text = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.findall(r"[^\W_]+", text))


def apart(key: str, per_hundred: int) -> bool:
    """Whether the family or repository named by ``key`` falls into a share that is kept apart; the same in every run."""
    return int(hashlib.sha256(normal(key).encode()).hexdigest(), 16) % 100 < per_hundred


def eval_sentences(folder: str | Path) -> set[str]:
    """Every text value of four words or more in the evaluation files, normalised, and each sentence within it."""
    found: set[str] = set()

    def walk(value: object) -> None:
        if isinstance(value, str):
            for part in [value, *re.split(r"(?<=[.!?;])\s+", value)]:
                key = normal(part)
                if len(key.split()) >= 4:
                    found.add(key)
        elif isinstance(value, dict):
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    for path in sorted(Path(folder).glob("*.jsonl")):
        for row in read(path):
            walk(row)
    return found


def drop_leaks(rows: Iterable[dict], held_out: set[str]) -> tuple[list[dict], int]:
    """Rows of which neither side stands in ``held_out``, and how many were dropped."""
    kept, dropped = [], 0
    for row in rows:
        if normal(row["a"]) in held_out or normal(row["b"]) in held_out:
            dropped += 1
        else:
            kept.append(row)
    return kept, dropped
