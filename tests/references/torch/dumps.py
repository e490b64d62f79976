#!/usr/bin/env python3
"""Dumps of transformers' models by forward hooks, for `compare --dump`.

usage: dumps.py BUILD/attn-cli [FAMILY...]          compare, and find planted mistakes
       dumps.py store DIR                           write the dumps of tests/references/dumps
       dumps.py lens DIR                            write that of TransformerLens, which must be there

Each family is a model of tests/references/golden-families. Hooks of all modules, hidden states, attentions and
logits are saved as float32 and as bfloat16 (then transformers computes in it): all must agree. Then
each mistake that a family can have is made in transformers' model (in its functions, its weights or
its keys); the program must find the first site that it changes, and name it. A site is the right one
if it is the first, in the order of the pass, that differs by more than the tolerance from a dump
without the mistake. Prints what was missed, and a line with the numbers. Needs transformers, torch
and safetensors.
"""
import json, math, pathlib, re, subprocess, sys, tempfile

import peer  # noqa: F401  (a quiet transformers)
import safetensors.torch, torch, transformers

ROOT = pathlib.Path(__file__).parent.parent / "golden-families"
FAMILIES = "gpt2 gpt_neox opt llama qwen2 qwen3 gemma3_text phi3 olmo2 bert".split()
MORE = "bloom falcon gptj gemma granite t5 mixtral mpt stablelm starcoder2".split()
IDS = [3, 1, 4, 1, 5, 9]
SOURCE = [2, 7, 1]


def folder_of(family):
    return ROOT.parent.parent.parent / "models/tiny" if family == "gpt2" else ROOT / family


def load(family, dtype=torch.float32):
    folder = folder_of(family)
    config = transformers.AutoConfig.from_pretrained(folder)
    name = json.loads((folder / "config.json").read_text()).get("architectures", [""])[0]
    kind = getattr(transformers, name, None) or transformers.AutoModelForCausalLM
    return kind.from_pretrained(folder, config=config, attn_implementation="eager",
                                dtype=dtype).eval()


def first(value):
    while isinstance(value, (tuple, list)) and value:
        value = value[0]
    return value if torch.is_tensor(value) and value.is_floating_point() else None


def dump(model, before=lambda: None, **more):
    """The outputs of all modules and of the model, by name."""
    found = {}

    def hook(name):
        def keep(module, args, output):
            value = first(output)
            if value is not None and name:
                found[name] = value.detach().clone().contiguous()
        return keep

    handles = [module.register_forward_hook(hook(name)) for name, module in model.named_modules()]
    given = {"input_ids": torch.tensor([IDS])}
    if model.config.is_encoder_decoder:
        given = {"input_ids": torch.tensor([SOURCE]), "decoder_input_ids": given["input_ids"]}
    before()
    with torch.no_grad():
        out = model(**given, **more, output_hidden_states=True, output_attentions=True, use_cache=False)
    for handle in handles:
        handle.remove()
    for key, value in out.items():
        if isinstance(value, tuple):
            found |= {f"{key}.{i}": v.detach().clone().contiguous() for i, v in enumerate(value)
                      if torch.is_tensor(v)}
        elif torch.is_tensor(value) and value.ndim:
            found[key] = value.detach().clone().contiguous()
    return found


# --- mistakes: each changes a model, or functions of its module; returns None if it cannot ----------

class Patches:
    """Functions of transformers' modules, put back at the end."""
    def __init__(self, model):
        self.module = sys.modules[type(model).__module__]
        self.old = []

    def set(self, name, make):
        old = getattr(self.module, name, None)
        if old is None:
            return None
        self.old.append((name, old))
        setattr(self.module, name, make(old))
        return True

    def undo(self):
        for name, old in reversed(self.old):
            setattr(self.module, name, old)


def attention(change):
    """Call eager attention with other arguments."""
    def mistake(model, patches):
        def make(old):
            def new(module, query, key, value, attention_mask, *rest, **more):
                more = dict(more)
                if rest:
                    more["scaling"] = rest[0]
                if more.get("scaling") is None:
                    more["scaling"] = query.shape[-1] ** -0.5
                mask, more = change(attention_mask, more)
                return old(module, query, key, value, mask, **more)
            return new
        return patches.set("eager_attention_forward", make)
    return mistake


