"""Compare heads, lens, attribute, patch and --ablate with TransformerLens, and score with minicons,
on SmolLM2 in float32.

    python same_science.py FOLDER [heads score …]      FOLDER of models.py

The last line is `N passed, N failed`.
"""
import copy
import math
import sys
import tempfile
import warnings

import pandas
import torch
from minicons.scorer import IncrementalLMScorer
from models import GGUF
from program import json_of, listed, rows_of, tensors_of
from tally import Tally
from transformer_lens import head_detector, patching
from transformer_lens.model_bridge import TransformerBridge
from transformer_lens.tools.analysis.attribution_patching import attribution_patch
from transformers import AutoModelForCausalLM, AutoTokenizer

BOUND = 1e-4
CASES = [  # clean text, corrupt text, answer, other answer
    ("When Mary and John went to the store, John gave a drink to",
     "When Mary and John went to the store, Mary gave a drink to", " Mary", " John"),
    ("After Tom and James went to the park, James gave the ball to",
     "After Tom and James went to the park, Tom gave the ball to", " Tom", " James"),
    ("The keys to the cabinet", "The key to the cabinet", " are", " is"),
    ("The books on the old shelf", "The book on the old shelf", " were", " was"),
    ("The capital of France is the city of", "The capital of Italy is the city of", " Paris",
     " Rome"),
]
SCORED = [
    "The keys to the cabinet are on the table.",
    "The horse raced past the barn fell, didn't it?",
    "Colorless green ideas sleep furiously while nobody's watching.",
    "L'enfant qui dormait s'est réveillé en 1984.",
]
NOUNS = ["key", "horse", "lawyer who the editor hired", "well-known author", "girl", "cabinet", "student", "pie",
         "old café", "teacher"]
STIMULI = [f"{start} {noun} {end}" for noun in NOUNS for start, end in (
    ("The", "near the tables was sold yesterday."), ("Nobody's", "didn't fall, did it?"),
    ("“Is every", "here?” she asked in 1984;"), ("Some", "and 12 others raced past the barn fell"))]
MASKS = {
    "previous-token": head_detector.get_previous_token_head_detection_pattern,
    "duplicate-token": head_detector.get_duplicate_token_head_detection_pattern,
    "induction": head_detector.get_induction_head_detection_pattern,
}
TEXTS, HALF = 16, 25  # the repeated random tokens of `heads`


class Lens:
    def __init__(self, folder):
        self.folder = folder
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.plain = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32,
                                                          attn_implementation="eager").eval()
        self.bridge = TransformerBridge.boot_transformers(
            folder, hf_model=self.plain, tokenizer=self.tokenizer, dtype=torch.float32)
        self.bridge.to_tokens, self.to_tokens = lambda ids: ids, self.bridge.to_tokens
        self.bridge.eval()
        self.folded = TransformerBridge.boot_transformers(  # W_U includes the last norm's scale
            folder, hf_model=copy.deepcopy(self.plain), tokenizer=self.tokenizer)
        self.folded.enable_compatibility_mode(disable_warnings=True)
        self.folded.to_tokens = lambda ids: ids
        self.folded.eval()

    def ids(self, text):
        return self.tokenizer(text)["input_ids"]

    def cache(self, ids):
        return self.bridge.run_with_cache(torch.tensor([ids]))


def repeated(limit):
    """The repeated random tokens of `heads`: lib/math/rng.c with seed 0."""
    word = 2**64 - 1

    def mix(z):
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & word
        z = (z ^ z >> 27) * 0x94D049BB133111EB & word
        return z ^ z >> 31

    def fold_in(key, number):
        return mix(mix(key + 0x9E3779B97F4A7C15 & word) ^ (number * 0xD1342543DE82EF95 + 1 & word))
    for text in range(TEXTS):
        yield 2 * [fold_in(fold_in(0, text), i) * limit >> 64 for i in range(HALF)]


