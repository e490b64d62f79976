#!/usr/bin/env python3
"""Compare the logits of heads of classes, and the contacts of ESM, with transformers: its own classes
for each task, with random weights.

usage: classes.py BUILD/attn-cli

Prints the models that differ by more than 1e-5, and "N models agree". Needs transformers and torch.
"""
import json, os, subprocess, sys, tempfile, warnings

os.environ |= {"TRANSFORMERS_VERBOSITY": "error", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
warnings.filterwarnings("ignore")
import torch, transformers  # noqa: E402

transformers.utils.logging.disable_progress_bar()

SIZES = dict(vocab_size=64, hidden_size=24, num_hidden_layers=2, num_attention_heads=3,
             intermediate_size=40, max_position_embeddings=40, initializer_range=0.3, pad_token_id=0)
WIDTHS = dict(vocab_size=64, n_embd=24, n_layer=2, n_head=3, pad_token_id=0, initializer_range=0.3)
MODELS = {
    "Bert": SIZES, "Roberta": SIZES | dict(pad_token_id=1), "XLMRoberta": SIZES | dict(pad_token_id=1),
    "Camembert": SIZES | dict(pad_token_id=1), "MPNet": SIZES | dict(pad_token_id=1),
    "DistilBert": dict(vocab_size=64, dim=24, n_layers=2, n_heads=3, hidden_dim=40,
                       max_position_embeddings=40, initializer_range=0.3),
    "Electra": SIZES | dict(embedding_size=16), "Albert": SIZES | dict(embedding_size=16),
    "DebertaV2": SIZES | dict(relative_attention=True, position_buckets=8, share_att_key=True,
                              pos_att_type=["c2p", "p2c"], norm_rel_ebd="layer_norm",
                              position_biased_input=False, pooler_hidden_act="relu"),
    "ModernBert": SIZES | dict(bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2),
    "GPT2": WIDTHS | dict(n_positions=40), "Bloom": WIDTHS | dict(hidden_size=24),
    "OPT": SIZES | dict(ffn_dim=40, word_embed_proj_dim=16, init_std=0.3),
    "Llama": SIZES, "Qwen2": SIZES | dict(num_key_value_heads=3), "GPTNeoX": SIZES,
    "Gemma": SIZES | dict(num_key_value_heads=3, head_dim=8),
}
LAST = "GPT2", "Bloom", "OPT", "Llama", "Qwen2", "GPTNeoX", "Gemma"
IDS = [3, 7, 9, 11, 60, 5, 2, 33, 12, 8]
NAMES = {0: "BAD", 1: "so so", 2: "GOOD"}


def models():
    for name, sizes in MODELS.items():
        for task in "SequenceClassification", "TokenClassification", "QuestionAnswering", "MultipleChoice":
            refused = task == "QuestionAnswering" and name in ("Llama", "Qwen2") or \
                task == "MultipleChoice" and name == "Electra"
            if hasattr(transformers, f"{name}For{task}") and not refused:
                yield name, task, sizes


def make(name, task, sizes, folder):
    torch.manual_seed(0)
    named = task.endswith("Classification")
    config = getattr(transformers, name + "Config")(**sizes, **(dict(id2label=NAMES) if named else {}))
    model = getattr(transformers, f"{name}For{task}")(config).eval()
    with torch.no_grad():
        for tensor in model.parameters():
            if tensor.dim() == 1:  # biases and scales, which are 0 and 1
                tensor.add_(torch.randn_like(tensor) * 0.1)
    model.save_pretrained(folder)
    return model.double()


def off(program, name, task, sizes):
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        model, ids = make(name, task, sizes, folder), torch.tensor([IDS])
        out = model(ids[None] if task == "MultipleChoice" else ids)
        wanted = torch.stack([out.start_logits[0], out.end_logits[0]], -1) \
            if task == "QuestionAnswering" else out.logits[0]
        line = [program, "run", "-m", folder, "--ids", ",".join(map(str, IDS)), "--show", "logits",
                "--format", "json"]
        found = json.loads(subprocess.run(line, capture_output=True, check=True).stdout)
        found = torch.tensor(found["tensors"]["logits"], dtype=torch.float64)
        if task in ("SequenceClassification", "MultipleChoice"):
            found = found[-1 if name in LAST else 0]
            line = [program, "score", "--classes", *line[2:6], "--format", "json"]
            rows = json.loads(subprocess.run(line, capture_output=True, check=True).stdout)
            shares = torch.tensor([row["probability"] for row in rows["tables"]["classes"]])
            expected = wanted.softmax(-1) if len(found) > 1 else wanted.sigmoid()
            if (shares - expected.reshape(shares.shape)).abs().max() > 1e-5:
                return float("inf")
        return (found - wanted.reshape(found.shape)).abs().max().item()


def contacts_off(program, name, task, sizes):
    ids = [0, *IDS[:6], 2, *IDS[7:], 2]
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        model = make(name, task, sizes | dict(attn_implementation="eager"), folder)
        wanted = model.predict_contacts(torch.tensor([ids]), torch.ones(1, len(ids)))[0]
        line = [program, "heads", "--contacts", "-m", folder, "--ids", ",".join(map(str, ids)),
                "--format", "json"]
        found = json.loads(subprocess.run(line, capture_output=True, check=True).stdout)
        found = torch.tensor(found["tensors"]["contacts"], dtype=torch.float64)
        return (found - wanted).abs().max().item()


ESM = SIZES | dict(pad_token_id=1, mask_token_id=4)
PROTEINS = [("Esm", "MaskedLM", ESM | dict(position_embedding_type="rotary", token_dropout=True)),
            ("Esm", "MaskedLM", ESM | dict(position_embedding_type="absolute", num_hidden_layers=5)),
            ("Esm", "MaskedLM", ESM | dict(position_embedding_type="rotary", num_attention_heads=6,
                                           emb_layer_norm_before=True))]
count = 0
for compare, model in [(off, model) for model in models()] + [(contacts_off, p) for p in PROTEINS]:
    error = compare(sys.argv[1], *model)
    if error > 1e-5:
        print(f"{model[0]}For{model[1]}: {error:.1e}")
    count += error <= 1e-5
print(count, "models agree")