def scale_missing(mask, more):
    return mask, more | {"scaling": 1.0}


def scale_twice(mask, more):
    return mask, more | {"scaling": more["scaling"] ** 2}


def mask_missing(model, patches):
    if model.config.model_type == "bert":
        return None
    return attention(lambda mask, more: (None, more))(model, patches)


def pairs(model, patches):
    def make(old):
        def new(q, k, cos, sin, *rest, **more):
            n = cos.shape[-1]
            order = torch.cat([torch.arange(0, n, 2), torch.arange(1, n, 2)])
            back = torch.argsort(order)
            full = lambda x: torch.cat([order, torch.arange(n, x.shape[-1])])
            fullback = lambda x: torch.cat([back, torch.arange(n, x.shape[-1])])
            q2, k2 = old(q[..., full(q)], k[..., full(k)], cos, sin, *rest, **more)
            return q2[..., fullback(q)], k2[..., fullback(k)]
        return new
    if model.config.model_type == "gptj":
        return None
    return patches.set("apply_rotary_pos_emb", make)


def offset(model, patches):
    if model.config.model_type == "opt":
        table = model.model.decoder.embed_positions
        table.offset = table.offset + 1
        return True
    return {"position_ids": torch.arange(1, len(IDS) + 1)[None]}


def norms(model):
    return [m for m in model.modules() if "Norm" in type(m).__name__]


def epsilon(model, patches):
    for norm in norms(model):
        for key in ("eps", "variance_epsilon"):
            if hasattr(norm, key):
                setattr(norm, key, 1e-6)
    return True


def plus_one(model, patches):
    if model.config.model_type in ("gpt2", "gpt_neox", "opt", "bert"):
        return None
    for norm in norms(model):
        norm.weight.data += -1 if "gemma" in model.config.model_type else 1
    return True


def bias_missing(model, patches):
    for name, parameter in model.named_parameters():
        if re.search(r"(c_attn|query_key_value|q_proj|attention\.self\.query)\.bias$", name):
            parameter.data.zero_()
            patches.found = True
    return getattr(patches, "found", None)


def gate_up(model, patches):
    done = None
    for m in model.modules():
        if hasattr(m, "gate_proj"):
            m.gate_proj, m.up_proj = m.up_proj, m.gate_proj
            done = True
        if hasattr(m, "gate_up_proj"):
            w = getattr(m.gate_up_proj, "weight", m.gate_up_proj)  # of experts: [E, 2 I, C]
            w.data = torch.cat(w.data.chunk(2, -2)[::-1], -2)
            done = True
    return done


def gelu(model, patches):
    kind = transformers.activations.ACT2FN
    own = next((getattr(model.config, key) for key in ("hidden_act", "hidden_activation",
                "activation_function") if getattr(model.config, key, None)), None)
    other = {"gelu": "gelu_pytorch_tanh", "gelu_new": "gelu", "gelu_pytorch_tanh": "gelu"}.get(own)
    if not other:
        return None
    for m in list(model.modules()):
        for key in ("act", "act_fn", "activation_fn", "intermediate_act_fn"):
            if hasattr(m, key) and "GELU" not in type(m).__name__:
                setattr(m, key, kind[other])
    return True


def head_order(model, patches):
    heads = model.config.num_attention_heads
    for name, m in model.named_modules():
        if re.search(r"(attn\.c_proj|attention\.dense|out_proj|o_proj|attention\.output\.dense)$", name):
            w = m.weight.data
            transposed = type(m).__name__ == "Conv1D"
            w = w.T if transposed else w
            d = w.shape[1] // heads
            w = w.reshape(w.shape[0], d, heads).permute(0, 2, 1).reshape(w.shape)
            m.weight.data = (w.T if transposed else w).contiguous()
            patches.found = True
    return getattr(patches, "found", None)