def compare_heads(tally, model, lens):
    """TransformerLens divides the weight on the pattern by the number of queries, `heads` by the
    number of queries with a key in it: TL = ours · queries with a key / all queries."""
    found = json_of("heads", "-m", model, "--score", ",".join(MASKS))["tables"]["heads"]
    layers = found[-1]["layer"] + 1
    sums, places = dict.fromkeys(MASKS, 0), dict.fromkeys(MASKS, 0)
    for ids in repeated(lens.plain.config.vocab_size):
        tokens = torch.tensor([ids])
        _, cache = lens.bridge.run_with_cache(tokens, remove_batch_dim=True)
        for name, mask in MASKS.items():
            pattern = mask(tokens)
            score = head_detector.detect_head(lens.bridge, tokens, pattern, cache=cache)
            sums[name] = sums[name] + score * len(ids)
            places[name] += int((pattern.sum(1) > 0).sum())
    for name in MASKS:
        ours = torch.tensor([row[name] for row in found]).reshape(layers, -1)
        tally.near(ours, sums[name] / places[name], BOUND, f"heads: {name} of {ours.numel()} heads")


def in_nats(row):
    return float(row["surprisal_nats"] or "nan")


def compare_score(tally, model, lens):
    scorer = IncrementalLMScorer(lens.plain, "cpu", tokenizer=lens.tokenizer)
    for text in SCORED:
        for bos in False, True:
            options = ["--special", "bos" if bos else "none"]
            more = f"{' after <|im_start|>' if bos else ''}: '{text}'"
            expected = [score for _, score in
                        scorer.token_score(text, surprisal=True, bos_token=bos)[0]]
            found = [token["surprisal_nats"] for token in
                     json_of("score", "-m", model, *options, text)["tables"]["scores"]]
            tally.check(len(found) == len(expected), f"score: number of tokens{more}")
            tally.near(torch.tensor(expected[1:]), torch.tensor(found[1:]), BOUND,
                       f"score: surprisal of tokens{more}")


def compare_stimuli(tally, model, lens):
    """40 sentences of a table: words, sums, regions, pairs and means of conditions, all after <|im_start|>."""
    scorer = IncrementalLMScorer(lens.plain, "cpu", tokenizer=lens.tokenizer)
    with tempfile.TemporaryDirectory() as folder:
        table, pairs = f"{folder}/stimuli.csv", f"{folder}/pairs.csv"
        conditions = ["plain" if i % 2 else "marked" for i in range(len(STIMULI))]
        pandas.DataFrame({"condition": conditions, "text": STIMULI}).to_csv(table, index=False)
        for bow in False, True:
            more = " with --begin-word" if bow else ""
            options = ["-m", model, "--format", "csv", *(["--begin-word"] if bow else [])]
            expected = scorer.word_score_tokenized(STIMULI, str.split, bos_token=True, surprisal=True,
                                                   bow_correction=bow)
            sums = torch.tensor([sum(score for _, score in words) for words in expected])
            whole = scorer.sequence_score(STIMULI, reduction=lambda x: -x.sum(0).item(), bos_token=True,
                                          bow_correction=bow)
            found = rows_of("score", "-f", table, "--words", *options)
            tally.check([row["attn_text"] for row in found] == [word for words in expected for word, _ in words],
                        f"score: the words of {len(STIMULI)} sentences{more}")
            tally.check(all(row["attn_text"].encode() == STIMULI[int(row["sentence"])].encode()
                            [int(row["start"]):int(row["end"])] for row in found), f"score: places of words{more}")
            tally.near(torch.tensor([score for words in expected for _, score in words]),
                       torch.tensor([in_nats(row) for row in found]), BOUND, f"score: surprisal of words{more}")
            totals = rows_of("score", "-f", table, "--total", *options)
            for name, judge in ("words' sums", sums), ("sequence_score", torch.tensor(whole)):
                tally.near(judge, torch.tensor([in_nats(row) for row in totals]), BOUND,
                           f"score: sums of sentences and minicons' {name}{more}")
            found = {row["condition"]: row for row in rows_of("score", "-f", table, "--per", "condition", *options)}
            for name in "plain", "marked":
                mine = torch.tensor([total for total, each in zip(sums, conditions) if each == name])
                tokens = sum(len(lens.ids(text)) for text, each in zip(STIMULI, conditions) if each == name)
                tally.near(float(mine.sum() / tokens), math.log(float(found[name]["perplexity"])), BOUND,
                           f"score: perplexity of '{name}'{more}")
        good, bad = [text for _, text in sorted(zip(conditions, STIMULI))][:20], STIMULI[:20]
        pandas.DataFrame({"good": good, "bad": bad}).to_csv(pairs, index=False)
        found = rows_of("score", "-m", model, "-f", pairs, "--format", "csv")
        likely = [scorer.sequence_score(texts, reduction=lambda x: x.sum(0).item(), bos_token=True)
                  for texts in (good, bad)]
        for name, judge in zip(("good", "bad"), likely):
            tally.near(torch.tensor(judge), torch.tensor([float(row[f"logprob_{name}_nats"]) for row in found]),
                       BOUND, f"score: {name} texts of pairs")
        tally.near(sum(a > b for a, b in zip(*likely)) / len(good), sum(float(row["accuracy"]) for row in found) / len(good), 1e-6,
                   "score: accuracy of pairs")


