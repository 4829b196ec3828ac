"""Checkpoint -> GGUF for llama.cpp: python -m ergo_nli.convert CHECKPOINT OUT.gguf --base DIR [--type q8_0|f16|f32]

Architecture "bert" with rank pooling and four output labels. The pooler goes into the tensor ``cls`` (llama.cpp applies tanh),
the classifier into ``cls.output``; both stay f16 in q8_0 files. Input of a pair: [CLS] a [SEP] b [SEP], token type 0.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import gguf
import numpy as np
from safetensors.numpy import load_file

from .model import DEPTH, HEADS, INNER, POSITIONS, WIDTH
from .rows import OUTPUTS

NAME = "ergo-nli-minilm"
TYPES = {"f32": gguf.LlamaFileType.ALL_F32, "f16": gguf.LlamaFileType.MOSTLY_F16, "q8_0": gguf.LlamaFileType.MOSTLY_Q8_0}
HEAD = {"pooler.dense": "classifier.dense", "classifier": "classifier.out_proj"}
"""Names under which gguf's table knows the head."""


def add_vocabulary(w: gguf.GGUFWriter, base: str) -> None:
    """WordPiece tokens in the form llama.cpp expects: word starts marked, continuations bare."""
    words = Path(base, "vocab.txt").read_text(encoding="utf-8").split("\n")
    words = words[:-1] if words[-1] == "" else words

    def form(t: str) -> str:
        if t.startswith("[") and t.endswith("]"):
            return t
        return t[2:] if t.startswith("##") else "\u2581" + t

    control = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
    w.add_tokenizer_model("bert")
    w.add_tokenizer_pre("default")
    w.add_token_list([form(t).encode() for t in words])
    w.add_token_types([int(gguf.TokenType.CONTROL if t in control else gguf.TokenType.NORMAL) for t in words])
    at = {t: i for i, t in enumerate(words)}
    w.add_bos_token_id(at["[CLS]"])
    w.add_eos_token_id(at["[SEP]"])
    w.add_unk_token_id(at["[UNK]"])
    w.add_sep_token_id(at["[SEP]"])
    w.add_pad_token_id(at["[PAD]"])
    w.add_mask_token_id(at["[MASK]"])
    w.add_add_bos_token(True)
    w.add_add_eos_token(True)


def convert(checkpoint: str, out: str, base: str, kind: str) -> int:
    """Writes the file and returns its size in bytes."""
    w = gguf.GGUFWriter(out, "bert")
    w.add_name(NAME)
    w.add_license("apache-2.0")
    w.add_block_count(DEPTH)
    w.add_context_length(POSITIONS)
    w.add_embedding_length(WIDTH)
    w.add_feed_forward_length(INNER)
    w.add_head_count(HEADS)
    w.add_layer_norm_eps(1e-12)
    w.add_causal_attention(False)
    w.add_pooling_type(gguf.PoolingType.RANK)
    w.add_token_type_count(2)
    w.add_classifier_output_labels(OUTPUTS)
    w.add_file_type(TYPES[kind])
    add_vocabulary(w, base)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.BERT, DEPTH)
    for key, tensor in load_file(checkpoint).items():
        stem, _, suffix = key.rpartition(".")
        name = names.get_name(f"{HEAD.get(stem, stem)}.{suffix}", try_suffixes=(".weight", ".bias"))
        if name is None:
            raise ValueError(f"no GGUF name for {key}")
        tensor = tensor.astype(np.float32)
        kept = tensor.ndim < 2 or stem.startswith(("embeddings.position", "embeddings.token_type"))
        if kept or kind == "f32":
            w.add_tensor(name, tensor)
        elif kind == "f16" or stem in HEAD:
            w.add_tensor(name, tensor.astype(np.float16))
        else:
            packed = gguf.quants.quantize(tensor, gguf.GGMLQuantizationType.Q8_0)
            w.add_tensor(name, packed, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    return Path(out).stat().st_size


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("checkpoint")
    ap.add_argument("out")
    ap.add_argument("--base", required=True)
    ap.add_argument("--type", choices=TYPES, default="q8_0")
    args = ap.parse_args()
    print(args.out, convert(args.checkpoint, args.out, args.base, args.type), "bytes")


if __name__ == "__main__":
    main()