def head_groups(model, patches):
    def make(old):
        return lambda x, n: x.repeat(1, n, 1, 1)
    config = model.config
    groups = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    return None if groups in (1, config.num_attention_heads) else patches.set("repeat_kv", make)


def softmax_half(model, patches):
    class Half:
        def __getattr__(self, name):
            return getattr(torch.nn.functional, name)

        def softmax(self, x, dim=-1, dtype=None):
            return torch.softmax(x.bfloat16(), dim).float()

    class Nn:
        functional = Half()

        def __getattr__(self, name):
            return getattr(torch.nn, name)
    return patches.set("nn", lambda old: Nn())


def embedding_scale(model, patches):
    table = model.get_input_embeddings()
    root = math.sqrt(model.config.hidden_size)
    if hasattr(table, "embed_scale"):
        table.embed_scale = torch.tensor(1.0)
        return True
    if model.config.model_type in ("gpt2", "opt", "bert"):
        return None
    forward = table.forward
    table.forward = lambda ids: forward(ids) * root
    return True


def rotary_base(model, patches):
    """Frequencies of base 1000000, without scaling."""
    found = [module for module in model.modules() if hasattr(module, "inv_freq")]
    for module in found:
        half = module.inv_freq.numel()
        frequencies = 1e6 ** (-torch.arange(half, dtype=torch.float64) / half)
        module.inv_freq = frequencies.to(module.inv_freq.dtype)
    return bool(found)


def layers_of(model):
    """The layers of the text: the longest list of modules."""
    return max((m for m in model.modules() if isinstance(m, torch.nn.ModuleList)), key=lambda m:
               sum(p.numel() for p in m.parameters()))


def bias_of_last(model, patches):
    """No bias of q in the last layer alone."""
    for name, parameter in layers_of(model)[-1].named_parameters():
        if re.search(r"(c_attn|query_key_value|q_proj|attention\.self\.query)\.bias$", name):
            parameter.data.zero_()
            patches.found = True
    return getattr(patches, "found", None)


def transposed(model, patches):
    """In the first layer alone."""
    square = [p for p in layers_of(model)[0].parameters() if p.ndim == 2 and p.shape[0] == p.shape[1]]
    if square:
        square[0].data = square[0].data.T.contiguous()
    return bool(square)


def values(model, patches):
    """Keys and values exchanged."""
    for m in model.modules():
        for key, value in (("k_proj", "v_proj"), ("key", "value")):
            a, b = getattr(m, key, None), getattr(m, value, None)
            if a is not None and b is not None:
                if a.weight.shape != b.weight.shape:
                    return None
                a.weight, b.weight = b.weight, a.weight
                a.bias, b.bias = b.bias, a.bias
                patches.found = True
    return getattr(patches, "found", None)


def layer_before(model, patches):
    layers = layers_of(model)
    layers[-1].load_state_dict(layers[-2].state_dict())
    return True


def fused(model, patches):
    """Rows of q, k and v by heads, where the model has them by kind, or the reverse."""
    config = model.config
    for name, m in model.named_modules():
        if not re.search(r"(c_attn|query_key_value|qkv_proj)$", name):
            continue
        for p in m.parameters():
            turned = type(m).__name__ == "Conv1D" and p.ndim == 2
            w = p.data.T if turned else p.data
            by_heads = "neox" in config.model_type
            if w.shape[0] % (3 * config.num_attention_heads):
                return None
            apart = (config.num_attention_heads, 3) if by_heads else (3, config.num_attention_heads)
            w = w.reshape(*apart, -1, *w.shape[1:]).transpose(0, 1).reshape(w.shape)
            p.data = (w.T if turned else w).contiguous()
        patches.found = True
    return getattr(patches, "found", None)


def head_norms(model, patches):
    for m in model.modules():
        for key in ("q_norm", "k_norm"):
            if getattr(m, key, None) is not None:
                setattr(m, key, torch.nn.Identity())
                patches.found = True
    return getattr(patches, "found", None)


