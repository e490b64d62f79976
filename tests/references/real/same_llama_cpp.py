"""Compare attn-cli with llama.cpp: ids of both models' files, and logits of SmolLM2 in F32.

    python same_llama_cpp.py FOLDER

Logits of quantised files are not checked: llama.cpp rounds the vectors multiplied by their matrices
to eight bits. The difference is printed. The last line is `N passed, N failed`.
"""
import os
import subprocess
import sys

import torch
from models import GGUF
from program import ids_of, tensors_of
from sentences import TEXTS, sentences
from tally import Tally

sys.path.insert(0, f"{os.path.dirname(os.path.abspath(__file__))}/../peers")
from llama import IN_FLOAT32, Llama  # noqa: E402

BOUND = 2e-5  # of the largest logit


def compare_ids(tally, name, path):
    texts = sentences()
    found, llama = ids_of(texts, path), Llama(path)
    expected, _ = llama.ids(texts)
    llama.close()
    wrong = [i for i in range(len(texts)) if found[i] != expected[i]]
    for i in wrong[:3]:
        print(f"{texts[i]!r}: llama.cpp {expected[i]}, attn-cli {found[i]}")
    tally.check(not wrong, f"{name}: ids of {len(texts)} sentences, {len(wrong)} differ")


def off_by(path, text):
    """With a float32 cache and without flash attention, llama.cpp computes in float32."""
    llama = Llama(path, **IN_FLOAT32)
    ids = llama.ids([text])[0][0]
    expected = torch.tensor(llama.logits(ids))
    llama.close()
    found = tensors_of(path, ids, "--show", "logits")["logits"]
    return float((found - expected).abs().max() / expected.abs().max())


def main():
    (folder,) = sys.argv[1:]
    tally = Tally()
    for name, file in GGUF.items():
        if os.path.exists(f"{folder}/{file}"):
            compare_ids(tally, name, f"{folder}/{file}")
    plain = f"{folder}/smollm2-f32.gguf"
    if not os.path.exists(plain):
        subprocess.check_call([sys.executable, f"{os.path.dirname(__file__)}/widen.py",
                               f"{folder}/{GGUF['smollm2']}", plain, "F32"])
    for text in TEXTS:
        off = off_by(plain, text)
        tally.check(off <= BOUND, f"F32: logits of '{text}', off by {off:.1e}")
    quantised = off_by(f"{folder}/{GGUF['smollm2']}", TEXTS[0])
    print(f"Q4_1: off by {quantised:.1e}")
    tally.close()


main()
