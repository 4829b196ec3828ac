"""Rule-like sentences from the documentation of Rust crates: python -m ergo_nli.crates OUT --registry DIR

Reads the unpacked crates of a cargo registry (``~/.cargo/registry/src``), takes those whose `Cargo.toml` states a permissive
licence, and keeps sentences of Markdown files and documentation comments that say what must, should, may or may not be. One row a
sentence: ``unit`` (the crate), ``text``, ``licence`` as the crate states it.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator
from pathlib import Path

from . import rows as R

PERMISSIVE = {"MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Zlib", "Unlicense", "CC0-1.0", "0BSD", "BSL-1.0",
              "Apache-2.0 WITH LLVM-exception", "MIT-0"}
MOST = 60
"""Sentences of one crate at most, so that large ones do not rule."""
RULE = re.compile(r"\b(must|should|shall|never|always|do not|don't|may not|cannot|can't|only|required?|requires|avoid|prefer|"
                  r"not allowed|need to|by default|instead of|no longer|not supported|supports|recommended|ensure|use|guaranteed|"
                  r"at most|at least|is not|are not|will not)\b", re.I)
JUNK = re.compile(r"https?:|\]\(|[<>{}|=#~\\]|::\w+::|\bfn \w|//|\$|[^\x00-\x7f–—’“”…]")


def permissive(expression: str) -> bool:
    """Whether one of the alternatives of an SPDX expression consists of permissive licences only."""
    choices = re.split(r"\s+OR\s+|/", expression.replace("(", "").replace(")", ""))
    return any(all(part.strip() in PERMISSIVE for part in re.split(r"\s+AND\s+", c)) for c in choices)


def _blocks(path: Path) -> Iterator[str]:
    """Paragraphs and list items of a Markdown file or of a Rust file's documentation comments, code blocks left out."""
    lines = path.read_text(encoding="utf-8", errors="ignore").splitlines()
    if path.suffix == ".rs":
        lines = [m[1] if (m := re.match(r"\s*//[/!] ?(.*)", line)) else "" for line in lines]
    held: list[str] = []
    code = False
    for line in [*lines, ""]:
        text = line.strip()
        if text.startswith(("```", "~~~")):
            code, text = not code, ""
        item = re.match(r"(?:[-*+]|\d+[.)])\s+(.*)", text)
        if code or not text or item or text.startswith(("#", "|", "[", "<", ">")):
            if held:
                yield " ".join(held)
            held = [item[1]] if item and not code else []
            continue
        held.append(text)


def sentences(path: Path) -> Iterator[str]:
    """The rule-like sentences of a file, 5 to 35 words long."""
    for block in _blocks(path):
        block = re.sub(r"\[([^\]]*)\](\[[^\]]*\])?", r"\1", block).replace("**", "").replace("_`", "`")
        for text in re.split(r"(?<=[.!?])\s+(?=[A-Z`])", block):
            text = " ".join(text.split())
            if 5 <= len(text.split()) <= 35 and text[:1].isupper() | text.startswith("`") and text[-1] in ".!" \
                    and RULE.search(text) and not JUNK.search(text) and text.count("`") % 2 == 0 and not text.endswith("e.g."):
                yield text


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("out")
    ap.add_argument("--registry", required=True)
    ap.add_argument("--seed", type=int, default=1)
    args = ap.parse_args()
    rng = random.Random(args.seed)
    found: list[dict] = []
    seen: set[str] = set()
    units = set()
    for manifest in sorted(Path(args.registry).glob("*/*/Cargo.toml")):
        stated = re.search(r'^license\s*=\s*"([^"]+)"', manifest.read_text(errors="ignore"), re.M)
        unit = re.sub(r"-\d+\..*$", "", manifest.parent.name)
        if not stated or not permissive(stated[1]) or unit in units:
            continue
        units.add(unit)
        folder = manifest.parent
        files = [*sorted(folder.glob("*.md")), *sorted(folder.glob("docs/**/*.md")), *sorted(folder.glob("src/**/*.rs"))]
        own = []
        for path in files:
            if "license" not in path.name.lower() and path.stat().st_size < 400_000:
                for text in sentences(path):
                    if R.normal(text) not in seen:
                        seen.add(R.normal(text))
                        own.append(text)
        rng.shuffle(own)
        found += [{"unit": unit, "text": t, "licence": stated[1]} for t in own[:MOST]]
    print(f"{args.out}: {R.write(args.out, found)} sentences of {len({r['unit'] for r in found})} crates")


if __name__ == "__main__":
    main()