def sample(model, patches):
    """Deviations with the divisor n - 1."""
    def forward(norm):
        def new(x):
            x = (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True) + norm.eps)
            return x * norm.weight + (0 if norm.bias is None else norm.bias)
        return new
    for m in model.modules():
        if type(m) is torch.nn.LayerNorm:
            m.forward = forward(m)
            patches.found = True
    return getattr(patches, "found", None)


def scale_hidden(model, patches):
    root = model.config.hidden_size ** -0.5
    heads = model.config.hidden_size // model.config.num_attention_heads
    if model.config.model_type == "opt" or heads ** 2 == model.config.hidden_size:
        return None  # it scales queries; the root is the usual scale twice
    return attention(lambda mask, more: (mask, more | {"scaling": root}))(model, patches)


MISTAKES = {
    "pairs": (pairs, "rotary pairs"),
    "base": (rotary_base, "base 1e+06 of the rotary embedding"),
    "offset": (offset, "offset by one"),
    "scale_missing": (attention(scale_missing), "scale of the scores missing"),
    "scale_twice": (attention(scale_twice), "scale of the scores twice"),
    "mask": (mask_missing, "causal mask missing"),
    "epsilon": (epsilon, "epsilon 1e-06"),
    "plus_one": (plus_one, "scales"),
    "bias": (bias_missing, "bias missing"),
    "gate_up": (gate_up, "gate and up"),
    "gelu": (gelu, "activation of the MLP: gelu"),
    "head_order": (head_order, "wrong head order"),
    "head_groups": (head_groups, "wrong head order"),
    "softmax": (softmax_half, "softmax in bfloat16"),
    "embedding": (embedding_scale, "scale"),
    "bias_of_last": (bias_of_last, ".1."),
    "transposed": (transposed, "transposed"),
    "values": (values, "keys and values exchanged"),
    "layer": (layer_before, "weights of the layer before"),
    "fused": (fused, ""),  # a matrix is named
    "head_norms": (head_norms, "norms of queries and keys missing"),
    "sample": (sample, "divisor n - 1"),
    "scale_hidden": (scale_hidden, "scale 1 / √C"),
}


def with_mistake(family, mistake):
    model = load(family)
    patches = Patches(model)
    patched = mistake(model, patches)
    found = dump(model, **(patched if isinstance(patched, dict) else {})) if patched else None
    patches.undo()
    return found


# --- the program ----------------------------------------------------------------------------------

def compare(program, family, tensors, *more):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/theirs.safetensors"
        safetensors.torch.save_file(tensors, path)
        line = [program, "compare", "-m", folder_of(family), "--ids", ",".join(map(str, IDS)), "--dump",
                path, "--format", "json", "-q", *more]
        if family in ("t5",):
            raise NotImplementedError
        done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode not in (0, 1) or not done.stdout:
        raise RuntimeError(f"{family}: {done.stderr.strip()}")
    return done.returncode, json.loads(done.stdout)


def check(program, family, log=print):
    """Missed mistakes, and how many were planted."""
    missed, planted = [], 0
    right = dump(load(family))
    status, found = compare(program, family, right)
    rows = found["tables"]["sites"]
    sites = {row["site"] for row in rows}
    log(f"{family}: {len(rows)} tensors of {len(right)}, {len(sites)} sites, "
        f"largest {max(row['relative'] for row in rows):.1e}, status {status}")
    if status:
        missed.append(f"{family}: float32 differs at {found['facts']['first_divergence']}")
    half = dump(load(family, torch.bfloat16))
    status, found = compare(program, family, half)
    if status:
        missed.append(f"{family}: bfloat16 differs at {found['facts']['first_divergence']}")
    order = [row["theirs"] for row in rows]
    for name, (mistake, words) in MISTAKES.items():
        wrong = with_mistake(family, mistake)
        if not wrong:
            continue
        planted += 1
        changed = [key for key in order if wrong[key].shape != right[key].shape or
                   not torch.equal(wrong[key].isinf(), right[key].isinf()) or
                   (wrong[key] - right[key]).abs().max() > 1e-4 * right[key].abs().max()]
        if not changed:
            planted -= 1
            continue
        status, found = compare(program, family, wrong)
        facts = found["facts"]
        site = next(row["site"] for row in rows if row["theirs"] == changed[0])
        if status != 1 or facts["first_divergence"] != site:
            missed.append(f"{family} {name}: found {facts['first_divergence']}, not {site}")
        elif words not in (facts["mistake"] or "") or not (words or facts["matrix"]):
            missed.append(f"{family} {name} at {site}: {facts['mistake']}")
    return missed, planted


