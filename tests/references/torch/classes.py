#!/usr/bin/env python3
"""Compare the logits of heads of classes, and the contacts of ESM, with transformers: each of its
classes for a task whose family has a golden model in tests/references/golden-families, with the config of that
and random weights.

usage: classes.py BUILD/attn-cli

Prints the models that differ by more than 1e-5, and "N models agree". Needs transformers and torch.
"""
import json, pathlib, subprocess, sys, tempfile

from peer import LIMIT, ids_of, results
import torch, transformers
from transformers.models.auto import modeling_auto

transformers.utils.logging.disable_progress_bar()

TASKS = "SEQUENCE_CLASSIFICATION", "TOKEN_CLASSIFICATION", "QUESTION_ANSWERING", "MULTIPLE_CHOICE"
NAMES = {0: "BAD", 1: "so so", 2: "GOOD"}
# For sizes that transformers' configs refuse.
OTHER = {"gemma2": {"query_pre_attn_scalar": 8}, "deepseek_v2": {"hidden_size": 12}}
ONE = {"id2label": {0: "LABEL_0"}}
VARIANTS = [("bert", TASKS[0], ONE), ("qwen3", TASKS[0], ONE),
            ("bert", TASKS[0], {"problem_type": "multi_label_classification"}),
            ("modernbert", TASKS[0], {"classifier_pooling": "mean"}),
            ("modernbert", TASKS[3], {"classifier_pooling": "mean"}),
            ("electra", TASKS[3], {"summary_activation": "tanh"})]


def models():
    golden = pathlib.Path(__file__).parent.parent / "golden-families"
    folders = [(folder, {}, TASKS) for folder in sorted(golden.iterdir())]
    folders += [(golden / name, keys, [task]) for name, task, keys in VARIANTS]
    for folder, variant, tasks in folders:
        keys = json.loads((folder / "config.json").read_text())
        if "max_trained_positions" in keys or keys.get("position_embedding_type") == "alibi":
            continue  # NomicBERT and JinaBERT, with the keys of their authors' code
        if keys["architectures"][0].endswith("EncoderModel"):
            continue  # an encoder alone: its family has another folder
        for name in "architectures", "id2label", "label2id":
            keys.pop(name, None)
        for task in tasks:
            names = getattr(modeling_auto, f"MODEL_FOR_{task}_MAPPING_NAMES")
            if keys["model_type"] in names:
                named = {"id2label": NAMES} if task.endswith("CLASSIFICATION") else {}
                yield task, names[keys["model_type"]], keys | OTHER.get(folder.name, {}) | named | variant


def make(name, keys, folder):
    torch.manual_seed(0)
    config = transformers.CONFIG_MAPPING[keys["model_type"]].from_dict(keys)
    of_text = config.get_text_config()
    of_text.pad_token_id = of_text.pad_token_id or 0
    config._experts_implementation = "eager"  # which float64 has
    if name == "EsmForMaskedLM":
        config._attn_implementation = "eager"  # which returns maps
    model = getattr(transformers, name)(config).eval()
    with torch.no_grad():
        for tensor in model.parameters():
            tensor.copy_(torch.randn_like(tensor) * 0.2 + (tensor if tensor.dim() == 1 else 0))
    model.float().save_pretrained(folder)
    return model.double(), of_text


def run(program, folder, ids, *command):
    return results(program, *command, "-m", folder, "--ids", ids_of(ids))[0]


