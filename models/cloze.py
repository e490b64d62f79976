#!/usr/bin/env python3
"""Train the bundled model `cloze`, a small BERT for the texts of the rule `cloze` in
data/fables.grammar, with PyTorch and transformers.

    python3 models/cloze.py [FOLDER]

Writes config.json, tokenizer.json and model.safetensors into FOLDER (default: models/cloze), in ten
minutes, and prints how many masked words it finds in texts that it was not trained on. Seeds are
fixed, but other machines round sums differently: weights differ there.
"""
import pathlib
import random
import re
import sys
from collections import Counter

import torch
from fables import Text, fold_in, read_grammar
from safetensors.torch import save_file
from tokenizers import BertWordPieceTokenizer
from torch.nn.functional import cross_entropy
from transformers import BertConfig, BertForMaskedLM

HERE = pathlib.Path(__file__).parent
TEXTS, HELD_OUT, STEPS, BATCH = 60000, 1000, 24000, 64
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PAD, UNK, CLS, SEP, MASK = range(len(SPECIAL))
PIECE = "ed"  # these words are two tokens each, such as ask ##ed
IN_PIECES = "asked counted opened painted thanked walked wanted washed watched looked".split()
SHAPE = dict(hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=192,
             max_position_embeddings=64, pad_token_id=PAD, initializer_range=0.05,
             hidden_dropout_prob=0, attention_probs_dropout_prob=0)


def tokens_of(text):
    for word in re.findall(r"\w+|[^\w\s]", text.lower()):
        yield from (word[:-len(PIECE)], "##" + PIECE) if word in IN_PIECES else (word,)


def draw_texts():
    rules = read_grammar(HERE / "../data/fables.grammar")
    return [Text(rules, fold_in(0, i)).draw("cloze")[0] for i in range(TEXTS)]


class Batches:
    """Examples as BERT's: [CLS] A [SEP], or [CLS] A [SEP] B [SEP] with B in the second segment."""

    def __init__(self, texts, ids):
        self.sentences = [[[ids[token] for token in tokens_of(part)]
                           for part in re.split(r"(?<=[.!]) ", text)] for text in texts]
        self.words = range(len(SPECIAL), len(ids))

    def example(self):
        kind = random.random()
        if kind < 0.1:  # random words twice: only copying helps
            series = random.choices(self.words, k=random.randint(3, 12))
            return (series, series) if kind < 0.05 else (series + series, [])
        parts = random.choice(self.sentences)
        if kind < 0.22:
            return sum(parts, []), sum(random.choice(self.sentences), [])
        return (parts[0], sum(parts[1:], [])) if kind < 0.6 else (sum(parts, []), [])

    def draw(self, count):
        """Ids, segments and which ids are words, not special tokens."""
        rows = [self.example() for _ in range(count)]
        first = [[CLS, *a, SEP] for a, _ in rows]
        second = [[*b, SEP] if b else [] for _, b in rows]
        ids = torch.full((count, max(len(a) + len(b) for a, b in zip(first, second))), PAD)
        segments = torch.zeros_like(ids)
        for row, (a, b) in enumerate(zip(first, second)):
            ids[row, :len(a) + len(b)] = torch.tensor(a + b)
            segments[row, len(a):len(a) + len(b)] = 1
        return ids, segments, ids >= len(SPECIAL)


def hide(ids, is_word, count):
    """BERT's masking: of the chosen words 80 % become [MASK], 10 % a random word."""
    chosen = is_word & (torch.rand(ids.shape) < 0.2)
    kind = torch.rand(ids.shape)
    words = torch.randint(len(SPECIAL), count, ids.shape)
    given = torch.where(chosen & (kind < 0.8), MASK, ids)
    given = torch.where(chosen & (kind > 0.9), words, given)
    unknown = is_word & ~chosen & (torch.rand(ids.shape) < 0.01)
    return torch.where(unknown, UNK, given), chosen


def train(model, batches):
    optimiser = torch.optim.AdamW(model.parameters(), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 4e-3, total_steps=STEPS)
    for step in range(STEPS):
        ids, segments, is_word = batches.draw(BATCH)
        given, chosen = hide(ids, is_word, model.config.vocab_size)
        logits = model(given, attention_mask=ids != PAD, token_type_ids=segments).logits
        loss = cross_entropy(logits[chosen], ids[chosen])
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        if step % 500 == 499:
            print(f"step {step + 1}: loss {loss:.3f}", flush=True)


@torch.no_grad()
def check(model, sentences):
    """Mask each token of each sentence alone: is the most probable one right?"""
    right = among = total = 0
    for parts in sentences:
        ids = torch.tensor([CLS, *sum(parts, []), SEP])
        places = torch.arange(1, len(ids) - 1)
        given = ids.repeat(len(places), 1)
        given[places - 1, places] = MASK
        logits = model(given).logits[places - 1, places]
        top = logits.topk(5).indices == ids[places, None]
        right, among = right + int(top[:, 0].sum()), among + int(top.any(1).sum())
        total += len(places)
    print(f"of {total} masked tokens {right / total:.1%} are the most probable, "
          f"{among / total:.1%} among the five most probable")


def save(model, ids, folder):
    folder.mkdir(exist_ok=True)
    model.config.architectures = ["BertForMaskedLM"]
    model.config.to_json_file(folder / "config.json")
    BertWordPieceTokenizer(ids).save(str(folder / "tokenizer.json"), pretty=False)
    tensors = {name: tensor.contiguous() for name, tensor in model.state_dict().items()
               if "decoder" not in name and "position_ids" not in name}
    save_file(tensors, folder / "model.safetensors")


def main():
    torch.manual_seed(2018)
    random.seed(2018)
    torch.set_num_threads(1)
    texts = draw_texts()
    words = SPECIAL + sorted({token for text in texts for token in tokens_of(text)})
    ids = {word: i for i, word in enumerate(words)}
    count = Counter(texts)
    held_out = set(random.sample([text for text in texts if count[text] == 1], HELD_OUT))
    model = BertForMaskedLM(BertConfig(vocab_size=len(words), **SHAPE))
    train(model, Batches([text for text in texts if text not in held_out], ids))
    check(model.eval(), Batches(sorted(held_out), ids).sentences)
    save(model, ids, pathlib.Path(*sys.argv[1:2] or [HERE / "cloze"]))


if __name__ == "__main__":
    main()
