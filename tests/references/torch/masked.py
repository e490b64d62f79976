"""Write masked/NAME/minicons.csv: scores of tokens by minicons' MaskedLMScorer, in float64, with the
tokenizers of tokenizers/NAME-like; and with "new", first the random models.

    pip install torch transformers minicons
    python3 tests/references/torch/masked.py [new]
"""
import csv
import pathlib
import sys

import torch
from minicons.scorer import MaskedLMScorer
from transformers import AutoModelForMaskedLM, BertConfig, BertForMaskedLM
from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaForMaskedLM

TESTS = pathlib.Path(__file__).resolve().parents[1]
TEXTS = ["The keys to the cabinet are unbelievable, aren't they?", "Life is short, eat dessert first."]
PAIR = {"bert": "[SEP]", "roberta": "</s></s>"}  # as the tokenizers join two texts
NAMES = ["cls_token", "sep_token", "mask_token", "pad_token", "unk_token"]
TOKENS = {"bert": ["[CLS]", "[SEP]", "[MASK]", "[PAD]", "[UNK]"],
          "roberta": ["<s>", "</s>", "<mask>", "<pad>", "<unk>"]}
SHAPE = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2,
         "intermediate_size": 12, "max_position_embeddings": 48}

# minicons 0.3.39 calls a method that transformers 5 lacks
PreTrainedTokenizerFast.batch_encode_plus = PreTrainedTokenizerFast.__call__


def make(folder):
    torch.manual_seed(0)
    model = (BertForMaskedLM(BertConfig(vocab_size=517, **SHAPE)) if folder.name == "bert" else
             RobertaForMaskedLM(RobertaConfig(vocab_size=1761, type_vocab_size=1, pad_token_id=1,
                                              bos_token_id=0, eos_token_id=2, **SHAPE)))
    for name, parameter in model.named_parameters():
        scale = "norm.weight" in name.lower()
        torch.nn.init.normal_(parameter, float(scale), 0.3 if scale else 0.7)
    model.half().save_pretrained(folder)


def with_segments(model, separator):
    """minicons drops token types: make them of the ids again."""
    forward = model.forward

    def call(input_ids, **more):
        ends = input_ids == separator
        types = (ends.cumsum(1) - ends.long()).clamp(max=1)
        return forward(input_ids, token_type_ids=types, **more)

    model.forward = call


for name, tokens in TOKENS.items():
    folder = TESTS / "masked" / name
    if sys.argv[1:] == ["new"]:
        make(folder)
    file = TESTS.parent / "texts" / "tokenizers" / f"{name}-like" / "tokenizer.json"
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(file), **dict(zip(NAMES, tokens)))
    model = AutoModelForMaskedLM.from_pretrained(folder, dtype=torch.float64)
    scorer = MaskedLMScorer(model, "cpu", tokenizer=tokenizer)
    with open(folder / "minicons.csv", "w") as out:
        writer = csv.writer(out, lineterminator="\n")
        for metric in ["original", "within_word_l2r"]:
            for text in TEXTS:
                for _, score in scorer.token_score([text], PLL_metric=metric)[0]:
                    writer.writerow([metric, f"{float(score):.6f}"] if score else [metric, ""])
            for more in ["are rusty", "is unbelievable"]:
                total = scorer.conditional_score(["The keys to the cabinet"], [more],
                                                 PLL_metric=metric, reduction=lambda x: x.sum())
                writer.writerow([metric, f"{float(total[0]):.6f}"])
        if name == "bert":
            with_segments(model, tokenizer.sep_token_id)
        for metric in ["original", "within_word_l2r"]:
            for token, score in scorer.token_score([PAIR[name].join(TEXTS)], PLL_metric=metric)[0]:
                if token not in tokenizer.all_special_tokens:
                    writer.writerow([f"pair {metric}", f"{float(score):.6f}"])
