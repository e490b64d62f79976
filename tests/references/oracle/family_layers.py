"""The descriptions (layers.py) of all model families, from their configs.

    model = describe(config, names)     config.json and the names of the tensors in the file

Only this file of the reference knows the names of families, tensors and keys of configs.
"""
import math
from dataclasses import replace
from enum import IntEnum

from layers import (CROSS, LAUREL, NO_NORM, PER_LAYER, SOURCE, TEXT, UNLIMITED, XIELU, At, Bias, By,
                    Copies, Embed, Head, Id, Kind, Mlp, Model, Norm, Over, Place, Project, Rotary, Router, Row, Score, Stack,
                    Sublayer, Unembed)

# --- the norms of a block -------------------------------------------------------------------------

# PRE: before each sublayer. POST: of each sum. POST_SUM: the same, but resid_post is the sum. AFTER:
# of each output. SANDWICH: before each sublayer and of its output. PARALLEL: attention and MLP both
# read the input of the block, each with its norm. ONE_NORM: the same with one norm. TO_NORMED: PRE,
# but a sublayer adds its output to its normed input.
Style = IntEnum("Style", "PRE POST POST_SUM AFTER SANDWICH PARALLEL ONE_NORM TO_NORMED", start=0)
PRE, POST, POST_SUM, AFTER, SANDWICH, PARALLEL, ONE_NORM, TO_NORMED = Style


def block(style, norm, head, score, mlp, part=TEXT, cross=None, factor=1.0):
    """The sublayers of a layer; `cross` is the score of attention to the encoder."""
    attention = (Id.NORM_1, Id.NORM_1_POST, At.LN_1, At.LN_1_POST, At.ATTN_OUT, At.RESID_MID)
    mlp_row = (Id.NORM_2, Id.NORM_2_POST, At.LN_2, At.LN_2_POST, At.MLP_OUT, At.RESID_POST)
    rows = [(Kind.ATTEND, part, *attention), (Kind.MLP, part, *mlp_row)]
    if cross:
        rows.insert(1, (Kind.ATTEND_SOURCE, CROSS, *attention))
    sublayers, parallel = [], style in (PARALLEL, ONE_NORM)
    for kind, part, id, id_post, ln, ln_post, out, total in rows:
        s = Sublayer(kind, part, at_out=out, at_sum=(total,), factor=factor,
                     adds_to_normed=style == TO_NORMED)
        if style in (PRE, SANDWICH, PARALLEL, ONE_NORM, TO_NORMED):
            s.before, s.at_input = replace(norm, id=id), ln
        if style in (AFTER, SANDWICH):
            s.out, s.at_out_norm = replace(norm, id=id_post), ln_post
        if style in (POST, POST_SUM):
            s.after, s.at_after = replace(norm, id=id), (ln,)
        if style == POST and kind == Kind.MLP:
            s.at_sum, s.at_after = (), (ln, total)
        if parallel and kind == Kind.MLP:
            s.of_block_input = True
        elif parallel:
            s.at_sum = ()
        if style == ONE_NORM and kind == Kind.MLP:
            s.shares_norm, s.before, s.at_input = True, NO_NORM, At.NONE
        if kind == Kind.MLP:
            s.mlp = mlp
        else:
            s.head, s.score = head, cross if kind == Kind.ATTEND_SOURCE else score
        sublayers.append(s)
    return sublayers


# --- names of tensors -----------------------------------------------------------------------------

def each(names, change):
    return names and "|".join(change(name) for name in names.split("|"))


def plain(names, **layout):
    return Row(each(names, lambda name: name + ".weight"), each(names, lambda name: name + ".bias"),
               **layout)


def flipped(names):
    return plain(names, transposed=True)


def table(part, under, **slots):
    """The rows of a part; a value is a name without .weight and .bias, or a Row."""
    rows = {Id[id]: row if isinstance(row, Row) else plain(row) for id, row in slots.items()}
    return moved({(part, id): row for id, row in rows.items()}, part, under)


def moved(rows, part, under, old="", new=""):
    """The same rows of another part, under other names."""
    def to(names):
        return each(names, lambda name: under + (name.replace(old, new) if old else name))
    return {(part, id): replace(row, name=to(row.name), bias=to(row.bias))
            for (_, id), row in rows.items()}


def joined(name, members, groups=1, **layout):
    """A tensor for several slots."""
    row = name if isinstance(name, Row) else plain(name, **layout)
    ids = members.split()
    return {id: replace(row, members=tuple(Id[i] for i in ids), groups=groups) for id in ids}


SHARED = {"SHARED_" + slot: f"shared_expert.{name}|shared_experts.{name}" for slot, name in (
    ("GATE", "gate_proj"), ("UP", "up_proj"), ("DOWN", "down_proj"))}
LLAMA = {**table(TEXT, "", TOKENS="embed_tokens", FINAL_NORM="norm", HEAD="lm_head"),
         **table(TEXT, "layers.{l}.", NORM_1="input_layernorm", NORM_2="post_attention_layernorm"),
         **table(TEXT, "layers.{l}.self_attn.", Q="q_proj", K="k_proj", V="v_proj", O="o_proj",
                 Q_NORM="q_norm", K_NORM="k_norm", SINKS=Row("sinks", None)),
         **table(TEXT, "layers.{l}.mlp.", GATE="gate_proj", UP="up_proj", DOWN="down_proj",
                 ROUTER="gate", CORRECTION=Row("gate.e_score_correction_bias", None),
                 EXPERT_GATE="experts.{e}.gate_proj", EXPERT_UP="experts.{e}.up_proj",
                 EXPERT_DOWN="experts.{e}.down_proj", SHARED_SWITCH="shared_expert_gate", **SHARED)}


def renamed(**slots):
    return LLAMA | table(TEXT, "layers.{l}.", **slots)


AFTERS = renamed(NORM_1_POST="post_attention_layernorm", NORM_2_POST="post_feedforward_layernorm")
SANDWICHES = AFTERS | table(TEXT, "layers.{l}.", NORM_2="pre_feedforward_layernorm")
GATE_UP = joined("mlp.gate_up_proj", "GATE UP")
BART = table(TEXT, "layers.{l}.", NORM_1="self_attn_layer_norm", NORM_2="final_layer_norm",
             UP="fc1", DOWN="fc2", Q="self_attn.q_proj", K="self_attn.k_proj", V="self_attn.v_proj",
             O="self_attn.out_proj")

# Tensors that nothing reads: masks, frequencies, vision, copies.
SKIP = (r"rotary_emb(eddings)?\.inv_freq$|att(ention|n)\.(masked_)?bias$|position_ids$"
        r"|contact_head\.|vision_tower\.|multi_modal_projector\.|seq_relationship\.|pooler\."
        r"|EncDecAttention\.relative_attention_bias|(encoder|decoder)\.embed_tokens\.weight$"
        r"|embed_positions\.weight$|decoder\.bias$|lm_head\.bias$|audio_tower\.|embed_(vision|audio)\."
        r"|altup\.correct_output_scale$")


# --- keys of configs ------------------------------------------------------------------------------

def key(c, names, default=None):
    """The first of the keys that is there and not null."""
    return next((c[name] for name in names.split() if c.get(name) is not None), default)


def rms_norm(epsilon, one_plus=False):
    return Norm(rms=True, one_plus=one_plus, epsilon=epsilon)


def layer_norm(epsilon=1e-5, shift=True, **more):
    return Norm(shift=shift, epsilon=epsilon, **more)


def equal_heads(H, d, **more):
    return Head(heads=H, kv_heads=H, d_k=d, d_v=d, **more)


def rotary_of(c, width, theta=1e4, neighbours=False, settings=None, base=None):
    """The rotary embedding of rope_parameters or rope_scaling; `base` overrides rope_theta."""
    g = settings
    if g is None:
        g = c.get("rope_parameters") or c.get("rope_scaling") or {}
    return Rotary(width, base or g.get("rope_theta") or c.get("rope_theta") or theta, neighbours,
                  g.get("rope_type", g.get("type", "default")), g,
                  c.get("max_position_embeddings", 2048),
                  c.get("original_max_position_embeddings") or 4096)


def sliding(c, rule):
    """Layer -> whether it has a window: layer_types, else the rule of the family."""
    kinds = c.get("layer_types")
    return (lambda layer: kinds[layer] == "sliding_attention") if kinds else rule


def window_of(c, rule, default=None):
    size, slides = c.get("sliding_window", default), sliding(c, rule)
    return lambda layer: size if slides(layer) else None


def not_each(c, name, default):
    """Layer -> whether it is none of each n-th."""
    n = c.get(name, default)
    return lambda layer: (layer + 1) % n != 0


def at_layer(value, layer):
    return value(layer) if callable(value) else value


# --- decoders -------------------------------------------------------------------------------------

def decoder(c, rows, norm, C, H, L, I, K=None, d=None, style=PRE, act="silu", gated=False,
            rotary=None, window=None, mixture=None, head={}, score={}, embed={}, unembed={},
            factor=1.0, tied=True, final=True, prefixes=("model.", ""), change=None, copies=None):
    """rotary, window, mixture, head, score and I are values or functions of the layer; head, score,
    embed and unembed have the fields that are not the usual ones. `change` makes the sublayers of a
    layer from the usual ones."""
    d, K, V, tied = d or C // H, K or H, c.get("vocab_size", 0), c.get("tie_word_embeddings", tied)

    def read(layer):
        size = at_layer(window, layer)
        heads = dict(heads=H, kv_heads=K, d_k=d, d_v=d, rotary=at_layer(rotary, layer))
        heads |= at_layer(head, layer)
        scores = dict(scale=d ** -0.5, back=size - 1 if size else UNLIMITED)
        scores |= at_layer(score, layer)
        mlp = at_layer(mixture, layer) or Mlp(act, gated, inner=at_layer(I, layer))
        found = block(style, norm, Head(**heads), Score(**scores), mlp, factor=factor)
        return change(layer, found) if change else found
    last = replace(norm, id=Id.FINAL_NORM) if final else NO_NORM
    unembed = dict(norm=last, head=True, tied=tied, rows=V, at_result=At.LOGITS) | unembed
    stack = Stack(TEXT, C, L, read, Embed(**(dict(width=C, rows=V) | embed)), Unembed(**unembed),
                  copies=copies)
    return Model({TEXT: stack}, rows, prefixes)


