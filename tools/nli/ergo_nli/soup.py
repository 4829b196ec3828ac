"""Averages the weights of checkpoints of one lineage: python -m ergo_nli.soup OUT CHECKPOINT..."""

from __future__ import annotations

import sys

from safetensors.torch import load_file, save_file


def main() -> None:
    out, *paths = sys.argv[1:]
    parts = [load_file(p) for p in paths]
    save_file({k: sum(p[k] for p in parts) / len(parts) for k in parts[0]}, out)
    print(out, "averages", len(paths), "checkpoints")


if __name__ == "__main__":
    main()
