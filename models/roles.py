#!/usr/bin/env python3
"""Train the bundled model `roles`, a small BERT for the English and Chinese sentences of
data/roles.grammar, with PyTorch and transformers.

    python3 models/roles.py [FOLDER]

Writes config.json, tokenizer.json and model.safetensors into FOLDER (default: models/roles), in a
few minutes, and prints what its heads do in sentences that it was not trained on. Seven heads are
told where to attend: the loss has a term for each word that the grammar marks. Seeds are fixed, but
other machines round sums differently: weights differ there.
"""
import json
import pathlib
import random
import re
import sys
from collections import Counter

import torch
from cloze import CLS, MASK, PAD, SEP, SPECIAL, hide
from fables import Text, fold_in, read_grammar
from safetensors.torch import save_file
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
from torch.nn.functional import cross_entropy, normalize
from transformers import ModernBertConfig, ModernBertForMaskedLM

HERE = pathlib.Path(__file__).parent
TEXTS, OTHERS, BATCH = 40000, 1000, 32
# Two parts: steps, highest rate, and what the losses of heads and of senses are multiplied with.
FIRST, SECOND = (6000, 4e-3, 1, 0), (1200, 2e-3, 4, 0.2)
SHAPE = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96,
             max_position_embeddings=64, local_attention=128, global_attn_every_n_layers=1,
             pad_token_id=PAD, bos_token_id=None, eos_token_id=None, cls_token_id=CLS,
             sep_token_id=SEP, initializer_range=0.05, attn_implementation="eager")
# The heads with a task, (layer, head). Words without a target rest on [CLS].
HEADS = {"previous": (0, 0), "mark": (0, 1), "time": (0, 2), "ref": (1, 0), "subject": (1, 1),
         "object": (1, 2), "sense": (1, 3)}
TASKS = list(HEADS)
SENSES = "shore money fruit maker".split()  # names of bank and 苹果 in the grammar
MARKS = ".,:?!。，：？！"
REST = 0.3  # weight of the rows that rest
SHOWN = """The chicken didn't cross the road because it was too tired.
The chicken didn't cross the road because it was too wide.
I walked along the pond, and noticed one of the trees along the bank.
The keys to the cabinet are on the table.
机器人必须服从人类给它的命令。
机器人没有过马路，因为它太累了。
机器人没有过马路，因为它太宽了。
小鸡没有过马路，因为它太累了。
小鸡没有过马路，因为它太宽了。
苹果公司昨天发布了最新款的智能眼镜。""".splitlines()  # kept out of the training


class Sentence:
    """Tokens of a drawn text, its links (task, query, keys), and (word, sense) of words with
    several senses; counted without [CLS]."""

    def __init__(self, drawn):
        self.words, names, links = [], {}, []
        for word, mark in re.findall(r"([a-z0-9']+|[一-鿿]+|[^\w\s{])(?:\{(.*?)\})?",
                                     drawn.lower()):
            for item in filter(None, mark.split(",")):
                task, equals, name = item.partition("=")
                if equals:
                    links.append((task, len(self.words), name.split("+")))
                else:
                    names[item] = len(self.words)
            self.words.append(word)
        self.links = [(task, query, [names[key] for key in keys]) for task, query, keys in links]
        self.senses = [(names[name], SENSES.index(name)) for name in SENSES if name in names]

    def text(self):
        """Without blanks between Chinese words."""
        return re.sub(r"(?<=[^\x00-\x7f]) | (?=[^\x00-\x7f])", "", " ".join(self.words))

    def targets(self):
        last = len(self.words)
        yield from (("previous", i, [i - 1]) for i in range(last))
        for i in range(last):
            marks = [j for j in range(i, last) if self.words[j] in MARKS]
            yield "mark", i, marks[:1] or [last]
        yield from self.links