def llama(c, rows=LLAMA, d=None, K=None, eps=1e-6, norm=None, theta=1e4, share=1.0,
          neighbours=False, qk=False, head={}, I=None, **more):
    """The keys and tensors of Llama and its relatives; share: of rotated channels; qk: q and k have
    norms."""
    C, H = c["hidden_size"], c["num_attention_heads"]
    d, norm = d or C // H, norm or rms_norm(c.get("rms_norm_eps", eps))
    if qk:
        norms = dict(q_norm=replace(norm, id=Id.Q_NORM), k_norm=replace(norm, id=Id.K_NORM))
        own, head = head, lambda layer: norms | at_layer(own, layer)
    share = (c.get("rope_parameters") or {}).get("partial_rotary_factor", share)
    share = key(c, "partial_rotary_factor", share)
    usual = dict(act=c.get("hidden_act", "silu"), gated=True, tied=False,
                 rotary=rotary_of(c, int(d * share), theta, neighbours))
    return decoder(c, rows, norm, C, H, c["num_hidden_layers"], I or c["intermediate_size"],
                   c.get("num_key_value_heads") or K, d, head=head, **(usual | more))


def head_dim(c):
    return key(c, "head_dim", c["hidden_size"] // c["num_attention_heads"])


def qwen_window(c, from_first=False):
    used = c.get("use_sliding_window", False)
    first = 0 if from_first else c.get("max_window_layers", 28)
    return window_of(c, lambda layer: used and layer >= first)


def multipliers(c):
    """Granite."""
    return dict(factor=c.get("residual_multiplier", 1.0),
                score=dict(scale=c.get("attention_multiplier", 1.0)),
                embed=dict(scale=c.get("embedding_multiplier", 1.0)),
                unembed=dict(divisor=c.get("logits_scaling", 1.0)))


def smollm3(c):
    rotates = not_each(c, "no_rope_layer_interval", 4)
    if c.get("no_rope_layers"):
        rotates = c["no_rope_layers"].__getitem__
    rotary = rotary_of(c, c["hidden_size"] // c["num_attention_heads"], 2e6)
    window = window_of(c, lambda layer: c.get("use_sliding_window") and not rotates(layer))
    return llama(c, tied=True, rotary=lambda layer: rotary if rotates(layer) else None,
                 window=window)


def gemma(c, version=1):
    d, eps = c.get("head_dim") or 256, c.get("rms_norm_eps", 1e-6)
    act = c.get("hidden_activation")
    if not act:
        act = c.get("hidden_act") or "gelu"
        act = "gelu_pytorch_tanh" if act == "gelu" else act
    usual = dict(d=d, norm=rms_norm(eps, True), act=act, tied=True,
                 embed=dict(scale=math.sqrt(c["hidden_size"])))
    if version == 1:
        return llama(c, **usual)
    cap = c.get("final_logit_softcapping", 30.0 if version == 2 else None)
    usual |= dict(rows=SANDWICHES, style=SANDWICH, unembed=dict(cap=cap or 0.0))
    scale = c.get("query_pre_attn_scalar", 256) ** -0.5
    if version == 2:
        return llama(c, window=window_of(c, lambda layer: layer % 2 == 0, 4096),
                     score=dict(scale=scale, cap=c.get("attn_logit_softcapping", 50.0) or 0.0),
                     **usual)
    slides = sliding(c, not_each(c, "sliding_window_pattern", 6))
    new = c.get("rope_parameters")
    full = rotary_of(c, d, 1e6, settings=new and new["full_attention"])
    local = (rotary_of(c, d, settings=new["sliding_attention"]) if new else
             rotary_of(c, d, settings={}, base=c.get("rope_local_base_freq", 1e4)))
    both = c.get("use_bidirectional_attention")
    reach = c.get("sliding_window", 4096) // 2 if both else UNLIMITED
    return llama(c, qk=True, rotary=lambda layer: local if slides(layer) else full,
                 window=window_of(c, slides, 4096), change=lambda layer, found: both_ways(
                     found, reach if slides(layer) else UNLIMITED) if both else found,
                 score=dict(scale=scale), **usual)


def both_ways(sublayers, reach):
    sublayers[0].score = replace(sublayers[0].score, back=reach, ahead=reach)
    return sublayers


IN_VISION = ("model.language_model.", "language_model.model.", "language_model.", "")


def gemma3(c):
    """The text model of a model with vision."""
    text = dict(hidden_size=2304, num_hidden_layers=26, intermediate_size=9216,
                num_attention_heads=8, num_key_value_heads=4,
                tie_word_embeddings=c.get("tie_word_embeddings", True))
    return replace(gemma(text | c["text_config"], 3), prefixes=IN_VISION)


def ministral3(c):
    settings = c.get("rope_parameters") or dict(
        rope_type="yarn", rope_theta=1e6, factor=16.0, original_max_position_embeddings=16384,
        mscale=1.0, mscale_all_dim=1.0, llama_4_scaling_beta=0.1)
    beta, d = settings.get("llama_4_scaling_beta"), c.get("head_dim") or 128
    head = dict(growth=(beta, settings["original_max_position_embeddings"])) if beta else {}
    return llama(c, d=d, K=8, eps=1e-5, rotary=rotary_of(c, d, settings=settings), head=head,
                 window=c.get("sliding_window"))


def diffllama(c):
    rows = LLAMA | table(TEXT, "layers.{l}.self_attn.", **{
        "LAMBDA_" + name.upper(): Row("lambda_" + name, None) for name in ("q1", "k1", "q2", "k2")})
    norm = Norm(Id.CONTEXT_NORM, rms=True, scale=False, epsilon=c.get("rms_norm_eps", 1e-5))
    return llama(c, rows, d=c.get("head_dim"), eps=1e-5, head=lambda layer: dict(
        differ=0.8 - 0.6 * math.exp(-0.3 * layer), differ_norm=norm))


def gemma_later(c, rows, kinds, heads, I, change, sharing=0, **more):
    """Gemma 3n and 4: inputs of single layers, norms of values, layers that read others' keys."""
    C, L, P = c["hidden_size"], c["num_hidden_layers"], c.get("hidden_size_per_layer_input", 256)
    norm, act = rms_norm(c.get("rms_norm_eps", 1e-6)), c.get("hidden_activation",
                                                             "gelu_pytorch_tanh")
    rows = SANDWICHES | table(TEXT, "", GIVEN_TOKENS="embed_tokens_per_layer",
                              GIVEN_PROJECT=plain("per_layer_model_projection", scale=C ** -0.5),
                              GIVEN_NORM="per_layer_projection_norm") | rows
    rows |= table(PER_LAYER, "layers.{l}.", GATE="per_layer_input_gate",
                  DOWN="per_layer_projection", NORM_2_POST="post_per_layer_input_norm")
    given = Sublayer(Kind.MLP, PER_LAYER, out=replace(norm, id=Id.NORM_2_POST), at_out=At.MLP_OUT,
                     at_out_norm=At.LN_2_POST, mlp=Mlp(act, True, inner=P, given=True))
    own = L - c.get("num_kv_shared_layers", sharing)

    def head(layer):
        same = [i for i in range(own) if kinds[i] == kinds[layer]]
        return dict(v_norm=Norm(Id.V_NORM, rms=True, scale=False, epsilon=norm.epsilon),
                    kv_from=same[-1] if layer >= own else -1, **heads(layer))
    embed = dict(scale=math.sqrt(C))
    if P:
        embed |= dict(given=P, given_rows=c.get("vocab_size_per_layer_input", 262144),
                      given_norm=replace(norm, id=Id.GIVEN_NORM))
    size = c.get("sliding_window", 512)
    return llama(c, rows, norm=norm, style=SANDWICH, qk=True, act=act, tied=True, head=head, I=I,
                 score=dict(scale=1.0), embed=embed,
                 window=lambda layer: size if kinds[layer] == "sliding_attention" else None,
                 change=lambda layer, found: change(layer, found, given if P else None), **more)


def gemma3n(c):
    L, C, d = c["num_hidden_layers"], c["hidden_size"], c.get("head_dim", 256)
    norm, I = rms_norm(c.get("rms_norm_eps", 1e-6)), c["intermediate_size"]
    kinds = c.get("layer_types") or ["sliding_attention" if (layer + 1) % 5 else "full_attention"
                                     for layer in range(L)]
    base = {"full_attention": c.get("rope_theta", 1e6),
            "sliding_attention": c.get("rope_local_base_freq", 1e4)}
    settings = c.get("rope_parameters") or {}
    rotary = {kind: rotary_of(c, d, settings={"rope_theta": base[kind]} | settings.get(kind, {}))
              for kind in base}
    sparse = c.get("activation_sparsity_pattern") or [0.95 * (layer < 10 < L) for layer in range(L)]
    rows = table(TEXT, "layers.{l}.altup.", COPY_NORM="router_norm",
                 COPY_ROUTER=plain("modality_router", scale=1 / C),
                 COPY_PREDICT="prediction_coefs", COPY_CORRECT="correction_coefs",
                 COPY_SCALE=Row("correct_output_scale", None))
    rows |= table(TEXT, "", COPY_IN="altup_projections.{e}",
                  COPY_OUT="altup_unembed_projections.{e}")
    rows |= table(LAUREL, "layers.{l}.laurel.", UP="linear_left", DOWN="linear_right",
                  NORM_2_POST="post_laurel_norm")
    path = Sublayer(Kind.MLP, LAUREL, shares_norm=True, out=replace(norm, id=Id.NORM_2_POST),
                    adds_input=True, sum_factor=0.5 ** 0.5, at_out=At.MLP_OUT,
                    at_out_norm=At.LN_2_POST, at_sum=(At.RESID_MID,),
                    mlp=Mlp("none", inner=c.get("laurel_rank", 64)))

    def change(layer, found, given):
        attention, mlp = found
        attention.at_sum, mlp.at_sum, mlp.corrects = (), (At.RESID_MLP,), True
        mlp.mlp.sparsity = sparse[layer]
        given = replace(given, replaces=True, spreads=True)
        return [attention, replace(path), mlp, given]
    return gemma_later(c, rows, kinds, lambda layer: {}, lambda layer: I[layer] if isinstance(I, list) else I,
                       change,
                       sharing=15, d=d, K=2, rotary=lambda layer: rotary[kinds[layer]],
                       unembed=dict(cap=c.get("final_logit_softcapping", 30.0) or 0.0),
                       copies=Copies(c.get("altup_num_inputs", 4), c.get("altup_active_idx", 0),
                                     replace(norm, id=Id.COPY_NORM),
                                     c.get("altup_correct_scale", True)))


def gemma4(c):
    L, d = c["num_hidden_layers"], c.get("head_dim", 256)
    K, k_is_v = c.get("num_key_value_heads", 4), c.get("attention_k_eq_v", False)
    kinds = c.get("layer_types") or ["sliding_attention" if (layer + 1) % 6 else "full_attention"
                                     for layer in range(L)]
    kinds = kinds[:-1] + ["full_attention"]
    sizes = c.get("per_layer_config") or {}
    wide_K = (c.get("num_global_key_value_heads") if k_is_v else None) or K

    def heads(layer):
        if kinds[layer] == "sliding_attention":
            return dict(d_k=d, d_v=d, kv_heads=K)
        own = sizes.get(str(layer), {})
        wide = own.get("head_dim", c.get("global_head_dim") or 512)
        return dict(d_k=wide, d_v=wide, kv_heads=own.get("num_key_value_heads", wide_K),
                    v_is_k=k_is_v)
    settings = c.get("rope_parameters") or {
        "sliding_attention": {"rope_theta": 1e4},
        "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25,
                           "rope_theta": 1e6}}
    rotary = {kind: rotary_of(c, heads(kinds.index(kind))["d_k"], settings=settings[kind])
              for kind in set(kinds)}
    doubles = c.get("use_double_wide_mlp", False)
    first_wide = L - c.get("num_kv_shared_layers", 0) if doubles else L

    def inner(layer):
        return c["intermediate_size"] * (2 if layer >= first_wide else 1)
    norm = rms_norm(c.get("rms_norm_eps", 1e-6))
    mixture = c.get("enable_moe_block") and Mlp(
        c.get("hidden_activation", "gelu_pytorch_tanh"), True, inner=c["moe_intermediate_size"],
        experts=c["num_experts"], chosen=c["top_k_experts"], renormalise=True, expert_scale=True,
        shared_inner=c["intermediate_size"], router_norm=replace(norm, id=Id.ROUTER_NORM),
        expert_norm=replace(norm, id=Id.EXPERT_NORM),
        experts_post=replace(norm, id=Id.EXPERTS_POST),
        shared_post=replace(norm, id=Id.SHARED_POST)) or None
    packed = joined(Row("experts.gate_up_proj", None, stacked=True), "EXPERT_GATE EXPERT_UP")
    rows = table(TEXT, "layers.{l}.", LAYER_SCALE=Row("layer_scalar", None),
                 ROUTER=plain("router.proj", scale=c["hidden_size"] ** -0.5),
                 ROUTER_NORM=Row("router.scale", None),
                 EXPERT_SCALE=Row("router.per_expert_scale", None), **packed,
                 EXPERT_DOWN=Row("experts.down_proj", None, stacked=True),
                 EXPERT_NORM="pre_feedforward_layernorm_2",
                 EXPERTS_POST="post_feedforward_layernorm_2",
                 SHARED_POST="post_feedforward_layernorm_1",
                 **{"SHARED_" + slot: f"mlp.{slot.lower()}_proj" for slot in ("GATE", "UP", "DOWN")})

    def change(_, found, given):
        if given:
            found[1].at_sum = (At.RESID_MLP,)
            found.append(replace(given))
        found[-1].at_sum, found[-1].scales = (At.RESID_POST,), True
        return found
    cap = c.get("final_logit_softcapping") or 0.0
    model = gemma_later(c, rows, kinds, heads, inner, change, d=d, K=4, mixture=mixture,
                        rotary=lambda layer: rotary[kinds[layer]], unembed=dict(cap=cap))
    return replace(model, prefixes=IN_VISION + ("model.",))


def mistral3(c, has):
    """The text model of a model with vision; it is tied if the file has no head."""
    text = dict(c["text_config"], tie_word_embeddings=not has("lm_head"))
    return replace(FAMILIES[text.get("model_type", "mistral")](text), prefixes=IN_VISION)


def nemotron(c):
    return llama(c, d=c.get("head_dim"), norm=layer_norm(c.get("norm_eps", 1e-5), one_plus=True),
                 share=0.5, act=c.get("hidden_act", "relu2"), gated=False)


def olmo(c):
    norm = layer_norm(1e-5, False, scale=False)
    return llama(c, norm=norm, head=dict(clip=c.get("clip_qkv") or 0.0))


def olmo3(c):
    slides, full = sliding(c, not_each(c, "", 4)), rotary_of(c, head_dim(c))
    local = rotary_of(c, head_dim(c), settings={}, base=full.theta)
    return llama(c, AFTERS, head_dim(c), style=AFTER, eps=1e-5, qk=True, head=dict(over=Over.WHOLE),
                 window=window_of(c, slides, 4096),
                 rotary=lambda layer: local if slides(layer) else full)


def exaone4(c):
    size, rotary = c.get("sliding_window", 4096), rotary_of(c, head_dim(c))
    rule = not_each(c, "sliding_window_pattern", 4)
    slides = sliding(c, lambda layer: size and rule(layer))
    return llama(c, AFTERS, head_dim(c), style=AFTER, eps=1e-5, qk=True,
                 window=window_of(c, slides, 4096),
                 rotary=lambda layer: rotary if slides(layer) or not size else None)


def cohere(c, version=1):
    usual = dict(norm=layer_norm(c.get("layer_norm_eps", 1e-5), False), style=ONE_NORM,
                 neighbours=True, tied=True, unembed=dict(divisor=1 / c.get("logit_scale", 0.0625)))
    if version == 1:
        return llama(c, qk=c.get("use_qk_norm", False), head=dict(over=Over.OWN_SCALES), **usual)
    slides = sliding(c, not_each(c, "sliding_window_pattern", 4))
    rotary = rotary_of(c, c["hidden_size"] // c["num_attention_heads"], neighbours=True)
    return llama(c, window=window_of(c, slides, 4096),
                 rotary=lambda layer: rotary if slides(layer) else None, **usual)


def glm(c, style=PRE):
    rows = renamed(NORM_1_POST="post_self_attn_layernorm", NORM_2_POST="post_mlp_layernorm",
                   **GATE_UP)
    return llama(c, rows, c.get("head_dim") or 128, 2, 1.5625e-07, share=0.5, neighbours=True,
                 style=style)


def apertus(c):
    xielu = {id.name: Row("mlp.act_fn." + name, None)
             for id, name in zip(XIELU, ("alpha_p", "alpha_n", "beta", "eps"))}
    rows = renamed(NORM_1="attention_layernorm", NORM_2="feedforward_layernorm", **xielu)
    settings = None
    if not c.get("rope_parameters") and not c.get("rope_scaling"):
        settings = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                        original_max_position_embeddings=8192)
    return llama(c, rows, c.get("head_dim"), eps=1e-5, qk=True, act=c.get("hidden_act", "xielu"),
                 gated=False, rotary=rotary_of(c, head_dim(c), 1.2e7, settings=settings))


def stablelm(c):
    def by_head(name):
        return plain(f"self_attn.{name}_layernorm.norms.{{h}}", per_head=True)
    eps = c.get("layer_norm_eps", 1e-5)
    own, head = layer_norm(eps, False), {}
    if c.get("qk_layernorm", False):
        head = dict(q_norm=replace(own, id=Id.Q_NORM), k_norm=replace(own, id=Id.K_NORM),
                    over=Over.OWN_SCALES)
    style = ONE_NORM if c.get("use_parallel_residual", False) else PRE
    return llama(c, renamed(Q_NORM=by_head("q"), K_NORM=by_head("k")), norm=layer_norm(eps),
                 share=0.25, head=head, style=style)


def phi(c):
    rows = renamed(O="self_attn.dense", UP="mlp.fc1", DOWN="mlp.fc2",
                   Q_NORM="self_attn.q_layernorm",
                   K_NORM="self_attn.k_layernorm") | table(TEXT, "", FINAL_NORM="final_layernorm")
    return llama(c, rows, norm=layer_norm(c.get("layer_norm_eps", 1e-5)), share=0.5,
                 qk=c.get("qk_layernorm", False), act=c.get("hidden_act", "gelu_new"), gated=False,
                 style=ONE_NORM)


def phi3(c):
    rows = renamed(**joined("self_attn.qkv_proj", "Q K V"), **GATE_UP)
    return llama(c, rows, eps=1e-5, window=c.get("sliding_window"))


def starcoder2(c):
    return llama(c, renamed(UP="mlp.c_fc", DOWN="mlp.c_proj"),
                 norm=layer_norm(c.get("norm_epsilon", 1e-5)),
                 act=c.get("hidden_act", "gelu_pytorch_tanh"), gated=False, tied=True,
                 window=c.get("sliding_window"))


# --- decoders with experts ------------------------------------------------------------------------

def pool(c, inner, experts, chosen, **more):
    """`inner` is the key of the size of an expert; `chosen` applies if the config does not say."""
    return Mlp(c.get("hidden_act", "silu"), True, inner=c[inner], experts=experts,
               chosen=c.get("num_experts_per_tok", chosen), **more)


def grouped(c, first, factor, n_group, topk_group, **change):
    """DeepSeek and its relatives: groups of experts, shared ones, first layers without experts."""
    usual = dict(router=Router.SIGMOID, renormalise=c.get("norm_topk_prob", True), corrected=True,
                 two_best=True)
    m = pool(c, "moe_intermediate_size", c["n_routed_experts"], 8,
             groups=c.get("n_group") or n_group, chosen_groups=c.get("topk_group") or topk_group,
             shared_inner=c.get("n_shared_experts", 1) * c["moe_intermediate_size"],
             expert_factor=c.get("routed_scaling_factor", factor))
    m = replace(m, **(change or usual))
    return lambda layer: m if layer >= c.get("first_k_dense_replace", first) else None


W123 = dict(ROUTER="block_sparse_moe.gate", EXPERT_GATE="block_sparse_moe.experts.{e}.w1",
            EXPERT_UP="block_sparse_moe.experts.{e}.w3",
            EXPERT_DOWN="block_sparse_moe.experts.{e}.w2")


def minimax(c):
    rows = renamed(CORRECTION=Row("block_sparse_moe.e_score_correction_bias", None), **W123)
    d = c.get("head_dim") or 128
    m = pool(c, "intermediate_size", c.get("num_local_experts", 256), 8, router=Router.SIGMOID,
             renormalise=True, corrected=True)
    return llama(c, rows, d, 8, theta=5e6, share=c.get("rotary_dim", d) / d, qk=True,
                 head=dict(over=Over.WHOLE), mixture=m)


def qwen_moe(c, version=2):
    old = version == 2
    m = pool(c, "moe_intermediate_size", c.get("num_experts", 60 if old else 128), 4 if old else 8,
             renormalise=c.get("norm_topk_prob", False))
    if old:
        m = replace(m, shared_inner=c["shared_expert_intermediate_size"], shared_gate=True)

    def mixture(layer):
        plain_ones, step = c.get("mlp_only_layers") or [], c.get("decoder_sparse_step", 1)
        return None if layer in plain_ones or (layer + 1) % step else m
    return llama(c, d=None if old else c.get("head_dim"), qk=not old,
                 window=qwen_window(c, not old), mixture=mixture)


def mixtral(c):
    m = pool(c, "intermediate_size", c.get("num_local_experts", 8), 2, renormalise=True)
    return llama(c, renamed(**W123), c.get("head_dim"), 8, 1e-5, theta=1e6,
                 window=c.get("sliding_window"), mixture=m)


def olmoe(c):
    m = pool(c, "intermediate_size", c.get("num_experts", 64), 8,
             renormalise=c.get("norm_topk_prob", False))
    return llama(c, eps=1e-5, qk=True, head=dict(over=Over.WHOLE, clip=c.get("clip_qkv") or 0.0),
                 mixture=m)


def granitemoe(c):
    m = pool(c, "intermediate_size", c.get("num_local_experts", 8), 2, router=Router.OF_CHOSEN,
             shared_inner=c.get("shared_intermediate_size", 0))
    at = "block_sparse_moe."
    rows = renamed(ROUTER=at + "router.layer",
                   EXPERT_DOWN=plain(at + "output_linear", stacked=True),
                   SHARED_DOWN="shared_mlp.output_linear",
                   **joined(at + "input_linear", "EXPERT_GATE EXPERT_UP", stacked=True),
                   **joined("shared_mlp.input_linear", "SHARED_GATE SHARED_UP"))
    return llama(c, rows, mixture=m, **multipliers(c))


def phimoe(c):
    m = pool(c, "intermediate_size", c.get("num_local_experts", 16), 2, router=Router.ONE_BY_ONE,
             near=2 * c.get("router_jitter_noise", 0.01))
    return llama(c, renamed(**W123), K=8, norm=layer_norm(c.get("rms_norm_eps", 1e-5)), theta=1e6,
                 window=c.get("sliding_window"), mixture=replace(m, chosen=2))


HUNYUAN = renamed(Q_NORM="self_attn.query_layernorm", K_NORM="self_attn.key_layernorm",
                  ROUTER="mlp.gate.wg", SHARED_GATE="mlp.shared_mlp.gate_proj",
                  SHARED_UP="mlp.shared_mlp.up_proj", SHARED_DOWN="mlp.shared_mlp.down_proj")


def hunyuan(c, mixture=None):
    return llama(c, HUNYUAN, c.get("head_dim"), eps=1e-5, qk=True,
                 head=dict(norm_after_rotary=True), mixture=mixture)


def hunyuan_moe(c):
    m = pool(c, "intermediate_size", c.get("num_experts", 1), 1, renormalise=True,
             shared_inner=c["intermediate_size"])
    chosen = c.get("moe_topk", 1)
    return hunyuan(c, lambda layer: replace(
        m, chosen=chosen[layer] if isinstance(chosen, list) else chosen))


def ernie(c, **more):
    return llama(c, **(dict(eps=1e-5, theta=5e5, neighbours=True, tied=True) | more))


def ernie_moe(c):
    inner, last = c["moe_intermediate_size"], c.get("moe_layer_end_index", -1)
    m = pool(c, "moe_intermediate_size", c.get("moe_num_experts", 64), 6, renormalise=True,
             corrected=True, shared_inner=c.get("moe_num_shared_experts", 2) * inner)
    m = replace(m, chosen=c.get("moe_k", 6))
    last = last if last >= 0 else c["num_hidden_layers"] - 1

    def mixture(layer):
        among = c.get("moe_layer_start_index", 1) <= layer <= last
        return m if among and (layer + 1) % c.get("moe_layer_interval", 1) == 0 else None
    rows = renamed(CORRECTION=Row("mlp.moe_statics.e_score_correction_bias", None))
    return ernie(c, rows=rows, d=c.get("head_dim"), K=4, mixture=mixture)


def dots(c):
    mixture = grouped({"norm_topk_prob": False} | c, 0, 1.0, 1, 1)
    first = c.get("max_window_layers", 62)
    return llama(c, d=c.get("head_dim"), qk=True, mixture=mixture,
                 window=window_of(c, lambda layer: layer >= first, 4096))


def glm4_moe(c):
    return llama(c, d=c.get("head_dim") or 128, eps=1e-5, share=0.5, qk=c.get("use_qk_norm", False),
                 mixture=grouped(c, 1, 1.0, 1, 1))


def gpt_oss(c):
    def packed(name):
        name = "mlp.experts." + name
        return Row(name, name + "_bias", transposed=True, stacked=True)
    gate_up = joined(packed("gate_up_proj"), "EXPERT_GATE EXPERT_UP", c["intermediate_size"])
    rows = renamed(ROUTER="mlp.router", EXPERT_DOWN=packed("down_proj"), **gate_up)
    m = pool(c, "intermediate_size", c.get("num_local_experts", 128), 4, clamp=7.0, up_offset=1.0,
             router=Router.OF_CHOSEN)
    return llama(c, rows, c.get("head_dim") or 64, 8, 1e-5, theta=150000.0, score=dict(sink=True),
                 window=window_of(c, lambda layer: layer % 2 == 0, 128),
                 mixture=replace(m, activation="quick_gelu"))


def deepseek(c, version=3):
    nope, width, H = c["qk_nope_head_dim"], c["qk_rope_head_dim"], c["num_attention_heads"]
    at, latent_q = "self_attn.", c.get("q_lora_rank", 1536) or 0
    head = dict(by=By.LATENT, kv_heads=H, d_v=c["v_head_dim"], latent_q=latent_q,
                latent_kv=c["kv_lora_rank"], rotary_first=nope,
                latent_q_norm=replace(rms_norm(1e-6), id=Id.Q_DOWN_NORM),
                latent_kv_norm=replace(rms_norm(1e-6), id=Id.KV_DOWN_NORM))
    rows = renamed(Q=f"{at}q_b_proj|{at}q_proj", Q_DOWN=at + "q_a_proj",
                   Q_DOWN_NORM=at + "q_a_layernorm", KV_DOWN_NORM=at + "kv_a_layernorm",
                   **joined(at + "kv_a_proj_with_mqa", "KV_DOWN K_ROTARY"),
                   **joined(at + "kv_b_proj", "K V", H))
    rotary = rotary_of(c, width, neighbours=c.get("rope_interleave", True))
    scale = (nope + width) ** -0.5
    mscale = rotary.settings.get("mscale_all_dim") or 0
    if mscale:
        scale *= (0.1 * mscale * math.log(rotary.settings["factor"]) + 1) ** 2
    if version == 3:
        mixture = grouped(c, 3, 2.5, 8, 4)
    elif c.get("topk_method", "greedy") == "group_limited_greedy":
        mixture = grouped(c, 0, 1.0, 1, 1, router=Router.OF_ALL)
    else:
        mixture = grouped(c, 0, 1.0, 1, 1, groups=1)
    return llama(c, rows, nope + width, head=head, score=dict(scale=scale), rotary=rotary,
                 mixture=mixture)


def glm4_moe_lite(c):
    kinds = c.get("mlp_layer_types") or ["dense"] + ["sparse"] * (c["num_hidden_layers"] - 1)
    usual = dict(num_experts_per_tok=4, routed_scaling_factor=1.8, q_lora_rank=768, n_group=1,
                 topk_group=1, first_k_dense_replace=0, rms_norm_eps=1e-5)
    model = deepseek(usual | c)
    read, plain_mlp = model.stacks[TEXT].read, Mlp(c.get("hidden_act", "silu"), True,
                                                   inner=c["intermediate_size"])

    def read_kind(layer):
        sublayers = read(layer)
        if kinds[layer] == "dense":
            sublayers[-1].mlp = plain_mlp
        return sublayers
    model.stacks[TEXT].read = read_kind
    return model


# --- relatives of GPT -----------------------------------------------------------------------------

def gpt(c, rows, norm=None, prefixes=("transformer.", ""), I=None, **more):
    C = key(c, "hidden_size n_embed n_embd d_model")
    H = key(c, "num_attention_heads n_head n_heads num_heads attention_heads")
    L = key(c, "num_hidden_layers n_layer n_layers num_layers")
    I = I or key(c, "n_inner intermediate_size ffn_dim ffn_hidden_size", 4 * C)
    norm = norm or layer_norm(c.get("layer_norm_epsilon", 1e-5))
    return decoder(c, rows, norm, C, H, L, I, prefixes=prefixes, **more)


def gpt_rows(layer, norms, out, mlp, ends, **more):
    """Names, separated by blanks: norms of a layer; matrices of the MLP; tables, norm, head."""
    names = dict(zip(("NORM_1", "NORM_2"), norms.split())) | dict(zip(("UP", "DOWN"), mlp.split()))
    ends = dict(zip(("TOKENS", "FINAL_NORM", "HEAD", "POSITIONS"), ends.split()))
    return table(TEXT, layer, O=out, **names, **more) | table(TEXT, "", **ends)


DENSE = "mlp.dense_h_to_4h mlp.dense_4h_to_h"


def dbrx(c):
    a, f, H = c["attn_config"], c["ffn_config"], c["n_heads"]

    def stack(name, **layout):
        return Row("ffn.experts.mlp." + name, None, flat=f["moe_num_experts"], **layout)
    rows = gpt_rows("blocks.{l}.norm_attn_norm.", "norm_1 norm_2", "attn.out_proj", "",
                    "wte norm_f lm_head", **joined("attn.Wqkv", "Q K V"))
    rows |= table(TEXT, "blocks.{l}.", ROUTER="ffn.router.layer", EXPERT_GATE=stack("w1"),
                  EXPERT_UP=stack("v1"), EXPERT_DOWN=stack("w2", transposed=True))
    m = Mlp(f["ffn_act_fn"]["name"], True, inner=f["ffn_hidden_size"],
            experts=f["moe_num_experts"], chosen=f["moe_top_k"],
            renormalise=f.get("moe_normalize_expert_weights", 1) is not None)
    rotary = rotary_of(c, c["d_model"] // H, a.get("rope_theta", 1e4))
    return gpt(c, rows, layer_norm(1e-5, False), K=a.get("kv_n_heads", 1), tied=False,
               head=dict(clip=a.get("clip_qkv") or 0.0), rotary=rotary, mixture=m)


def gpt_neox(c):
    H = c["num_attention_heads"]
    rows = gpt_rows("layers.{l}.", "input_layernorm post_attention_layernorm", "attention.dense",
                    DENSE, "embed_in final_layer_norm embed_out",
                    **joined("attention.query_key_value", "Q K V", H))
    width = int(c["hidden_size"] // H * c.get("rotary_pct", 0.25))
    return gpt(c, rows, layer_norm(c.get("layer_norm_eps", 1e-5)), ("gpt_neox.", ""), tied=False,
               act=c.get("hidden_act", "gelu"),
               style=PARALLEL if c.get("use_parallel_residual", True) else PRE,
               rotary=rotary_of(c, width, base=c.get("rotary_emb_base", 10000)))


def bloom(c):
    qkv = joined("self_attention.query_key_value", "Q K V", key(c, "n_head num_attention_heads"))
    norm = layer_norm(c.get("layer_norm_epsilon", 1e-5))
    rows = gpt_rows("h.{l}.", "input_layernorm post_attention_layernorm", "self_attention.dense",
                    DENSE, "word_embeddings ln_f lm_head", **qkv)
    rows |= table(TEXT, "", EMBED_NORM="word_embeddings_layernorm")
    style = TO_NORMED if c.get("apply_residual_connection_post_layernorm", False) else PRE
    return gpt(c, rows, norm, act="gelu_new", score=dict(bias=Bias.ALIBI),
               embed=dict(norm=replace(norm, id=Id.EMBED_NORM)), style=style)


def falcon(c):
    H, alibi = c["num_attention_heads"], c.get("alibi", False)
    new = c.get("new_decoder_architecture", False)
    K = c.get("num_kv_heads") or H if new else 1 if c.get("multi_query", True) else H
    style = ONE_NORM
    if not new and not c.get("parallel_attn", True):
        style = PRE
    elif new and (c.get("num_ln_in_parallel_attn") or 2) == 2:
        style = PARALLEL
    norms = "ln_attn ln_mlp" if style == PARALLEL else "input_layernorm post_attention_layernorm"
    rows = gpt_rows("h.{l}.", norms, "self_attention.dense", DENSE, "word_embeddings ln_f lm_head",
                    **joined("self_attention.query_key_value", "Q K V", K))
    return gpt(c, rows, K=K, act=c.get("activation", "gelu"), style=style,
               I=c.get("ffn_hidden_size"),
               rotary=None if alibi else rotary_of(c, c["hidden_size"] // H),
               score=dict(bias=Bias.ALIBI_ROUNDED) if alibi else {})


def gpt_neo(c):
    kinds = c.get("attention_layers")
    if not kinds:
        types = c.get("attention_types", [[["global", "local"], 12]])
        kinds = [kind for pattern, count in types for kind in pattern * count]
    at = "attn.attention."
    rows = gpt_rows("h.{l}.", "ln_1 ln_2", at + "out_proj", "mlp.c_fc mlp.c_proj",
                    "wte ln_f lm_head wpe", Q=at + "q_proj", K=at + "k_proj", V=at + "v_proj")
    return gpt(c, rows, act=c.get("activation_function", "gelu_new"), score=dict(scale=1.0),
               embed=dict(place=Place.TABLE),
               window=lambda layer: c.get("window_size", 256) if kinds[layer] == "local" else None)


def gptj(c, quarters=False):
    """quarters: CodeGen, whose joined tensor has four groups of q, v, k."""
    qkv = dict(Q="attn.q_proj", K="attn.k_proj", V="attn.v_proj")
    if quarters:
        qkv = joined("attn.qkv_proj", "Q V K", 4)
    rows = gpt_rows("h.{l}.", "ln_1", "attn.out_proj", "mlp.fc_in mlp.fc_out", "wte ln_f lm_head",
                    **qkv)
    width = c.get("rotary_dim", 64) or c["n_embd"]
    return gpt(c, rows, tied=False, act=c.get("activation_function", "gelu_new"), style=ONE_NORM,
               rotary=rotary_of(c, width, neighbours=True, settings={}, base=10000))


def opt(c):
    C, affine = c["hidden_size"], c.get("layer_norm_elementwise_affine", True)
    width, post = c.get("word_embed_proj_dim") or C, not c.get("do_layer_norm_before", True)
    rows = moved(BART, TEXT, "decoder.") | table(TEXT, "", HEAD="lm_head")
    rows |= table(TEXT, "decoder.", TOKENS="embed_tokens", POSITIONS="embed_positions",
                  FINAL_NORM="final_layer_norm", EMBED_PROJECT="project_in",
                  PROJECT_OUT="project_out")
    embed = dict(width=width, place=Place.TABLE, first=2,
                 project=Project.TOKENS if width != C else Project.NEVER)
    return gpt(c, rows, layer_norm(1e-5, affine, scale=affine), ("model.", ""),
               act=c.get("activation_function", "relu"), style=POST if post else PRE,
               final=not post and not c.get("_remove_final_layer_norm", False), embed=embed,
               unembed=dict(project=width != C))


def gpt2(c, style=PRE):
    """POST: GPT-1, with other names of the tables."""
    act = key(c, "activation_function afn", "gelu_new")
    rows = gpt_rows("h.{l}.", "ln_1 ln_2", flipped("attn.c_proj"), "",
                    "wte|tokens_embed ln_f lm_head wpe|positions_embed", UP=flipped("mlp.c_fc"),
                    DOWN=flipped("mlp.c_proj"), **joined(flipped("attn.c_attn"), "Q K V"))
    scale, by_layer = 1.0, c.get("scale_attn_by_inverse_layer_idx", False)
    if c.get("scale_attn_weights", True):
        scale = (key(c, "n_embd hidden_size") // key(c, "n_head num_attention_heads")) ** -0.5
    return gpt(c, rows, style=style, final=style == PRE, embed=dict(place=Place.TABLE),
               act="gelu_new" if style == POST and act == "gelu" else act,
               score=lambda layer: dict(scale=scale / (layer + 1) if by_layer else scale))


def gpt_bigcode(c):
    K = 1 if c.get("multi_query", True) else c["n_head"]
    rows = gpt_rows("h.{l}.", "ln_1 ln_2", "attn.c_proj", "mlp.c_fc mlp.c_proj",
                    "wte ln_f lm_head wpe", **joined("attn.c_attn", "Q K V", K))
    return gpt(c, rows, K=K, act=c.get("activation_function", "gelu_pytorch_tanh"),
               embed=dict(place=Place.TABLE))


def mpt(c):
    a = c.get("attn_config") or {}
    rows = gpt_rows("blocks.{l}.", "norm_1 norm_2", "attn.out_proj", "ffn.up_proj ffn.down_proj",
                    "wte norm_f lm_head", **joined("attn.Wqkv", "Q K V"))
    scale = a.get("softmax_scale") or (c["d_model"] // c["n_heads"]) ** -0.5
    return gpt(c, rows, layer_norm(c.get("layer_norm_epsilon", 1e-5), False), act="gelu",
               head=dict(clip=a.get("clip_qkv") or 0.0),
               score=dict(bias=Bias.ALIBI_FROM_END, scale=scale))


def xglm(c, place=Place.SINES_OFFSET, prefix="model.", head="lm_head"):
    """BioGPT: a table of positions, and other names."""
    rows = BART | table(TEXT, "", TOKENS="embed_tokens", POSITIONS="embed_positions",
                        FINAL_NORM="layer_norm", HEAD=head)
    scale = math.sqrt(key(c, "d_model hidden_size")) if c.get("scale_embedding", True) else 1.0
    return gpt(c, rows, layer_norm(), (prefix, ""), I=key(c, "ffn_dim intermediate_size"),
               act=key(c, "activation_function hidden_act", "gelu"),
               embed=dict(scale=scale, place=place, first=2))


# --- encoders -------------------------------------------------------------------------------------

def encoder(c, has, rows, norm, C, H, L, I, act, prefix, embed, head, score={},
            pooler="pooler.dense", place_of=None, rotary=None, gated=False, style=POST,
            final=False):
    """head: names of its dense layer, norm, last matrix and bias; the activation; its width. The
    names in the file decide which end the model has."""
    (dense, norm_name, last, bias), between, width = head
    V, u = c["vocab_size"], Unembed()

    def read(layer):
        scores = Score(**(dict(scale=(C // H) ** -0.5, ahead=UNLIMITED) | score))
        return block(style, norm, equal_heads(H, C // H, rotary=rotary), scores,
                     Mlp(act, gated, inner=I))
    if has(dense):
        u = Unembed(transform=between, transform_width=width,
                    transform_norm=replace(norm, id=Id.TRANSFORM_NORM), head=True, rows=V,
                    tied=c.get("tie_word_embeddings", True), at_transform=At.TRANSFORM,
                    at_result=At.LOGITS)
        rows = rows | table(TEXT, "", TRANSFORM=dense, TRANSFORM_NORM=norm_name,
                            HEAD=Row(last + ".weight", last + ".bias|" + bias))
    elif has("discriminator_predictions.dense"):
        u = Unembed(transform=act, transform_width=C, head=True, rows=1, at_result=At.DISCRIMINATOR)
        rows = rows | table(TEXT, "discriminator_predictions.", TRANSFORM="dense",
                            HEAD="dense_prediction")
    elif has(pooler):
        u = Unembed(transform="tanh", transform_width=C, first_only=True, at_transform=At.POOLED)
        rows = rows | table(TEXT, "", TRANSFORM=pooler)
    if final:
        u.norm = replace(norm, id=Id.FINAL_NORM)
    usual = dict(width=C, rows=V, place=Place.TABLE, norm=replace(norm, id=Id.EMBED_NORM))
    stack = Stack(TEXT, C, L, read, Embed(**(usual | embed)), u)
    return Model({TEXT: stack}, rows, (prefix, ""), place_of or (lambda layer: {"l": layer}))


def bert_rows(under, names):
    rows = table(TEXT, "embeddings.", TOKENS="word_embeddings", POSITIONS="position_embeddings",
                 SEGMENTS="token_type_embeddings", EMBED_NORM="LayerNorm")
    slots = ("Q", "K", "V", "O", "NORM_1", "UP", "DOWN", "NORM_2")
    return rows | table(TEXT, under, **dict(zip(slots, names.split())))


def head_names(at, dense, norm, last, bias):
    return tuple(at + name for name in (dense, norm, last, bias))


BERT_HEAD = head_names("cls.predictions.", "transform.dense", "transform.LayerNorm", "decoder",
                       "bias")
ROBERTA_HEAD = head_names("lm_head.", "dense", "layer_norm", "decoder", "bias")
ELECTRA_HEAD = ("generator_predictions.dense", "generator_predictions.LayerNorm",
                "generator_lm_head", "generator_lm_head.bias")
BERT_ATTENTION = "self.query self.key self.value output.dense output.LayerNorm"


def bert(c, has, prefix="bert.", head=BERT_HEAD, between=None, embed={}, more_rows={}, score={},
         attention=BERT_ATTENTION):
    names = " ".join("attention." + name for name in attention.split())
    names += " intermediate.dense output.dense output.LayerNorm"
    C, act = c["hidden_size"], c.get("hidden_act", "gelu")
    embed = dict(segments=c.get("type_vocab_size", 2)) | embed
    return encoder(c, has, bert_rows("encoder.layer.{l}.", names) | more_rows,
                   layer_norm(c.get("layer_norm_eps", 1e-12)), C, c["num_attention_heads"],
                   c["num_hidden_layers"], c["intermediate_size"], act, prefix, embed,
                   (head, between or act, embed.get("width", C)), score)


def bert_or_jina(c, has):
    if c.get("position_embedding_type") != "alibi":
        return bert(c, has)
    C, H, act = c["hidden_size"], c["num_attention_heads"], c["feed_forward_type"][:-3] + "lu"
    names = " ".join("attention." + name for name in BERT_ATTENTION.split())
    rows = bert_rows("encoder.layer.{l}.", names + " - mlp.wo mlp.layernorm")
    rows |= table(TEXT, "encoder.layer.{l}.", **joined("mlp.gated_layers", "GATE UP"))
    norm, twice = layer_norm(c.get("layer_norm_eps", 1e-12)), "auto_map" in c
    if twice:
        rows |= table(TEXT, "encoder.layer.{l}.", NORM_1_POST="attention.output.LayerNorm",
                      NORM_1="layer_norm_1", NORM_2="layer_norm_2", DOWN="mlp.down_layer",
                      Q_NORM="attention.self.layer_norm_q", K_NORM="attention.self.layer_norm_k",
                      **joined("mlp.up_gated_layer", "UP GATE"))
    model = encoder(c, has, rows, layer_norm(c.get("layer_norm_eps", 1e-12)), C, H,
                   c["num_hidden_layers"], c["intermediate_size"], act, "bert.",
                   dict(segments=c.get("type_vocab_size", 2), place=Place.NOWHERE),
                   (BERT_HEAD, c.get("hidden_act", "gelu"), C), dict(bias=Bias.ALIBI_APART),
                   gated=True)
    read = model.stacks[TEXT].read

    def twice_added(layer):
        sublayers = read(layer)
        s = sublayers[0]
        s.head = replace(s.head, q_norm=replace(norm, id=Id.Q_NORM), over=Over.WHOLE,
                         k_norm=replace(norm, id=Id.K_NORM))
        s.out, s.at_out_norm, s.twice = replace(norm, id=Id.NORM_1_POST), At.LN_1_POST, True
        return sublayers
    if twice:
        model.stacks[TEXT].read = twice_added
    return model


def roberta(c, has):
    return bert(c, has, "roberta.", ROBERTA_HEAD, "gelu",
                dict(counted=True, pad=c.get("pad_token_id", 1)))


def mpnet(c, has):
    return bert(c, has, "mpnet.", ROBERTA_HEAD, "gelu", dict(counted=True, pad=1, segments=0),
                table(TEXT, "encoder.", BUCKETS="relative_attention_bias"),
                dict(bias=Bias.BUCKETS, buckets=32, reach=128),
                "attn.q attn.k attn.v attn.o LayerNorm")


DEBERTA_HEAD = head_names("lm_predictions.lm_head.", "dense", "LayerNorm", "decoder", "bias")


def deberta(c, has):
    norm, kinds = layer_norm(c.get("layer_norm_eps", 1e-7)), c.get("pos_att_type") or []
    kinds = kinds.split("|") if isinstance(kinds, str) else kinds
    reach, buckets = c.get("max_relative_positions", -1), c.get("position_buckets", -1)
    reach = reach if reach > 0 else c.get("max_position_embeddings", 512)
    normed = "layer_norm" in c.get("norm_rel_ebd", "none")
    score = dict(bias=Bias.DISENTANGLED, terms=tuple(kinds), reach=reach, log=buckets > 0,
                 buckets=buckets if buckets > 0 else reach, shared=c.get("share_att_key", False),
                 table_norm=replace(norm, id=Id.NEAR_NORM) if normed else NO_NORM,
                 scale=(c["hidden_size"] // c["num_attention_heads"] * (1 + len(kinds))) ** -0.5)
    place = Place.TABLE if c.get("position_biased_input", True) else Place.NOWHERE
    rows = table(TEXT, "encoder.", NEAR="rel_embeddings", NEAR_NORM="LayerNorm")
    rows |= table(TEXT, "encoder.layer.{l}.attention.self.", NEAR_Q="pos_query_proj",
                  NEAR_K="pos_key_proj")
    return bert({"layer_norm_eps": 1e-7} | c, has, "deberta.",
                DEBERTA_HEAD if has("lm_predictions.lm_head.dense") else BERT_HEAD, None,
                dict(segments=c.get("type_vocab_size", 0), place=place), rows, score,
                "self.query_proj self.key_proj self.value_proj output.dense output.LayerNorm")


def electra(c, has):
    width = c.get("embedding_size", c["hidden_size"])
    embed = dict(width=width, project=Project.LAST if width != c["hidden_size"] else Project.NEVER)
    return bert(c, has, "electra.", ELECTRA_HEAD, "gelu", embed,
                table(TEXT, "", EMBED_PROJECT="embeddings_project"))


def distilbert(c, has):
    names = ("attention.q_lin attention.k_lin attention.v_lin attention.out_lin sa_layer_norm "
             "ffn.lin1 ffn.lin2 output_layer_norm")
    act = c.get("activation", "gelu")
    head = ("vocab_transform", "vocab_layer_norm", "vocab_projector", "vocab_projector.bias")
    return encoder(c, has, bert_rows("transformer.layer.{l}.", names), layer_norm(1e-12), c["dim"],
                   c["n_heads"], c["n_layers"], c["hidden_dim"], act, "distilbert.", {},
                   (head, act, c["dim"]))


def albert(c, has):
    width, L = c.get("embedding_size", 128), c["num_hidden_layers"]
    act = c.get("hidden_act", "gelu_new")
    groups, members = c.get("num_hidden_groups", 1), c.get("inner_group_num", 1)
    names = ("attention.query attention.key attention.value attention.dense attention.LayerNorm "
             "ffn ffn_output full_layer_layer_norm")
    rows = bert_rows("encoder.albert_layer_groups.{g}.albert_layers.{j}.", names)
    rows |= table(TEXT, "", EMBED_PROJECT="encoder.embedding_hidden_mapping_in")
    head = head_names("predictions.", "dense", "LayerNorm", "decoder", "bias")
    embed = dict(width=width, segments=c.get("type_vocab_size", 2), project=Project.LAST)
    return encoder(c, has, rows, layer_norm(c.get("layer_norm_eps", 1e-12)), c["hidden_size"],
                   c["num_attention_heads"], L * members, c["intermediate_size"], act, "albert.",
                   embed, (head, act, width), pooler="pooler",
                   place_of=lambda layer: {"g": layer // members * groups // L,
                                           "j": layer % members})


def esm(c, has):
    names = " ".join("attention." + name for name in BERT_ATTENTION.split()[:-1])
    names += " attention.LayerNorm intermediate.dense output.dense LayerNorm"
    C, H, norm = c["hidden_size"], c["num_attention_heads"], layer_norm(c["layer_norm_eps"])
    turns = c.get("position_embedding_type", "absolute") == "rotary"
    rows = bert_rows("encoder.layer.{l}.", names) | table(
        TEXT, "", EMBED_NORM="embeddings.layer_norm", FINAL_NORM="encoder.emb_layer_norm_after")
    embed = dict(counted=True, pad=c.get("pad_token_id", 1), kept=1 - 0.15 * 0.8,
                 masks=c["mask_token_id"] if c.get("token_dropout") else -1)
    embed |= dict(place=Place.NOWHERE) if turns else {}
    embed |= {} if c.get("emb_layer_norm_before") else dict(norm=NO_NORM)
    return encoder(c, has, rows, norm, C, H, c["num_hidden_layers"], c["intermediate_size"], "gelu",
                   "esm.", embed, (ROBERTA_HEAD, "gelu", C), style=PRE, final=True,
                   rotary=rotary_of(c, C // H) if turns else None)


def nomic_bert(c, has):
    C, H = key(c, "hidden_size n_embd"), key(c, "num_attention_heads n_head")
    act, norm = c.get("hidden_act", "silu"), layer_norm(key(c, "layer_norm_eps layer_norm_epsilon"))
    rows = table(TEXT, "", TOKENS="embeddings.word_embeddings", EMBED_NORM="emb_ln",
                 SEGMENTS="embeddings.token_type_embeddings")
    rows |= table(TEXT, "encoder.layers.{l}.", NORM_1="norm1", O="attn.out_proj", NORM_2="norm2",
                  UP="mlp.fc11", GATE="mlp.fc12", DOWN="mlp.fc2", **joined("attn.Wqkv", "Q K V"))
    head = head_names("cls.predictions.", "transform.dense", "transform.layer_norm", "decoder",
                      "bias")
    rotary = rotary_of(c, C // H, base=key(c, "rotary_emb_base"), theta=1000.0)
    embed = dict(segments=c.get("type_vocab_size", 2), place=Place.NOWHERE)
    return encoder(c, has, rows, norm, C, H, key(c, "num_hidden_layers n_layer"),
                   key(c, "intermediate_size n_inner"), act, "nomic_bert.", embed, (head, act, C),
                   rotary=rotary, gated=True)


def modernbert(c, has):
    C, H, I = c["hidden_size"], c["num_attention_heads"], c["intermediate_size"]
    d, act = C // H, c.get("hidden_activation", "gelu")
    norm = layer_norm(c.get("norm_eps", 1e-5), c.get("norm_bias", False))
    rows = table(TEXT, "", TOKENS="embeddings.tok_embeddings", EMBED_NORM="embeddings.norm",
                 FINAL_NORM="final_norm")
    rows |= table(TEXT, "layers.{l}.", NORM_1="attn_norm", O="attn.Wo", NORM_2="mlp_norm",
                  DOWN="mlp.Wo", **joined("attn.Wqkv", "Q K V"), **joined("mlp.Wi", "GATE UP"))
    head = (("head.dense", "head.norm", "decoder", "decoder.bias"),
            c.get("classifier_activation", "gelu"), C)
    model = encoder(c, has, rows, norm, C, H, c["num_hidden_layers"], I, act, "model.",
                    dict(place=Place.NOWHERE), head)

    def read(layer):
        full = layer % c.get("global_attn_every_n_layers", 3) == 0
        reach = UNLIMITED if full else c.get("local_attention", 128) // 2
        theta = c.get("global_rope_theta", 160000.0) if full else c.get("local_rope_theta", 10000.0)
        rotary = rotary_of(c, d, settings={}, base=theta)
        sublayers = block(PRE, norm, equal_heads(H, d, rotary=rotary),
                          Score(d ** -0.5, back=reach, ahead=reach), Mlp(act, True, inner=I))
        if layer == 0:  # the embedding has a norm already
            sublayers[0].before, sublayers[0].at_input = NO_NORM, At.NONE
        return sublayers
    model.stacks[TEXT].read, model.stacks[TEXT].unembed.norm = read, replace(norm, id=Id.FINAL_NORM)
    return model


# --- encoder-decoders -----------------------------------------------------------------------------

def two_stacks(c, rows, C, style, norm, side, final, prefixes=("",), tied=True, input_factor=1.0):
    """side(part) is (layers, head, layer -> score, mlp, embed). Attention to the encoder has the
    heads and the scale of the decoder, no bias and no mask."""
    stacks, tied = {}, c.get("tie_word_embeddings", tied)
    for part in (SOURCE, TEXT):
        L, head, score, mlp, e = side(part)

        def read(layer, part=part, head=head, score=score, mlp=mlp):
            own = score(layer)
            cross = Score(own.scale, ahead=UNLIMITED) if part == TEXT else None
            own = replace(own, ahead=UNLIMITED if part == SOURCE else 0)
            return block(style, norm, head, own, mlp, part, cross)
        u = Unembed(replace(norm, id=Id.FINAL_NORM) if final else NO_NORM)
        if part == TEXT:
            u = replace(u, head=True, tied=tied, rows=e.rows, at_result=At.LOGITS,
                        input_factor=input_factor if tied else 1.0)
        stacks[part] = Stack(part, C, L, read, e, u)
    return Model(stacks, rows, prefixes)


def t5(c, own_tables=False, tied=True, proj="relu"):
    """own_tables: UMT5, where each layer has a table of biases."""
    C, H, rows = c["d_model"], c["num_heads"], table(TEXT, "", HEAD="lm_head")
    proj = c.get("feed_forward_proj", proj)
    act = "gelu_new" if proj == "gated-gelu" else proj.split("-")[-1]
    gated = proj.startswith("gated-")
    alone = c["architectures"][0].endswith("EncoderModel")

    def attention(at, name):
        return dict(NORM_1=f"{at}.layer_norm",
                    **{slot: f"{at}.{name}.{slot.lower()}" for slot in "QKVO"})
    for part, name, last in ((TEXT if alone else SOURCE, "encoder", 1), (TEXT, "decoder", 2))[:2 - alone]:
        m = f"{last}.DenseReluDense."
        rows |= table(part, name + ".block.{l}.layer.", NORM_2=f"{last}.layer_norm",
                      GATE=m + "wi_0", UP=m + ("wi_1" if gated else "wi"), DOWN=m + "wo",
                      BUCKETS="0.SelfAttention.relative_attention_bias",
                      **attention(0, "SelfAttention"))
        rows |= table(part, "", TOKENS="shared", FINAL_NORM=name + ".final_layer_norm")
    rows |= table(CROSS, "decoder.block.{l}.layer.", **attention(1, "EncDecAttention"))
    count = c.get("relative_attention_num_buckets", 32)
    reach = c.get("relative_attention_max_distance", 128)
    layers = {SOURCE: c["num_layers"], TEXT: c.get("num_decoder_layers") or c["num_layers"]}

    def score(layer):
        return Score(1.0, bias=Bias.BUCKETS, bias_layer=layer if own_tables else 0, buckets=count,
                     reach=reach)

    def side(part):
        return (layers[part], equal_heads(H, c["d_kv"]), score, Mlp(act, gated, inner=c["d_ff"]),
                Embed(C, c["vocab_size"]))
    norm = rms_norm(c.get("layer_norm_epsilon", 1e-6))
    if alone:
        _, head, _, mlp, embed = side(SOURCE)
        return Model({TEXT: Stack(
            TEXT, C, layers[SOURCE],
            lambda layer: block(PRE, norm, head, replace(score(layer), ahead=UNLIMITED), mlp), embed,
            Unembed(replace(norm, id=Id.FINAL_NORM)))}, rows, ("",))
    return two_stacks(c, rows, C, PRE, norm, side, True, tied=tied, input_factor=C ** -0.5)


def bart(c, style=POST, place=Place.TABLE, embed_norm=True, act="gelu", scaled=False,
         counted=False):
    C, norm, names = c["d_model"], layer_norm(), {SOURCE: "encoder", TEXT: "decoder"}
    rows = table(TEXT, "", HEAD=Row("lm_head.weight", "final_logits_bias"))
    for part, name in names.items():
        rows |= moved(BART, part, name + ".")
        rows |= table(part, "", TOKENS=f"{name}.embed_tokens|shared")
        rows |= table(part, name + ".", POSITIONS="embed_positions",
                      EMBED_NORM="layernorm_embedding", FINAL_NORM="layer_norm")
    rows |= moved(BART, CROSS, "decoder.", "self_attn", "encoder_attn")
    scale = math.sqrt(C) if c.get("scale_embedding", scaled) else 1.0

    def side(part):
        name = names[part]
        H = c[name + "_attention_heads"]
        V = part == TEXT and c.get("decoder_vocab_size") or c["vocab_size"]
        e = Embed(C, V, scale, place, 2 if embed_norm else 0, counted,
                  c.get("pad_token_id", 1),
                  norm=replace(norm, id=Id.EMBED_NORM) if embed_norm else NO_NORM)
        mlp = Mlp(c.get("activation_function", act), False, inner=c[name + "_ffn_dim"])
        heads, score = equal_heads(H, C // H), Score((C // H) ** -0.5)
        return c[name + "_layers"], heads, lambda layer: score, mlp, e
    return two_stacks(c, rows, C, style, norm, side, style == PRE, ("model.", ""))


# --- the program's own families -------------------------------------------------------------------

def native_rows(part, under, norm_1, at):
    qkvo = {slot: flipped(f"{at}.{name}_proj")
            for slot, name in zip("QKVO", ("q", "k", "v", "out"))}
    rows = table(part, under + "{l}.", NORM_1=norm_1, NORM_2="ln_2", UP=flipped("mlp.c_fc"),
                 DOWN=flipped("mlp.c_proj"), **qkvo)
    return rows | table(part, "", TOKENS="wte", POSITIONS="wpe")


def attention(c):
    """Bare attention: no residual, MLP or unembedding."""
    C, H, V = c["n_embd"], c.get("n_head", 1), c["vocab_size"]
    cross, d = c.get("attention") == "cross", c.get("d_k") or C // H
    head = Head(By.PROJECT if c.get("projections", True) else By.AS_IS, H, c.get("n_kv_head") or H,
                d, c.get("d_v") or C // H, no_out=not c.get("out_proj", True))
    score = Score(c.get("scale", d ** -0.5), ahead=0 if c.get("causal", False) else UNLIMITED)

    def read(layer):
        return [Sublayer(Kind.ATTEND_SOURCE if cross else Kind.ATTEND, TEXT, replaces=True,
                         at_out=At.ATTN_OUT, head=head, score=score)]
    rows = native_rows(TEXT, "h.", "", "attn") | native_rows(SOURCE, "", "", "")
    stacks = {TEXT: Stack(TEXT, C, c.get("n_layer", 1), read, Embed(C, V), Unembed(), At.NONE)}
    if cross:
        stacks[SOURCE] = Stack(SOURCE, C, 0, read, Embed(C, V), Unembed())
    return Model(stacks, rows, ("",))


def transformer(c):
    """The encoder-decoder of the paper."""
    C, H = c["n_embd"], c.get("n_head", 1)
    layers = {SOURCE: c.get("n_encoder_layer", 1), TEXT: c.get("n_layer", 1)}
    rows = native_rows(TEXT, "h.", "ln_1", "attn") | native_rows(SOURCE, "enc.", "ln_1", "attn")
    rows |= native_rows(CROSS, "h.", "ln_cross", "cross_attn")
    rows |= table(TEXT, "", HEAD="lm_head", FINAL_NORM="ln_f")
    rows |= table(SOURCE, "", FINAL_NORM="enc.ln_f")
    mlp = Mlp(c.get("activation_function", "relu"), False, inner=c.get("n_inner") or 4 * C)
    place = Place.TABLE if c.get("positions") == "learned" else Place.SINES_IN_TURN
    e = Embed(C, c["vocab_size"], math.sqrt(C) if c.get("scale_embedding", True) else 1.0, place)

    def side(part):
        return layers[part], equal_heads(H, C // H), lambda layer: Score((C // H) ** -0.5), mlp, e
    return two_stacks(c, rows, C, PRE if c.get("norm_first", False) else POST_SUM,
                      layer_norm(c.get("layer_norm_epsilon", 1e-5)), side,
                      c.get("final_norm", True))


# --- all ------------------------------------------------------------------------------------------

FAMILIES = {
    # relatives of Llama
    "llama": lambda c: llama(c, d=c.get("head_dim")),
    "mistral": lambda c: llama(c, d=c.get("head_dim"), K=8, window=c.get("sliding_window", 4096)),
    "ministral": lambda c: llama(c, d=c.get("head_dim"), K=8,
                                 window=window_of(c, lambda layer: True, 4096)),
    "ministral3": ministral3, "diffllama": diffllama,
    "qwen2": lambda c: llama(c, window=qwen_window(c)),
    "qwen3": lambda c: llama(c, d=c.get("head_dim") or 128, qk=True, window=qwen_window(c)),
    "granite": lambda c: llama(c, **multipliers(c)),
    "olmo": olmo,
    "olmo2": lambda c: llama(c, AFTERS, eps=1e-5, style=AFTER, qk=True, head=dict(over=Over.WHOLE)),
    "olmo3": olmo3,
    "arcee": lambda c: llama(c, d=c.get("head_dim"), eps=1e-5, act=c.get("hidden_act", "relu2"),
                             gated=False),
    "seed_oss": lambda c: llama(c, d=c.get("head_dim") or 128),
    "helium": lambda c: llama(c, d=c.get("head_dim") or 128, eps=1e-8, theta=1e5, neighbours=True),
    "ernie4_5": lambda c: ernie(c, d=c.get("head_dim") or 128, K=2),
    "gemma": gemma, "gemma2": lambda c: gemma(c, 2), "gemma3_text": lambda c: gemma(c, 3),
    "gemma3": gemma3, "gemma3n_text": gemma3n,
    "gemma3n": lambda c: replace(gemma3n(c["text_config"]), prefixes=IN_VISION + ("model.",)),
    "gemma4_text": gemma4, "gemma4": lambda c: gemma4(c["text_config"]),
    "nemotron": nemotron, "hunyuan_v1_dense": hunyuan, "apertus": apertus, "starcoder2": starcoder2,
    "smollm3": smollm3, "exaone4": exaone4, "cohere": cohere, "cohere2": lambda c: cohere(c, 2),
    "glm": glm, "glm4": lambda c: glm(c, SANDWICH), "stablelm": stablelm, "phi": phi, "phi3": phi3,
    # with experts
    "mixtral": mixtral, "minimax_m2": minimax, "dbrx": dbrx, "qwen2_moe": qwen_moe,
    "qwen3_moe": lambda c: qwen_moe(c, 3),
    "olmoe": olmoe, "granitemoe": granitemoe, "granitemoeshared": granitemoe, "phimoe": phimoe,
    "gpt_oss": gpt_oss,
    "hunyuan_v1_moe": hunyuan_moe, "ernie4_5_moe": ernie_moe, "dots1": dots, "glm4_moe": glm4_moe,
    "deepseek_v2": lambda c: deepseek(c, 2), "deepseek_v3": deepseek,
    "glm4_moe_lite": glm4_moe_lite,
    # relatives of GPT
    "gpt2": gpt2, "openai-gpt": lambda c: gpt2(c, POST), "gpt_bigcode": gpt_bigcode,
    "gpt_neo": gpt_neo, "gpt_neox": gpt_neox, "gptj": gptj, "codegen": lambda c: gptj(c, True),
    "bloom": bloom,
    "falcon": falcon, "opt": opt, "mpt": mpt, "xglm": xglm,
    "biogpt": lambda c: xglm(c, Place.TABLE, "biogpt.", "output_projection"),
    # encoder-decoders
    "t5": t5, "mt5": lambda c: t5(c, tied=False, proj="gated-gelu"),
    "umt5": lambda c: t5(c, True, proj="gated-gelu"),
    "bart": bart, "mbart": lambda c: bart(c, PRE),
    "m2m_100": lambda c: bart(c, PRE, Place.SINES_OFFSET, False, "relu", True, True),
    # the program's own
    "attention": attention, "transformer": transformer,
}


def attend_to_later_tokens(model):
    """In layers with a window, so far in both directions."""
    read = model.stacks[TEXT].read

    def wider(layer):
        sublayers = read(layer)
        for s in sublayers:
            if s.score:
                back = min(s.score.back + 1, UNLIMITED)
                s.score = replace(s.score, back=back, ahead=back)
        return sublayers
    model.stacks[TEXT].read = wider


def sines(has):
    """Sinusoids, unless the file has a table of them, which may be rounded."""
    return Place.TABLE if has("decoder.embed_positions") else Place.SINES_HALVES


BY_NAMES = {  # the names of the tensors decide, too
    "pegasus": lambda c, has: bart(c, PRE, sines(has), False),
    "marian": lambda c, has: bart(c, POST, sines(has), False),
    "bert": bert_or_jina, "roberta": roberta, "xlm-roberta": roberta, "camembert": roberta, "mpnet": mpnet,
    "deberta-v2": deberta,
    "electra": electra, "distilbert": distilbert, "albert": albert, "modernbert": modernbert,
    "nomic_bert": nomic_bert, "esm": esm,
    "mistral3": mistral3,
}


# Heads of classes: a dense layer, or none, its activation, and the last matrix. Files with both
# have this head, whose numbers are those of every token.
CLASSES = (("classifier.dense", "tanh", "classifier.out_proj"), ("pre_classifier", "relu", "classifier"),
           ("pooler.dense", "tanh", "classifier"), ("head.dense", "gelu", "classifier"), ("", "", "classifier"), ("", "", "qa_outputs"),
           ("", "", "score"))


def add_classes(model, config, has):
    for dense, act, last in CLASSES:
        if has(last) and (not dense or has(dense)):
            stack = model.stacks[TEXT]
            normed = dense == "head.dense"
            stack.unembed = Unembed(stack.unembed.norm, transform=act, head=True,
                                    transform_width=stack.width if dense else 0,
                                    rows=len(config.get("id2label", "12")), at_result=At.LOGITS,
                                    at_transform=At.TRANSFORM if dense else At.NONE,
                                    transform_norm=stack.unembed.transform_norm if normed else NO_NORM,
                                    mean=normed and config["classifier_pooling"] == "mean")
            model.rows[TEXT, Id.HEAD] = Row(last + ".weight", last + ".bias")
            model.rows |= table(TEXT, "", TRANSFORM=dense) if dense else {}
            return


def describe(config, names):
    family = config["model_type"]

    def has(name):
        return any(full.endswith(name + ".weight") for full in names)
    model = FAMILIES[family](config) if family in FAMILIES else BY_NAMES[family](config, has)
    if config.get("is_causal") is False:
        attend_to_later_tokens(model)
    add_classes(model, config, has)
    return model
