"""Reads a GGUF file back into the torch model: python -m ergo_nli.check FILE.gguf OUT.safetensors [--against CHECKPOINT --base DIR]

So a converted file, or one made elsewhere, can be measured with ``ergo_nli.evaluate``; with --against its logits are compared with
those of the checkpoint it was made from. What llama.cpp makes of the file is not seen by this.
"""

from __future__ import annotations

import argparse

import gguf
import numpy as np
import torch

from .model import DEPTH, CrossEncoder, Ids, add_gate, load, logits, save

PAIRS = [("Use tabs.", "Indent with spaces."), ("Never push to `main`.", "Pushing to main is fine."),
         ("The cache lives five minutes.", "The cache is Redis."), ("Deploy on Monday.", "Deployments take place on Mondays.")]
TOLERANCE = 0.15
"""Largest difference of a logit that q8_0 weights may make."""


def read(path: str) -> dict[str, torch.Tensor]:
    """The state dict of ``CrossEncoder`` from a GGUF file written by ``ergo_nli.convert`` or in the same form."""
    found = {t.name: torch.tensor(np.array(gguf.quants.dequantize(t.data, t.tensor_type))) for t in gguf.GGUFReader(path).tensors}
    state = {"word.weight": found["token_embd.weight"], "pos.weight": found["position_embd.weight"]}
    state["typ.weight"] = found["token_types.weight"].reshape(-1, 384)
    for kind in ("weight", "bias"):
        state |= {f"ln.{kind}": found[f"token_embd_norm.{kind}"], f"pool.{kind}": found[f"cls.{kind}"], f"cls.{kind}": found[f"cls.output.{kind}"]}
        for i in range(DEPTH):
            ours, theirs = f"layers.{i}.", f"blk.{i}."
            state[f"{ours}qkv.{kind}"] = torch.cat([found[f"{theirs}attn_{n}.{kind}"] for n in "qkv"])
            names = {"o": "attn_output", "ln1": "attn_output_norm", "f1": "ffn_up", "f2": "ffn_down", "ln2": "layer_output_norm"}
            state |= {f"{ours}{a}.{kind}": found[f"{theirs}{b}.{kind}"] for a, b in names.items()}
    return state


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("file")
    ap.add_argument("out")
    ap.add_argument("--against")
    ap.add_argument("--base")
    args = ap.parse_args()
    torch.set_num_threads(1)
    model = CrossEncoder()
    state = read(args.file)
    if state["typ.weight"].shape[0] < 2:
        state["typ.weight"] = torch.cat([state["typ.weight"]] * 2)
    add_gate(state, model)
    model.load_state_dict(state)
    save(model.state_dict(), args.out)
    if args.against:
        ids = Ids(args.base)
        apart = float(np.abs(logits(model, ids, PAIRS) - logits(load(args.against), ids, PAIRS)).max())
        print(f"{args.file}: logits differ by at most {apart:.3f} on {len(PAIRS)} pairs")
        if apart > TOLERANCE:
            raise SystemExit(f"that is more than {TOLERANCE}: the file is not the checkpoint")


if __name__ == "__main__":
    main()