STORED = {"pairs": "qwen2", "base": "llama", "offset": "opt", "scale_missing": "phi3", "scale_twice": "llama",
          "mask": "gpt_neox", "epsilon": "llama", "plus_one": "gemma3_text", "bias": "bert",
          "gate_up": "qwen3", "gelu": "gemma3_text", "head_order": "opt", "head_groups": "llama",
          "softmax": "qwen2", "embedding": "gemma3_text", "bias_of_last": "qwen2", "transposed": "gpt_neox",
          "values": "opt", "layer": "llama", "fused": "gpt_neox", "head_norms": "qwen3", "sample": "opt",
          "scale_hidden": "bert"}


def store(folder):
    """FAMILY.safetensors, FAMILY.bf16.safetensors, FAMILY.MISTAKE.safetensors, most without layer 1, and
    of gpt2, which is larger, without the widest tensors; most mistakes without MLPs and logits."""
    def save(name, found, early=True, lean=False):
        gpt2 = name.startswith("gpt2")
        left_out = (r"\.[1-9]\b" if early or gpt2 else "^$") + ("|hidden" if early or lean else "")
        wide = "|logits|lm_head|mlp|c_attn" if gpt2 else "|logits|lm_head|mlp|fc[12]|intermediate"
        left_out += wide if gpt2 or lean else ""
        kept = {key: value for key, value in found.items() if not re.search(left_out, key)}
        safetensors.torch.save_file(kept, f"{folder}/{name}.safetensors")

    pathlib.Path(folder).mkdir(exist_ok=True)
    for family in FAMILIES:
        save(family, dump(load(family)), early=family != "llama")
        save(f"{family}.bf16", dump(load(family, torch.bfloat16)))
    save("deepseek_v3", dump(load("deepseek_v3")))  # its small experts have no product in bfloat16
    for name, family in STORED.items():
        save(f"{family}.{name}", with_mistake(family, MISTAKES[name][0]),
             early=name not in ("bias_of_last", "layer", "transposed"),
             lean=name not in ("gate_up", "gelu"))


def lens(folder):
    """llama.transformer_lens.safetensors: the hooks of a TransformerBridge of llama, of layer 0."""
    import shutil, tokenizers
    from transformer_lens.model_bridge import TransformerBridge
    with tempfile.TemporaryDirectory() as model:
        shutil.copytree(folder_of("llama"), model, dirs_exist_ok=True)
        words = tokenizers.models.WordLevel({f"t{i}": i for i in range(13)}, unk_token="t0")
        transformers.PreTrainedTokenizerFast(
            tokenizer_object=tokenizers.Tokenizer(words), bos_token="t1", eos_token="t2",
            unk_token="t0", pad_token="t2").save_pretrained(model)
        bridge = TransformerBridge.boot_transformers(model, hf_model=load("llama"), device="cpu")
        cache = bridge.run_with_cache(torch.tensor([IDS]))[1]
    found = {key: value.detach().clone().contiguous() for key, value in cache.items()
             if torch.is_tensor(value) and value.is_floating_point() and not
             re.search(r"\.1\.|hook_in|cos|sin|scale|\.[qkvo]\.|mlp.(gate|in|out)\.", key)}
    safetensors.torch.save_file(found, f"{folder}/llama.transformer_lens.safetensors")


def main():
    program, *families = sys.argv[1:]
    if program in ("store", "lens"):
        return {"store": store, "lens": lens}[program](*families)
    missed, planted = [], 0
    for family in families or FAMILIES + MORE:
        try:
            more, count = check(program, family)
        except NotImplementedError:
            continue
        missed += more
        planted += count
    print("\n".join(missed))
    print(f"{planted} mistakes planted, {len(missed)} missed")


if __name__ == "__main__":
    main()