def off(program, task, name, keys):
    with tempfile.TemporaryDirectory() as folder:
        model, config = make(name, keys, folder)
        ids = [i % min(config.vocab_size, 60) for i in (3, 7, 9, 11, 58, 5, 6, 33, 12, 8)]
        if config.is_encoder_decoder:
            ids[-1] = config.eos_token_id
        given = torch.tensor([[ids]] if task == "MULTIPLE_CHOICE" else [ids])
        out = model(given, attention_mask=torch.ones_like(given))
        if name == "ModernBertForSequenceClassification":  # gradients, through a mean of tokens, too
            (out.logits[0, 2] - out.logits[0, 0]).backward()
            line = "run", "--gradient", "GOOD:BAD", "--show", "embedding"
            own = torch.tensor(run(program, folder, ids, *line)["tensors"]["gradient.token_rows"])
            wanted = model.get_input_embeddings().weight.grad
            own = torch.zeros(wanted.shape).index_add_(0, given[0], own)
            if (own - wanted).abs().max() > LIMIT:
                return float("inf")
        wanted = torch.stack([out.start_logits[0], out.end_logits[0]], -1) \
            if task == "QUESTION_ANSWERING" else out.logits[0]
        wanted = wanted.detach()
        if task in ("TOKEN_CLASSIFICATION", "QUESTION_ANSWERING"):
            found = torch.tensor(run(program, folder, ids, "run", "--show", "logits")["tensors"]["logits"])
            return (found - wanted).abs().max().item()
        rows = run(program, folder, ids, "score", "--classes")["tables"]["classes"]
        found = torch.tensor([[row["logit"], row["probability"]] for row in rows])
        each = len(rows) == 1 or "problem_type" in keys
        wanted = torch.stack([wanted, wanted.sigmoid() if each else wanted.softmax(-1)], -1)
        return (found - wanted).abs().max().item()


def contacts_off(program, task, name, keys):
    ids = [0, 3, 7, 9, 11, 60, 5, 2, 33, 12, 8, 2]
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        model, _ = make(name, keys, folder)
        wanted = model.predict_contacts(torch.tensor([ids]), torch.ones(1, len(ids)))[0]
        found = torch.tensor(run(program, folder, ids, "heads", "--contacts")["tensors"]["contacts"])
        return (found - wanted).abs().max().item()


ESM = dict(model_type="esm", vocab_size=64, hidden_size=24, num_hidden_layers=2, num_attention_heads=3,
           intermediate_size=40, max_position_embeddings=40, pad_token_id=1, mask_token_id=4)
PROTEINS = [("contacts", "EsmForMaskedLM", ESM | dict(position_embedding_type="rotary", token_dropout=True)),
            ("contacts", "EsmForMaskedLM", ESM | dict(position_embedding_type="absolute", num_hidden_layers=5)),
            ("contacts", "EsmForMaskedLM", ESM | dict(position_embedding_type="rotary", num_attention_heads=6,
                                                      emb_layer_norm_before=True))]
def trained_off(program, _, base, __):
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        data = pathlib.Path(folder, "t.csv")
        data.write_text("text,label\nthe cat,so so\nthe old door,7\nthe keys,so so\n")
        subprocess.run([program, "train", "-q", "-d", data, "--classes", "-m", base, "--steps", "2",
                        "-o", folder + "/new"], check=True)
        model = transformers.AutoModelForSequenceClassification.from_pretrained(folder + "/new").double()
        ids = [3, 1, 4, 2, 5, 9]
        rows = run(program, folder + "/new", ids, "score", "--classes")["tables"]["classes"]
        assert [row["class"] for row in rows] == list(model.config.id2label.values()) == ["7", "so so"]
        wanted = model(torch.tensor([ids])).logits[0]
        return (torch.tensor([row["logit"] for row in rows]) - wanted).abs().max().item()


count = 0
OTHERS = {"contacts": contacts_off, "trained": trained_off}
for task, name, keys in [*models(), *PROTEINS, ("trained", "tiny", ESM), ("trained", "cloze", ESM)]:
    try:
        error = OTHERS.get(task, off)(sys.argv[1], task, name, keys)
    except RuntimeError as failure:
        print(f"{name}: {failure}")
        continue
    if not error <= LIMIT:
        print(f"{name} of {keys['model_type']}: {error:.1e}")
    count += error <= LIMIT
print(f"{count} models agree")