def compare_lens(tally, model, lens):
    for text, _, answer, _ in CASES:
        ids, (target,) = lens.ids(text), lens.ids(answer)
        rows = json_of("lens", "-m", model, "--ids", listed(ids), "--target", answer)["tables"]["lens"]
        layers = [rows[at:at + len(ids)] for at in range(0, len(rows), len(ids))]
        _, cache = lens.cache(ids)
        stream = cache.accumulated_resid(apply_ln=True)[1:, 0]
        with torch.no_grad():
            expected = (stream @ lens.bridge.W_U).log_softmax(-1)
        ours = torch.tensor([[token["target_logprob"] for token in layer] for layer in layers])
        tally.near(expected[..., target].exp(), ours.exp(), BOUND,
                   f"lens: probability of '{answer}' at {ours.numel()} places")
        tops, where = expected.max(-1)
        tally.near(tops.exp(), torch.tensor([[b["logprob"] for b in row] for row in layers]).exp(),
                   BOUND, f"lens: the best at {ours.numel()} places")
        agree = (where == torch.tensor([[b["id"] for b in row] for row in layers])).float().mean()
        tally.check(agree == 1, f"lens: the same best token at {agree:.1%}")


def compare_attribute(tally, model, lens):
    """Parts of the unfolded model times directions of the folded one, which include the last norm's
    scale: neither model of TransformerLens 4.3 gives correct sums (data/guides/real-models.md)."""
    for text, _, answer, other in CASES:
        ids, targets = lens.ids(text), [lens.ids(answer)[0], lens.ids(other)[0]]
        found = json_of("attribute", "-q", "-m", model, "--ids", listed(ids), "--answer",
                        f"{answer}:{other}")["tensors"]["attribution"]
        logits, cache = lens.cache(ids)
        parts, labels = cache.get_full_resid_decomposition(
            expand_neurons=False, return_labels=True, pos_slice=-1)
        scaled = cache.apply_ln_to_stack(parts, layer=-1, pos_slice=-1)[:, 0]
        right, wrong = map(lens.folded.tokens_to_residual_directions, targets)
        expected = dict(zip(labels, (scaled @ (right - wrong)).tolist()))
        tally.near(float(logits[0, -1, targets[0]] - logits[0, -1, targets[1]]),
                   sum(expected.values()), BOUND, "attribute: TransformerLens's parts sum to it")
        heads = lens.plain.config.num_attention_heads
        ours = {"embed": found[0][heads + 2]}
        for i, row in enumerate(found[1:-1]):
            ours |= {f"L{i}H{head}": row[head] for head in range(heads)} | {f"{i}_mlp_out": row[heads]}
        names = sorted(set(ours) & set(expected))
        tally.check(len(names) == len(ours), f"attribute: the same {len(names)} parts")
        tally.near(torch.tensor([expected[name] for name in names]),
                   torch.tensor([ours[name] for name in names]), BOUND,
                   f"attribute: '{answer}' less '{other}' by {len(names)} parts")