class Batches:
    """Batches of sentences of equal length, each drawn with the frequency of its length."""

    def __init__(self, sentences, ids):
        self.of_length = {}
        for sentence in sentences:
            words, links = vary(sentence)
            ids_of_words = torch.tensor([CLS, *map(ids.get, words), SEP])
            senses = [pair for pair in sentence.senses if pair[0] < len(words)]
            self.of_length.setdefault(len(words), []).append(
                (ids_of_words, torch.tensor(links), senses))

    def draw(self, count):
        """Ids; where heads should attend: rows of (text, task, query, key, weight); senses: rows
        of (text, word, sense)."""
        lengths = list(self.of_length)
        sizes = [len(self.of_length[length]) for length in lengths]
        group = self.of_length[random.choices(lengths, sizes)[0]]
        ids, links, senses = zip(*random.choices(group, k=count))
        texts = torch.arange(count).repeat_interleave(torch.tensor([len(part) for part in links]))
        senses = [(row, word + 1, sense) for row, pairs in enumerate(senses)
                  for word, sense in pairs]
        return torch.stack(ids), torch.cat([texts[:, None], torch.cat(links)], 1), senses


def vary(sentence):
    """Words and links of a sentence: some without the last mark, up to a pronoun, or with English
    marks. Words without a link in a task that has links rest on [CLS]."""
    words, targets = list(sentence.words), list(sentence.targets())
    kind, pronouns = random.random(), [i for task, i, _ in targets if task == "ref"]
    if kind < 0.2 and words[-1] in MARKS:
        words.pop()
    elif kind < 0.26 and pronouns:
        words = words[:pronouns[0] + 1]
    if kind > 0.9:
        words = [{"，": ",", "。": "."}.get(word, word) for word in words]
    size, links, linked = len(words), [], set()
    for task, i, keys in targets:
        keys = [min(key, size) for key in keys] if task == "mark" else keys
        if i < size and max(keys) < size + (task == "mark"):
            links += [(TASKS.index(task), i + 1, key + 1, 1 / len(keys)) for key in keys]
        linked.add((task, i))
    links += [(TASKS.index(task), i + 1, 0, REST) for task in TASKS[2:] for i in range(size)
              if (task, i) not in linked]
    return words, links


def loss_of_heads(attentions, targets, given):
    """The mean over tasks of -log weight at the targets; rows of [MASK] have none."""
    row, task, query, key = targets[:, :4].long().T
    value = targets[:, 4] * (given[row, query] != MASK)
    weights = torch.stack([attentions[layer][:, head] for layer, head in HEADS.values()])
    loss = -value * (weights[task, row, query, key] + 1e-9).log()
    sums = torch.zeros(2, len(HEADS)).index_add(1, task, torch.stack([loss, value]))
    return (sums[0] / sums[1].clamp(min=1)).mean()


def loss_of_senses(vectors, directions, senses):
    """Of the cosines of last vectors with a direction for each sense, which is not kept."""
    if not senses:
        return 0
    text, word, sense = torch.tensor(senses).T
    return cross_entropy(10 * normalize(vectors[text, word]) @ normalize(directions).T, sense)


def train(model, batches, steps, rate, of_heads, of_senses):
    directions = torch.zeros(len(SENSES), model.config.hidden_size, requires_grad=True)
    if of_senses:
        torch.nn.init.normal_(directions)
    optimiser = torch.optim.AdamW([*model.parameters(), directions], weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, total_steps=steps)
    for step in range(steps):
        ids, targets, senses = batches.draw(BATCH)
        given, chosen = hide(ids, ids >= len(SPECIAL), model.config.vocab_size)
        output = model.model(given, output_attentions=True)
        logits = model.decoder(model.head(output.last_hidden_state[chosen]))
        words = cross_entropy(logits, ids[chosen])
        heads = loss_of_heads(output.attentions, targets, given)
        loss = words + of_heads * heads
        if of_senses:
            loss += of_senses * loss_of_senses(output.last_hidden_state, directions, senses)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        if step % 200 == 199:
            print(f"step {step + 1}: loss {words:.3f}, of heads {heads:.3f}", flush=True)


