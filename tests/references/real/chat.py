#!/usr/bin/env python3
"""Replace attn-cli in a command-line case: `tokenize --only-ids --chat --model DIR TEXT` with
apply_chat_template of transformers.

    ATTN=tests/references/real/chat.py ROOT=$PWD sh tests/cli/tokenize/CASE/cmd   # in an empty folder
"""
import json
import sys

from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

folder, text = sys.argv[-2:]
template = PreTrainedTokenizerFast.from_pretrained(folder)
whole = template.apply_chat_template([{"role": "user", "content": text}], tokenize=False,
                                     add_generation_prompt=True)
tokenizer = Tokenizer.from_file(folder + "/tokenizer.json")
found = tokenizer.encode(whole, add_special_tokens=False)
with open(folder + "/tokenizer.json") as file:  # the library removes gaps in ids
    added = {token["content"]: token["id"] for token in json.load(file)["added_tokens"]}
print(*(added.get(token, id) for token, id in zip(found.tokens, found.ids)))