def compare_patch(tally, model, lens):
    """Only every seventh head and every sixth layer: TransformerLens needs a pass for each."""
    config = lens.plain.config
    for clean, corrupt, answer, other in CASES:
        given = torch.tensor([lens.ids(corrupt)])
        targets = [lens.ids(answer)[0], lens.ids(other)[0]]
        _, cache = lens.cache(lens.ids(clean))

        def difference(logits):
            return logits[0, -1, targets[0]] - logits[0, -1, targets[1]]
        for over, shape, setter, name in (
                ("heads", (config.num_hidden_layers, config.num_attention_heads),
                 patching.layer_head_vector_patch_setter, "z"),
                ("resid_pre", (config.num_hidden_layers, given.shape[1]),
                 patching.layer_pos_patch_setter, "resid_pre")):
            places = [(i, j) for i in range(shape[0]) for j in range(shape[1])
                      if ((i * shape[1] + j) % 7 if over == "heads" else i % 6) == 0]
            expected = patching.generic_activation_patch(
                lens.bridge, given, cache, difference, setter, name,
                index_df=frame(places, over))
            found = json_of("patch", "-m", model, "--clean", clean, "--corrupt", corrupt, "--answer",
                            f"{answer}:{other}", "--over", over)["tensors"]["logit"]
            tally.near(expected, torch.tensor([found[i][j] for i, j in places]), BOUND,
                       f"patch --over {over}: '{answer}' less '{other}', {len(places)} places")


def compare_estimate(tally, model, lens):
    """Attribution patching: every head and MLP at every token."""
    for clean, corrupt, answer, other in CASES:
        targets = [lens.ids(answer)[0], lens.ids(other)[0]]
        expected = attribution_patch(
            lens.bridge, torch.tensor([lens.ids(clean)]), torch.tensor([lens.ids(corrupt)]),
            lambda logits: logits[..., -1, targets[0]].sum() - logits[..., -1, targets[1]].sum())
        for over, kind in ("heads_by_token", "attn_head_out"), ("mlp_out", "mlp_out"):
            places = [node for node in expected.node_scores if node.kind == kind]
            scores = torch.tensor([float(expected.node_scores[node]) for node in places])
            found = json_of("patch", "-m", model, "--clean", clean, "--corrupt", corrupt, "--answer",
                            f"{answer}:{other}", "--over", over, "--estimate", "--show",
                            "effect")["tensors"]
            ours = [found["effect"][node.layer][node.position] if kind == "mlp_out" else
                    found[f"h.{node.layer}.effect"][node.head][node.position] for node in places]
            tally.near(scores / scores.abs().max(), torch.tensor(ours) / scores.abs().max(), BOUND,
                       f"patch --over {over} --estimate: '{answer}' less '{other}', {len(places)}")


def frame(places, over):
    return pandas.DataFrame(places, columns=["layer", "head" if over == "heads" else "pos"])


def compare_ablate(tally, model, lens):
    text = CASES[0][0]
    ids = lens.ids(text)
    for layer, head in (4, 1), (11, 5), (20, 8):
        def remove(z, hook):
            z[:, :, head] = 0
            return z
        with torch.no_grad():
            expected = lens.bridge.run_with_hooks(
                torch.tensor([ids]), fwd_hooks=[(f"blocks.{layer}.attn.hook_z", remove)])[0]
        found = tensors_of(model, ids, "--show", "logits", "--ablate", f"{layer}.{head}")["logits"]
        tally.near(expected / expected.abs().max(), found / expected.abs().max(), BOUND / 5,
                   f"--ablate {layer}.{head}: logits, of the largest")


def main():
    warnings.simplefilter("ignore")
    folder, *names = sys.argv[1:]
    tally, model, lens = Tally(), f"{folder}/{GGUF['smollm2']}", Lens(f"{folder}/smollm2")
    for compare in (compare_heads, compare_score, compare_stimuli, compare_lens, compare_attribute, compare_ablate,
                    compare_patch, compare_estimate):
        if not names or compare.__name__.removeprefix("compare_") in names:
            compare(tally, model, lens)
    tally.close()


if __name__ == "__main__":
    main()
