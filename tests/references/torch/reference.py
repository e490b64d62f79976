"""Models initialised by PyTorch, module by module, as in textbooks and in transformers.

The functions gpt2, llama, rand and linear return the tensors of a model with the names and the order
of a model directory: [in, out], for Llama [out, in]. The tests compare lib/train/weight_init.c with
them.
"""

import math

import torch
from torch import nn

# --- GPT-2: the modules of GPT2LMHeadModel that have parameters, in its order of initialisation --


class Conv1D(nn.Module):
    def __init__(self, outputs, inputs):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(outputs))
        nn.init.normal_(self.weight, std=0.02)


class Attention(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.c_attn = Conv1D(3 * channels, channels)
        self.c_proj = Conv1D(channels, channels)


class MLP(nn.Module):
    def __init__(self, channels, inner):
        super().__init__()
        self.c_fc = Conv1D(inner, channels)
        self.c_proj = Conv1D(channels, inner)


class Block(nn.Module):
    def __init__(self, channels, inner):
        super().__init__()
        self.ln_1 = nn.LayerNorm(channels)
        self.attn = Attention(channels)
        self.ln_2 = nn.LayerNorm(channels)
        self.mlp = MLP(channels, inner)


class Initialised(nn.Module):
    """The initialisation by transformers' PreTrainedModel.post_init."""

    def post_init(self):
        self.apply(self.initialise_once)

    def initialise_once(self, module):
        if getattr(module, "is_initialised", False):
            return
        self.initialise(module)
        module.is_initialised = True

    def initialise(self, module):
        spread = self.config.get("initializer_range", 0.02)
        if isinstance(module, (nn.Linear, Conv1D, nn.Embedding)):
            module.weight.data.normal_(mean=0.0, std=spread)
        if isinstance(module, (nn.Linear, Conv1D)) and module.bias is not None:
            module.bias.data.zero_()
        if isinstance(module, nn.LayerNorm):
            module.bias.data.zero_()
            module.weight.data.fill_(1.0)
        for name, parameter in module.named_parameters():
            if name == "c_proj.weight":
                less = spread / math.sqrt(2 * self.config["n_layer"])
                parameter.data.normal_(mean=0.0, std=less)


class Transformer(Initialised):
    def __init__(self, config):
        super().__init__()
        self.config = config
        channels = config["n_embd"]
        inner = config.get("n_inner") or 4 * channels
        self.wte = nn.Embedding(config["vocab_size"], channels)
        self.wpe = nn.Embedding(config["n_positions"], channels)
        self.h = nn.ModuleList([Block(channels, inner) for _ in range(config["n_layer"])])
        self.ln_f = nn.LayerNorm(channels)
        self.post_init()


class LMHead(Initialised):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.transformer = Transformer(config)
        self.lm_head = nn.Linear(config["n_embd"], config["vocab_size"], bias=False)
        self.post_init()


def gpt2(config, seed):
    torch.manual_seed(seed)
    model = LMHead(config)
    tensors = {name: tensor.detach() for name, tensor in model.transformer.state_dict().items()}
    if not config.get("tie_word_embeddings", True):
        tensors["lm_head.weight"] = model.lm_head.weight.detach()
    return tensors


# --- Llama: the modules of LlamaForCausalLM since transformers 4.31 -----------------------------------


class RMSNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))


class LlamaAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        channels, heads = config["hidden_size"], config["num_attention_heads"]
        width = config.get("head_dim", channels // heads)
        keys = config.get("num_key_value_heads", heads) * width
        bias = config.get("attention_bias", False)
        self.q_proj = nn.Linear(channels, heads * width, bias)
        self.k_proj = nn.Linear(channels, keys, bias)
        self.v_proj = nn.Linear(channels, keys, bias)
        self.o_proj = nn.Linear(heads * width, channels, bias)


class LlamaMLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        channels, inner = config["hidden_size"], config["intermediate_size"]
        bias = config.get("mlp_bias", False)
        self.gate_proj = nn.Linear(channels, inner, bias)
        self.up_proj = nn.Linear(channels, inner, bias)
        self.down_proj = nn.Linear(inner, channels, bias)


class LlamaLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.self_attn = LlamaAttention(config)
        self.mlp = LlamaMLP(config)
        self.input_layernorm = RMSNorm(config["hidden_size"])
        self.post_attention_layernorm = RMSNorm(config["hidden_size"])


class LlamaModel(Initialised):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embed_tokens = nn.Embedding(config["vocab_size"], config["hidden_size"])
        self.layers = nn.ModuleList([LlamaLayer(config) for _ in range(config["num_hidden_layers"])])
        self.norm = RMSNorm(config["hidden_size"])
        self.post_init()


class LlamaForCausalLM(Initialised):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.model = LlamaModel(config)
        self.lm_head = nn.Linear(config["hidden_size"], config["vocab_size"], bias=False)
        self.post_init()


def llama(config, seed):
    torch.manual_seed(seed)
    tensors = {name: tensor.detach() for name, tensor in LlamaForCausalLM(config).state_dict().items()}
    if config.get("tie_word_embeddings", False):
        del tensors["lm_head.weight"]
    return tensors


# --- bare attention ---------------------------------------------------------------------------------


def sizes(config):
    heads = config.get("n_head", 1)
    width = config["n_embd"] // heads
    return (heads, config.get("n_kv_head", heads), config.get("d_k", width),
            config.get("d_v", width))


def words(config, seed, table):
    """The first rows of an embedding."""
    channels = config["n_embd"]
    count = config["vocab_size"]
    torch.manual_seed(seed)
    return nn.Embedding(max(table, count), channels).weight.detach()[:count]


def rand(config, seed, table=50000):
    """A matrix for each head, nn.Parameter(torch.rand(d_in, d_out))."""
    heads, groups, d_k, d_v = sizes(config)
    channels = config["n_embd"]
    tensors = {"wte.weight": words(config, seed, table)}
    torch.manual_seed(seed)
    for layer in range(config.get("n_layer", 1)):
        at = "h.%d.attn." % layer
        q, k, v = [], [], []
        for head in range(heads if config.get("projections", True) else 0):
            q.append(torch.rand(channels, d_k))
            if head % (heads // groups) == 0:
                k.append(torch.rand(channels, d_k))
                v.append(torch.rand(channels, d_v))
        for name, parts in (("q_proj", q), ("k_proj", k), ("v_proj", v)):
            if parts:
                tensors[at + name + ".weight"] = torch.cat(parts, dim=1)
        if config.get("out_proj", False):
            tensors[at + "out_proj.weight"] = torch.rand(heads * d_v, channels)
    return tensors


def linear(config, seed, table=50000):
    """One nn.Linear for all heads."""
    heads, groups, d_k, d_v = sizes(config)
    channels, bias = config["n_embd"], config.get("bias", False) is True
    tensors = {"wte.weight": words(config, seed, table)}
    torch.manual_seed(seed)
    for layer in range(config.get("n_layer", 1)):
        modules = []
        if config.get("projections", True):
            modules += [("q_proj", nn.Linear(channels, heads * d_k, bias)),
                        ("k_proj", nn.Linear(channels, groups * d_k, bias)),
                        ("v_proj", nn.Linear(channels, groups * d_v, bias))]
        if config.get("out_proj", False):
            modules += [("out_proj", nn.Linear(heads * d_v, config.get("d_out", channels),
                                               bool(config.get("bias", False))))]
        for name, module in modules:
            at = "h.%d.attn.%s." % (layer, name)
            tensors[at + "weight"] = module.weight.detach().T.contiguous()
            if module.bias is not None:
                tensors[at + "bias"] = module.bias.detach()
    return tensors
