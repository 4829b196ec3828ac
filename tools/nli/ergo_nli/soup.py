"""Averages the weights of checkpoints of one lineage: python -m ergo_nli.soup OUT CHECKPOINT[:weight]..."""

from __future__ import annotations

import sys

from safetensors.torch import load_file, save_file


def main() -> None:
    out, *paths = sys.argv[1:]
    weights = [float(weight or 1) for _, _, weight in (p.partition(":") for p in paths)]
    parts = [load_file(p.partition(":")[0]) for p in paths]
    save_file({k: sum(w * p[k] for w, p in zip(weights, parts)) / sum(weights) for k in parts[0]}, out)
    print(out, "averages", len(paths), "checkpoints")


if __name__ == "__main__":
    main()