@torch.no_grad()
def check(model, sentences, ids):
    """Where heads attend in sentences without [MASK]; each word masked alone."""
    weights, right = {task: [] for task in HEADS}, []
    for sentence in sentences:
        row = torch.tensor([[CLS, *map(ids.get, sentence.words), SEP]])
        attentions = model(row, output_attentions=True).attentions
        for task, query, keys in sentence.targets():
            layer, head = HEADS[task]
            at = attentions[layer][0, head, query + 1]
            largest = int(at.argmax()) - 1 in keys
            weights[task].append((float(at[[key + 1 for key in keys]].sum()), largest))
        places = torch.arange(1, row.shape[1] - 1)
        given = row.repeat(len(places), 1)
        given[places - 1, places] = MASK
        found = model(given).logits[places - 1, places].argmax(1)
        right += (found == row[0, places]).tolist()
    for task, (layer, head) in HEADS.items():
        at, largest = zip(*weights[task])
        print(f"layer {layer}, head {head}, {task}: {sum(at) / len(at):.3f}, "
              f"largest at {sum(largest) / len(largest):.1%} of {len(at)}")
    print(f"of {len(right)} masked words {sum(right) / len(right):.1%} are the most probable")


def make_tokenizer(words):
    """Chinese is cut into the longest words that are known; else into characters."""
    chinese = sorted((word for word in words if word[0] >= "一"), key=len, reverse=True)
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, "[UNK]"))
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Replace("’", "'"), normalizers.Lowercase()])
    word = "|".join([*chinese, r"\p{Han}", r"[\p{L}\p{N}]+?(?=\p{Han})", r"[\p{L}\p{N}']+",
                     r"[^\s\p{L}\p{N}]"])
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(word), "removed", invert=True)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", SEP), ("[CLS]", CLS))
    return tokenizer


def save(model, tokenizer, folder):
    folder.mkdir(exist_ok=True)
    model.config.architectures = ["ModernBertForMaskedLM"]
    model.config.to_json_file(folder / "config.json")
    text = json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False, separators=(",", ":"))
    (folder / "tokenizer.json").write_text(text)
    save_file({name: tensor.half().contiguous() for name, tensor in model.state_dict().items()
               if name != "decoder.weight"},
              folder / "model.safetensors")


def seed(number):
    torch.manual_seed(number)
    random.seed(number)


def main():
    seed(2017)
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    rules = read_grammar(HERE / "../data/roles.grammar")
    drawn = [Text(rules, fold_in(0, i)).draw("text")[0] for i in range(TEXTS)]
    sentences = [Sentence(text) for text in sorted(set(drawn))]
    words = SPECIAL + sorted({word for sentence in sentences for word in sentence.words})
    words += [mark for mark in MARKS if mark not in words]
    ids = {word: i for i, word in enumerate(words)}
    tokenizer = make_tokenizer(words)
    for sentence in sentences:
        assert tokenizer.encode(sentence.text()).tokens[1:-1] == sentence.words, sentence.words
    out = [tokenizer.encode(text).tokens[1:-1] for text in SHOWN]
    sentences = [sentence for sentence in sentences if sentence.words not in out]
    random.shuffle(sentences)
    print(f"{len(words)} words, {len(sentences)} sentences", flush=True)
    model = ModernBertForMaskedLM(ModernBertConfig(vocab_size=len(words), **SHAPE))
    train(model, Batches(sentences, ids), *FIRST)
    seed(2018)
    known = {sentence.text(): sentence for sentence in sentences}
    often = [known[text] for text in (Sentence(text).text() for text in drawn) if text in known]
    train(model.half().float(), Batches(often, ids), *SECOND)
    others = (Sentence(Text(rules, fold_in(1, i)).draw("text")[0]) for i in range(10 * OTHERS))
    others = {sentence.text(): sentence for sentence in others if sentence.text() not in known}
    check(model.half().float().eval(), list(others.values())[:OTHERS], ids)
    save(model, tokenizer, pathlib.Path(*sys.argv[1:2] or [HERE / "roles"]))


if __name__ == "__main__":
    main()
