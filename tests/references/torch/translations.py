#!/usr/bin/env python3
"""Write what transformers generates from random sources with small encoder-decoders, in float64.

    translations.py >tests/cli/generate/translations_are_those_of_transformers/cases

A line has a model of golden-families, the rules of its generation_config.json, the ids of a source,
the new ids and the score of beam search ("-": greedy). Needs transformers 5 and PyTorch.
"""
import json, os, random

import torch
from transformers import AutoModelForSeq2SeqLM, GenerationConfig

ROOT = os.path.join(os.path.dirname(__file__), "..", "golden-families")
RULES = [
    {"max_length": 9},
    {"max_new_tokens": 6, "no_repeat_ngram_size": 2, "min_length": 5},
    {"num_beams": 2, "max_length": 10},
    {"num_beams": 3, "max_length": 12, "early_stopping": True, "length_penalty": 2.0},
    {"num_beams": 3, "max_length": 12, "early_stopping": "never", "length_penalty": 0.6,
     "no_repeat_ngram_size": 3},
    {"num_beams": 2, "max_length": 8, "forced_bos_token_id": 4, "min_length": 4,
     "bad_words_ids": [[7], [5]], "renormalize_logits": True},
]
draw = random.Random(3)
for name in ["t5-gated-untied", "bart", "mbart", "m2m_100", "marian-two-vocabularies"]:
    folder = os.path.join(ROOT, name)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=torch.float64).eval()
    own = json.load(open(os.path.join(folder, "config.json")))
    ends = {key: own[key] for key in ("decoder_start_token_id", "eos_token_id", "pad_token_id",
                                      "forced_eos_token_id") if key in own}
    for rules in RULES:
        rules = rules | ends
        source = [draw.randrange(2, 13) for _ in range(draw.randrange(2, 7))]
        with torch.no_grad():
            found = model.generate(torch.tensor([source]), GenerationConfig(**rules),
                                   return_dict_in_generate=True, output_scores=True)
        beams = rules.get("num_beams", 1) > 1
        score = f"{found.sequences_scores[0].item():.5f}" if beams else "-"
        ids = ",".join(map(str, found.sequences[0].tolist()[1:]))
        print(name, json.dumps(rules, separators=(",", ":")), ",".join(map(str, source)), ids, score)
