#!/usr/bin/env python3
"""Compare `run --pool model` with SentenceTransformer.encode on models with random weights, as
sentence-transformers saves them.

usage: sentences.py BUILD/attn-cli
       sentences.py CASE           write the dense layer and the vector of a folder of tests/cli
"""
import pathlib, sys, tempfile

from peer import LIMIT, off, results
import torch
import transformers as hf
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from tokenizers import Tokenizer, models, pre_tokenizers, processors

TEXTS = ["the fox", "a dog eats the map .", "life"]
WORDS = "[PAD] [CLS] [SEP] [UNK] the fox a dog eats map life is short .".split()


def bert(width, **keys):
    return hf.BertModel(hf.BertConfig(
        vocab_size=len(WORDS), hidden_size=width, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=width, max_position_embeddings=16, initializer_range=0.5, **keys))


def distilbert(width):
    return hf.DistilBertModel(hf.DistilBertConfig(
        vocab_size=len(WORDS), dim=width, n_layers=2, n_heads=2, hidden_dim=2 * width,
        max_position_embeddings=16, initializer_range=0.5))


def gemma(width):
    return hf.Gemma3TextModel(hf.Gemma3TextConfig(
        vocab_size=len(WORDS), hidden_size=width, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=4, intermediate_size=2 * width, sliding_window=4,
        max_position_embeddings=16, use_bidirectional_attention=True, initializer_range=0.5))


def t5(width):
    return hf.T5EncoderModel(hf.T5Config(
        vocab_size=len(WORDS), d_model=width, d_kv=3, d_ff=9, num_layers=2, num_heads=2,
        initializer_factor=3.0))


MODELS = {
    "LaBSE's kind": (bert, 4, "cls", [(4, True, torch.nn.Tanh()), None]),
    "embeddinggemma's kind": (gemma, 8, "mean", [(24, False, torch.nn.Identity()),
                                                 (8, False, torch.nn.Identity()), None]),
    "distiluse's kind": (distilbert, 8, "mean", [(6, True, torch.nn.Tanh())]),
    "last and GELU": (bert, 8, "lasttoken", [None, (12, True, torch.nn.GELU())]),
    "max and SiLU": (bert, 8, "max", [(5, False, torch.nn.SiLU()), (7, True, torch.nn.ReLU())]),
    "sentence-T5's kind": (t5, 8, "mean", [(6, False, torch.nn.Identity()), None]),
    "a mean alone": (bert, 8, "mean", [None]),
}


def save(folder, make, width, pooling, rest):
    words = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    torch.manual_seed(len(rest) + width)
    make(width).save_pretrained(f"{folder}/plain")
    hf.PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]",
        unk_token="[UNK]").save_pretrained(f"{folder}/plain")
    modules = [Transformer(f"{folder}/plain"), Pooling(width, pooling)]
    for module in rest:
        if module:
            modules.append(Dense(width, module[0], module[1], module[2]))
            width = module[0]
        else:
            modules.append(Normalize())
    model = SentenceTransformer(modules=modules, device="cpu")
    model.save(f"{folder}/m", create_model_card=False)
    return model


def compare(program):
    agreeing = 0
    for name, parts in MODELS.items():
        with tempfile.TemporaryDirectory() as folder:
            expected = save(folder, *parts).double().encode(TEXTS, convert_to_tensor=True)
            texts = [word for text in TEXTS for word in ("-s", text)]
            found = results(program, "run", "-q", "-m", f"{folder}/m", "--pool", "model", *texts)
            worst = off([text["tensors"]["sentence_vector"][0] for text in found], expected)
            print(f"{worst:.1e}: {name}")
            agreeing += worst <= LIMIT
    print(f"{agreeing} passed, {len(MODELS) - agreeing} failed")


def write(case):
    torch.manual_seed(1)
    model = hf.AutoModel.from_pretrained("tests/references/golden-families/bert-base-model").double()
    width = model.config.hidden_size
    dense = Dense(width, 3, True, torch.nn.Tanh())
    save_file(dense.state_dict(), f"{case}/dense.safetensors")
    with torch.no_grad():
        found = {"token_embeddings": model(torch.tensor([[3, 1, 4]])).last_hidden_state}
        for module in (Pooling(width, "mean"), dense.double(), Normalize()):
            found = module(found)
    text = ",".join(f"{x:.5f}" for x in found["sentence_embedding"][0])
    pathlib.Path(case, "expected").write_text(text + "\n")


(write if pathlib.Path(sys.argv[1]).is_dir() else compare)(sys.argv[1])
