#!/usr/bin/env python3
"""Train `demo`, a sparse autoencoder of what leaves the last layer of `tiny`, with PyTorch: 128
features, of which the 8 largest of a token are active (TopK), in the files of SAELens.

    python3 models/demo.py [FOLDER]

Writes cfg.json and sae_weights.safetensors into FOLDER (default: models/demo) in a few minutes.
Needs the library (`make`; LIBATTN=build/libattn.so). Seeds are fixed, but other machines round sums
differently: weights differ there.
"""
import json
import pathlib
import sys

import torch
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "lib/bindings/python"), str(HERE)]
import attn
from fables import Text, fold_in, read_grammar

LAYER, FEATURES, ACTIVE, STEPS, TEXTS = 1, 128, 8, 4000, 12000
TESTED, BATCH, RATE, PATIENCE = 20000, 1024, 3e-3, 60


def rows():
    """The stream after the last layer, [tokens, channels], of texts of the grammar."""
    grammar = read_grammar(HERE.parent / "data/fables.grammar")
    texts = [Text(grammar, fold_in(1, i)).draw("text")[0] for i in range(TEXTS)]
    model = attn.Model("tiny")
    found = model.run(texts, show="resid_post", layers=[LAYER])
    return torch.cat([torch.from_numpy(run["h.%d.resid_post" % LAYER].copy()) for run in found])


def encode(x, W_enc, b_enc, b_dec):
    before = (x - b_dec) @ W_enc + b_enc
    values, indices = before.topk(ACTIVE, dim=1)
    return before, torch.zeros_like(before).scatter(1, indices, values.relu())


def train(x):
    width = x.shape[1]
    b_dec = x.mean(0).clone().requires_grad_()
    W_dec = torch.nn.functional.normalize(torch.randn(FEATURES, width), dim=1).requires_grad_()
    W_enc = W_dec.detach().T.clone().requires_grad_()
    b_enc = torch.zeros(FEATURES, requires_grad=True)
    optimizer = torch.optim.Adam([W_enc, b_enc, W_dec, b_dec], lr=RATE, betas=(0.9, 0.99))
    last = torch.zeros(FEATURES)  # the step at which a feature was last active
    draws = torch.Generator().manual_seed(1)
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1, (step + 1) / 100) * min(1, 2 * (STEPS - step) / STEPS)
        batch = x[torch.randint(0, len(x), (BATCH,), generator=draws)]
        before, f = encode(batch, W_enc, b_enc, b_dec)
        error = batch - (f @ W_dec + b_dec)
        loss = error.pow(2).sum(1).mean()
        last[f.detach().gt(0).any(0)] = step
        dead = last < step - PATIENCE
        if dead.any():  # dead features model the error (AuxK; Gao et al., 2024)
            values, indices = before.masked_fill(~dead, -torch.inf).topk(
                min(ACTIVE * 4, int(dead.sum())), dim=1)
            rest = torch.zeros_like(before).scatter(1, indices, values.relu()) @ W_dec
            loss = loss + (error.detach() - rest).pow(2).sum(1).mean() / 16
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            W_dec /= W_dec.norm(dim=1, keepdim=True)
    return {"W_enc": W_enc, "b_enc": b_enc, "W_dec": W_dec, "b_dec": b_dec}


def main():
    to = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE / "demo")
    torch.manual_seed(0)
    x = rows()
    tested, x = x[-TESTED:], x[:-TESTED]
    weights = {name: w.detach().contiguous() for name, w in train(x).items()}
    _, f = encode(tested, weights["W_enc"], weights["b_enc"], weights["b_dec"])
    error = tested - (f @ weights["W_dec"] + weights["b_dec"])
    print("explained variance %.4f, L0 %.2f, never active: %d of %d"
          % (1 - error.pow(2).sum() / (tested - tested.mean(0)).pow(2).sum(),
             f.gt(0).sum(1).float().mean(), (f.gt(0).sum(0) == 0).sum(), FEATURES))
    to.mkdir(parents=True, exist_ok=True)
    save_file(weights, to / "sae_weights.safetensors")
    config = {
        "architecture": "topk", "d_in": x.shape[1], "d_sae": FEATURES, "k": ACTIVE,
        "dtype": "float32", "device": "cpu", "apply_b_dec_to_input": True,
        "normalize_activations": "none", "reshape_activations": "none",
        "rescale_acts_by_decoder_norm": False,
        "metadata": {"sae_lens_version": "6.54.12", "model_name": "tiny",
                     "hook_name": "blocks.%d.hook_resid_post" % LAYER, "hook_head_index": None,
                     "prepend_bos": False, "context_size": 128,
                     "dataset_path": "data/fables.grammar, %d texts" % TEXTS}}
    (to / "cfg.json").write_text(json.dumps(config))


if __name__ == "__main__":
    main()
