"""The pass of all model families in numpy and float64, from a description of their layers.

    model = family_layers.describe(config, names)      the description of a model
    p = run(model, files, ids)                    files: name -> array in float64
    p.tensors["h.0.weights"]

A model has one or two stacks (the decoder or only stack, and the encoder of an encoder-decoder). A
stack has an embedding, layers and an unembedding. A layer is a list of sublayers: attention,
perhaps attention to the encoder, and the MLP. Each sublayer has up to three norms. Nothing in this
file depends on the name of a family or on a config; family_layers.py translates configs into
descriptions. It shares no code with the program.

Shapes: T tokens of this stack, S of the stack that is attended to, C channels, H heads, K key/value
heads, d the size of a head, I the inner size of the MLP, V vocabulary, E experts. A matrix is
[out, in]: y = x W^T + b.
"""
import math
from dataclasses import dataclass, field
from enum import IntEnum
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

# === 1 The description ============================================================================

# TEXT: the decoder or only stack; SOURCE: the encoder; CROSS: attention from decoder to encoder;
# PER_LAYER: what each layer is given beside the stream; LAUREL: a narrow path beside attention
Part = IntEnum("Part", "TEXT SOURCE CROSS PER_LAYER LAUREL", start=0)
TEXT, SOURCE, CROSS, PER_LAYER, LAUREL = Part

# A site is an intermediate tensor that the pass records.
At = IntEnum("At", """NONE EMBEDDING PREDICTED RESID_PRE LN_1 Q_PRE K_PRE Q K V SCORES MASKED WEIGHTS
    DIFFERENCE SINK CONTEXT GATED ATTN_OUT LN_1_POST RESID_MID LN_2 LN_EXPERTS ROUTER EXPERT_WEIGHTS SHARED_OUT MLP_GATE MLP_UP
    MLP_ACT MLP_OUT LN_2_POST RESID_MLP CORRECTED STREAMS MERGED RESID_POST LN_F TRANSFORM POOLED DISCRIMINATOR LOGITS""", start=0)


def site_name(part, site, layer):
    name = site.name.lower()
    if layer is None:
        ends = {(SOURCE, At.EMBEDDING): "source_embedding", (SOURCE, At.LN_F): "enc.ln_f"}
        return ends.get((part, site), name)
    if part == CROSS:
        own = {"ln_1": "ln_cross", "attn_out": "cross_out", "resid_mid": "resid_cross"}
        name = own.get(name, "cross_" + name)
    if part in (PER_LAYER, LAUREL) and not name.startswith("resid"):
        own = {"mlp_up": "per_layer_input", "ln_2_post": part.name.lower() + "_post"}
        name = own.get(name, name.replace("mlp", part.name.lower()))
    return f"{'enc' if part == SOURCE else 'h'}.{layer}.{name}"


# A slot is the place of a weight tensor. The id after each matrix or norm is that of its bias.
IDS = """TOKENS POSITIONS SEGMENTS EMBED_NORM EMBED_PROJECT NORM_1 NORM_1_POST NORM_2 NORM_2_POST
    Q K V O Q_NORM K_NORM Q_DOWN Q_DOWN_NORM KV_DOWN KV_DOWN_NORM K_ROTARY SINKS BUCKETS NEAR
    LAMBDA_Q1 LAMBDA_K1 LAMBDA_Q2 LAMBDA_K2 CONTEXT_NORM
    NEAR_NORM NEAR_Q NEAR_K
    GATE UP DOWN XIELU_P XIELU_N XIELU_BETA XIELU_EPSILON
    ROUTER CORRECTION EXPERT_GATE EXPERT_UP EXPERT_DOWN
    SHARED_GATE SHARED_UP SHARED_DOWN SHARED_SWITCH
    V_NORM LAYER_SCALE ROUTER_NORM EXPERT_NORM EXPERT_SCALE EXPERTS_POST SHARED_POST
    GIVEN_TOKENS GIVEN_PROJECT GIVEN_NORM
    COPY_IN COPY_OUT COPY_NORM COPY_ROUTER COPY_PREDICT COPY_CORRECT COPY_SCALE
    FINAL_NORM PROJECT_OUT TRANSFORM TRANSFORM_NORM HEAD""".split()
Id = IntEnum("Id", ["NO_SLOT", "NO_SLOT_BIAS"] + [name + end for name in IDS
                                                  for end in ("", "_BIAS")], start=0)


class Slot(NamedTuple):
    part: Part
    id: Id
    layer: int = -1  # -1: outside of layers, or a table that all layers share
    expert: int = -1


UNLIMITED = 1 << 30  # visible keys


@dataclass(frozen=True)
class Norm:
    id: Id = Id.NO_SLOT  # slot of the weight; a norm without weight still has one; NO_SLOT: no norm
    rms: bool = False  # RMSNorm, else LayerNorm
    one_plus: bool = False  # the file has the weight minus 1
    scale: bool = True  # has a weight
    shift: bool = False  # has a bias
    epsilon: float = 1e-5


NO_NORM = Norm()


@dataclass
class Rotary:
    width: int  # rotated channels; an odd number is rounded up to pairs
    theta: float
    neighbours: bool = False  # pairs (2i, 2i + 1), else (i, i + width/2)
    kind: str = "default"  # or linear, llama3, dynamic, yarn, longrope, proportional
    settings: dict = field(default_factory=dict)
    context: int = 2048  # max_position_embeddings
    original: int = 4096  # longrope: original_max_position_embeddings


# PROJECT: q, k and v are projections; LATENT: by way of a small vector; AS_IS: they are the input
By = IntEnum("By", "PROJECT LATENT AS_IS", start=0)
# q_norm, k_norm: one weight for all heads, a weight for each head, or a norm of all heads at once
Over = IntEnum("Over", "PER_HEAD OWN_SCALES WHOLE", start=0)


@dataclass
class Head:
    """From the input of attention to q, k and v."""
    by: By = By.PROJECT
    heads: int = 1
    kv_heads: int = 1
    d_k: int = 0
    d_v: int = 0
    latent_q: int = 0  # LATENT; 0: q is a projection of the input
    latent_kv: int = 0
    q_norm: Norm = NO_NORM
    k_norm: Norm = NO_NORM
    latent_q_norm: Norm = NO_NORM
    latent_kv_norm: Norm = NO_NORM
    over: Over = Over.PER_HEAD
    norm_after_rotary: bool = False
    rotary: Rotary | None = None
    rotary_first: int = 0  # first rotated channel; LATENT: all heads share the channels from it on
    clip: float = 0.0  # limit of q, k and v; 0: none
    growth: tuple = ()  # (beta, n): the rotated query t times 1 + beta ln(1 + floor(t / n))
    no_out: bool = False  # no output matrix: the heads side by side
    v_norm: Norm = NO_NORM
    v_is_k: bool = False  # values are the projected keys, before their norm
    kv_from: int = -1  # the layer whose k and v are read; -1: its own
    # heads h and h + H/2 are one: the weights of the first less lambda times those of the second;
    # where lambda starts, and the norm of the result; 0: no
    differ: float = 0.0
    differ_norm: Norm = NO_NORM


# ALIBI: slope · j; ALIBI_ROUNDED: rounded to bf16, before the scale; ALIBI_FROM_END:
# slope · (j - (S - 1)); ALIBI_APART: -slope · |j - i|; BUCKETS: a table of biases by distance; DISENTANGLED: products with rows of
# distances
Bias = IntEnum("Bias", "NO_BIAS ALIBI ALIBI_ROUNDED ALIBI_FROM_END ALIBI_APART BUCKETS "
               "DISENTANGLED", start=0)


@dataclass
class Score:
    """From q·k to attention weights."""
    scale: float = 1.0
    cap: float = 0.0  # cap · tanh(score / cap)
    bias: Bias = Bias.NO_BIAS
    bias_layer: int = -1  # BUCKETS: the layer that has the table; -1: a table of the stack
    buckets: int = 0
    reach: int = 0
    # DISENTANGLED: "c2p" queries with keys of distances, "p2c" keys with queries of distances; rows
    # up to `buckets` in each direction, far ones in logarithmic ranges (log)
    terms: tuple = ()
    log: bool = False
    shared: bool = False  # distances have the matrices of tokens
    table_norm: Norm = NO_NORM
    back: int = UNLIMITED  # visible keys before the query
    ahead: int = 0  # and after it
    sink: bool = False


# weights of experts: softmax of all logits, softmax of the chosen ones, sigmoid, or Pass.one_by_one
Router = IntEnum("Router", "OF_ALL OF_CHOSEN SIGMOID ONE_BY_ONE", start=0)


@dataclass
class Mlp:
    activation: str = "gelu"
    gated: bool = False
    clamp: float = 0.0  # upper limit of the gate, and limit of up; 0: none
    up_offset: float = 0.0
    inner: int = 0  # size of the MLP or of an expert
    experts: int = 0
    chosen: int = 0
    groups: int = 1
    chosen_groups: int = 1
    shared_inner: int = 0
    expert_factor: float = 1.0
    router: Router = Router.OF_ALL
    near: float = 0.0  # ONE_BY_ONE: how close to the best a logit must be to count
    renormalise: bool = False
    corrected: bool = False  # a correction changes which experts are chosen, but not their weights
    two_best: bool = False  # score of a group: the sum of its two best experts, else its best
    shared_gate: bool = False
    given: bool = False  # up is what the layer is given
    sparsity: float = 0.0  # the gate less its mean and so many deviations that this share becomes 0
    # Router and experts read the stream through these norms, the shared MLP reads what the sublayer
    # reads; then norms of the experts' sum and of the shared output.
    router_norm: Norm = NO_NORM
    expert_norm: Norm = NO_NORM
    experts_post: Norm = NO_NORM
    shared_post: Norm = NO_NORM
    expert_scale: bool = False  # a factor of each expert's weight


Kind = IntEnum("Kind", "ATTEND ATTEND_SOURCE MLP", start=0)


@dataclass
class Sublayer:
    kind: Kind
    part: Part  # of its sites and slots
    before: Norm = NO_NORM  # of the input
    twice: bool = False  # `out` is a norm of the sum of x and the output
    out: Norm = NO_NORM  # of the output, before it is added
    after: Norm = NO_NORM  # of the sum
    of_block_input: bool = False  # parallel block: it reads the input of the layer
    shares_norm: bool = False  # parallel block with one norm: it reads the same as the last
    adds_to_normed: bool = False  # the residual is the normed input
    replaces: bool = False  # no residual
    factor: float = 1.0
    adds_input: bool = False  # what it reads is added, too
    sum_factor: float = 1.0
    scales: bool = False  # the sum is multiplied by a number of the layer
    corrects: bool = False  # then the copies of the stream are corrected
    spreads: bool = False  # then the result is added to all copies but the first
    at_input: At = At.NONE
    at_out: At = At.NONE
    at_out_norm: At = At.NONE
    at_sum: tuple = ()
    at_after: tuple = ()
    head: Head | None = None
    score: Score | None = None
    mlp: Mlp | None = None


# SINES: sines and cosines in turn, or all sines first; OFFSET: other angles
Place = IntEnum("Place", "NOWHERE TABLE SINES_IN_TURN SINES_HALVES SINES_OFFSET", start=0)
# a matrix to C: of the token's row before the position is added, or of the sum after the norm
Project = IntEnum("Project", "NEVER TOKENS LAST", start=0)


@dataclass
class Embed:
    width: int  # of the tables
    rows: int  # V; 0: the file decides
    scale: float = 1.0  # of the token's row
    place: Place = Place.NOWHERE
    first: int = 0  # the row of position 0
    counted: bool = False  # rows count the tokens other than pads, from pad + 1; a pad has row pad
    pad: int = 0
    segments: int = 0  # rows of the segment table
    masks: int = -1  # rows of this id are 0, others times `kept` / (share of other ids); -1: none
    kept: float = 1.0
    given: int = 0  # channels of what each layer is given; 0: nothing
    given_rows: int = 0
    given_norm: Norm = NO_NORM
    norm: Norm = NO_NORM
    project: Project = Project.NEVER


@dataclass
class Unembed:
    norm: Norm = NO_NORM
    project: bool = False  # a matrix from C to the width of the tables
    transform: str = ""  # activation of a dense layer before the head
    transform_width: int = 0
    transform_norm: Norm = NO_NORM
    mean: bool = False  # the mean of all tokens replaces each, before that layer
    first_only: bool = False  # the dense layer reads token 0 only
    head: bool = False  # a last matrix
    tied: bool = False  # it is the token table
    rows: int = 0  # V, or 1
    input_factor: float = 1.0
    divisor: float = 1.0  # of the logits with their bias
    cap: float = 0.0
    at_transform: At = At.NONE
    at_result: At = At.NONE


@dataclass
class Copies:
    """Copies of the stream, of which layers work on one: they predict all from all, and correct."""
    count: int
    active: int
    norm: Norm  # of what weights them
    scaled: bool = False  # the corrected one times a vector


@dataclass
class Stack:
    part: Part
    width: int
    layers: int
    read: object  # layer -> list of sublayers
    embed: Embed
    unembed: Unembed
    at_start: At = At.RESID_PRE
    copies: Copies | None = None


@dataclass
class Model:
    stacks: dict  # Part -> Stack
    rows: dict  # (Part, Id) -> Row
    prefixes: tuple  # of names in the file, tried in turn
    place_of: object = lambda layer: {"l": layer}  # layer -> its numbers in names


def visible(score, T, S):
    """Whether a query sees a key, [T, S]."""
    i, j = np.arange(T)[:, None], np.arange(S)[None]
    return (j >= i - score.back) & (j <= i + score.ahead)


# === 2 Weights ====================================================================================

@dataclass
class Row:
    """The tensor of a slot. In names {l} is the layer, {e} the expert, {h} the head; of a|b the
    first that is found."""
    name: str
    bias: str
    transposed: bool = False  # [in, out]
    stacked: bool = False  # all experts in one tensor
    flat: int = 0  # so many experts in one matrix, each with its rows
    per_head: bool = False  # a tensor for each head
    members: tuple = ()  # joined tensor: the slots whose rows it has, in order in each group
    scale: float = 1.0  # of the product
    groups: int = 1  # 1: all q, all k, all v; H: head by head; K: by key/value head; I: in turn


def norm_shapes(*norms):
    return {norm.id: shape for norm, shape in norms if norm.id and norm.scale}


def end_shapes(model, part):
    """Id -> shape of the tensors outside of the layers; 0: the file decides."""
    stack = model.stacks[part]
    e, u, C = stack.embed, stack.unembed, stack.width
    shapes = {Id.TOKENS: (e.rows, e.width)}
    if e.place == Place.TABLE:
        shapes[Id.POSITIONS] = (0, C if e.project == Project.TOKENS else e.width)
    if e.segments:
        shapes[Id.SEGMENTS] = (e.segments, e.width)
    if e.project:
        shapes[Id.EMBED_PROJECT] = (C, e.width)
    if u.project:
        shapes[Id.PROJECT_OUT] = (e.width, C)
    if u.transform:
        shapes[Id.TRANSFORM] = (u.transform_width, C)
    if u.head and not u.tied:
        shapes[Id.HEAD] = (u.rows, u.transform_width or C)
    embed_width = e.width if e.project == Project.LAST else C
    shapes |= norm_shapes((e.norm, (embed_width,)), (u.norm, (C,)),
                          (u.transform_norm, (u.transform_width,)))
    if e.given:
        all_layers = stack.layers * e.given
        shapes |= {Id.GIVEN_TOKENS: (e.given_rows, all_layers), Id.GIVEN_PROJECT: (all_layers, C)}
        shapes |= norm_shapes((e.given_norm, (e.given,)))
    if stack.copies:
        shapes |= {Id.COPY_IN: (C, C), Id.COPY_OUT: (C, C)}
    for s in stack.read(0) if stack.layers else ():
        if s.score and s.score.bias == Bias.BUCKETS and s.score.bias_layer < 0:
            shapes[Id.BUCKETS] = (s.score.buckets, s.head.heads)
        if s.score and s.score.bias == Bias.DISENTANGLED:
            shapes |= {Id.NEAR: (2 * s.score.buckets, C)} | norm_shapes((s.score.table_norm, (C,)))
    return shapes


def mlp_shapes(m, C):
    def shapes_of(kind, inner):
        gate = {Id[kind + "GATE"]: (inner, C)} if m.gated else {}
        up = {} if m.given else {Id[kind + "UP"]: (inner, C)}
        return {**gate, **up, Id[kind + "DOWN"]: (C, inner)}
    if not m.experts:
        return shapes_of("", m.inner) | ({id: (1,) for id in XIELU} if m.activation == "xielu"
                                         else {})
    shapes = {Id.ROUTER: (m.experts, C)} | shapes_of("EXPERT_", m.inner)
    shapes |= norm_shapes((m.router_norm, (C,)), (m.expert_norm, (C,)), (m.experts_post, (C,)),
                          (m.shared_post, (C,)))
    if m.expert_scale:
        shapes[Id.EXPERT_SCALE] = (m.experts,)
    if m.corrected:
        shapes[Id.CORRECTION] = (m.experts,)
    if m.shared_inner:
        shapes |= shapes_of("SHARED_", m.shared_inner)
    if m.shared_gate:
        shapes[Id.SHARED_SWITCH] = (1, C)
    return shapes


def head_shapes(s, layer, C, source_width):
    h = s.head
    H, K, shapes = h.heads, h.kv_heads, {}
    if h.by == By.PROJECT:
        shapes = {Id.Q: (H * h.d_k, C)}
        if h.kv_from < 0:
            shapes[Id.K] = (K * h.d_k, source_width)
        if h.kv_from < 0 and not h.v_is_k:
            shapes[Id.V] = (K * h.d_v, source_width)
    if h.by == By.LATENT:
        shapes = {Id.Q: (H * h.d_k, h.latent_q or C), Id.KV_DOWN: (h.latent_kv, C),
                  Id.K_ROTARY: (h.d_k - h.rotary_first, C), Id.K: (H * h.rotary_first, h.latent_kv),
                  Id.V: (H * h.d_v, h.latent_kv)}
        shapes |= norm_shapes((h.latent_kv_norm, (h.latent_kv,)))
        if h.latent_q:
            shapes[Id.Q_DOWN] = (h.latent_q, C)
            shapes |= norm_shapes((h.latent_q_norm, (h.latent_q,)))
    if not h.no_out:
        shapes[Id.O] = (C, H * h.d_v)
    if h.differ:
        shapes |= {id: (h.d_k,) for id in LAMBDAS}
    if s.score.sink:
        shapes[Id.SINKS] = (H,)
    if s.score.bias == Bias.BUCKETS and s.score.bias_layer == layer:
        shapes[Id.BUCKETS] = (s.score.buckets, H)
    for term, id in (("c2p", Id.NEAR_K), ("p2c", Id.NEAR_Q)):
        if term in s.score.terms and not s.score.shared:
            shapes[id] = (H * h.d_k, C)
    q, k = {Over.PER_HEAD: ((h.d_k,), (h.d_k,)), Over.OWN_SCALES: ((H, h.d_k), (K, h.d_k)),
            Over.WHOLE: ((H * h.d_k,), (K * h.d_k,))}[h.over]
    return shapes | norm_shapes((h.q_norm, q), *[(h.k_norm, k)] * (h.kv_from < 0))


def layer_shapes(model, part, layer):
    """Id -> shape of the tensors of a layer; those of experts once."""
    stack = model.stacks[TEXT if part in (CROSS, PER_LAYER, LAUREL) else part]
    C, shapes = stack.width, {}
    if stack.copies and part == stack.part:
        N = stack.copies.count
        shapes = {Id.COPY_ROUTER: (N, C), Id.COPY_PREDICT: (N * N, N), Id.COPY_CORRECT: (N, N)}
        shapes |= norm_shapes((stack.copies.norm, (C,)))
        shapes |= {Id.COPY_SCALE: (C,)} if stack.copies.scaled else {}
    for s in stack.read(layer):
        if s.scales and part == stack.part:
            shapes[Id.LAYER_SCALE] = (1,)
        if s.part != part:
            continue
        shapes |= norm_shapes((s.before, (C,)), (s.out, (C,)), (s.after, (C,)))
        source_width = model.stacks[SOURCE].width if s.kind == Kind.ATTEND_SOURCE else C
        shapes |= mlp_shapes(s.mlp,
                             C) if s.kind == Kind.MLP else head_shapes(s, layer, C, source_width)
    return shapes


def slot_shape(model, slot):
    """The shape of the tensor of a slot; (): none. A bias has the rows of its matrix."""
    if slot.id == Id.HEAD_BIAS:  # also of a tied head
        return (model.stacks[slot.part].unembed.rows,)
    at_end = slot.layer < 0
    shapes = end_shapes(model, slot.part) if at_end else layer_shapes(model, slot.part, slot.layer)
    shape = shapes.get(Id(slot.id & ~1), ())
    return shape[:1] if slot.id & 1 else shape


class Weights:
    """The tensors of slots."""

    def __init__(self, model, files):
        self.model, self.files, self.slots = model, files, {}

    def get(self, slot):
        """The tensor, [out, in] or [out]; None if the file does not have it."""
        if slot not in self.slots:
            self.slots[slot] = self.read(slot)
        return self.slots[slot]

    def tensor(self, name, slot):
        return self.files[name]

    def find(self, names, slot, head=None):
        numbers = {**self.model.place_of(slot.layer), "e": slot.expert, "h": head}
        for name in names.split("|"):
            for prefix in self.model.prefixes:
                full = prefix + name.format(**numbers)
                if full in self.files:
                    return self.tensor(full, slot)
        return None

    def read(self, slot):
        row = self.model.rows.get((slot.part, Id(slot.id & ~1)))
        name = row and (row.bias if slot.id & 1 else row.name)
        if not name:
            return None
        shape = slot_shape(self.model, slot)
        if row.per_head:
            found = [self.find(name, slot, head) for head in range(shape[0])]
            x = None if found[0] is None else np.stack(found)
        else:
            x = self.find(name, slot)
        if x is None:
            return None
        if row.flat:
            x = x.reshape(row.flat, -1, x.shape[-1])
        if row.stacked or row.flat:
            x = x[slot.expert]
        if row.transposed and x.ndim == 2:
            x = x.T
        if row.members:
            x = self.member(x, row, slot)
        if 0 in shape:
            return x
        assert x.size == math.prod(shape), f"{slot} is {x.shape}, expected {shape}"
        return x.reshape(shape)

    def member(self, x, row, slot):
        """The rows of a slot in a joined tensor."""
        base = Id(slot.id & ~1)
        sizes = [slot_shape(self.model, slot._replace(id=id))[0] // row.groups
                 for id in row.members]
        at = row.members.index(base)
        first = sum(sizes[:at])
        groups = x.reshape(row.groups, sum(sizes), *x.shape[1:])
        return groups[:, first:first + sizes[at]].reshape(-1, *x.shape[1:])


# === 3 Functions of arrays ========================================================================

def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def gelu(x):
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def gelu_tanh(x):
    return x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def silu(x):
    return x * sigmoid(x)


ACTIVATIONS = {
    "silu": silu, "swish": silu, "relu": lambda x: np.maximum(x, 0), "tanh": np.tanh,
    "relu2": lambda x: np.maximum(x, 0) ** 2, "quick_gelu": lambda x: x * sigmoid(1.702 * x),
    "gelu": gelu, "gelu_python": gelu, "gelu_new": gelu_tanh, "gelu_pytorch_tanh": gelu_tanh,
    "gelu_fast": gelu_tanh, "none": lambda x: x,
}
LAMBDAS = (Id.LAMBDA_Q1, Id.LAMBDA_K1, Id.LAMBDA_Q2, Id.LAMBDA_K2)
XIELU = (Id.XIELU_P, Id.XIELU_N, Id.XIELU_BETA, Id.XIELU_EPSILON)


def xielu(x, p, n, beta, epsilon):
    p, n = np.log1p(np.exp(p)), beta + np.log1p(np.exp(n))
    return np.where(x > 0, p * x * x, (np.expm1(np.minimum(x, epsilon)) - x) * n) + beta * x


def frequencies(r, T):
    """The angle of each pair between neighbouring positions, and a factor of rotated vectors."""
    g, theta, width = r.settings, r.theta, r.width
    factor = g.get("factor", 1.0)
    if r.kind == "dynamic" and g.get("alpha"):
        theta *= g["alpha"] ** (width / (width - 2))
    elif r.kind == "dynamic":
        longer = factor * max(T, r.context) / r.context - (factor - 1)
        theta *= longer ** (width / (width - 2))
    f = 1 / theta ** (np.arange(0, width, 2) / width)
    if r.kind == "linear":
        return f / factor, 1.0
    if r.kind == "proportional":  # the other pairs are not rotated
        turning = int(g.get("partial_rotary_factor", 1.0) * width // 2)
        return np.where(np.arange(len(f)) < turning, f / factor, 0.0), 1.0
    if r.kind == "llama3":
        low, high = g["low_freq_factor"], g["high_freq_factor"]
        rotations = g["original_max_position_embeddings"] * f / (2 * math.pi)
        share = np.clip((rotations - low) / (high - low), 0, 1)
        return (1 - share) * f / factor + share * f, 1.0
    if r.kind == "yarn":
        return yarn(r, f, factor)
    if r.kind == "longrope":
        length, longer = "long_" if T > r.original else "short_", r.context / r.original
        usual = math.sqrt(1 + math.log(longer) / math.log(r.original)) if longer > 1 else 1.0
        return f / np.array(g[length + "factor"]), g.get(length + "mscale", usual)
    return f, 1.0


def yarn(r, f, factor):
    g, width = r.settings, r.width
    original = g.get("original_max_position_embeddings") or r.context
    low, high = (width * math.log(original / (2 * math.pi * turns)) / (2 * math.log(r.theta))
                 for turns in (g.get("beta_fast") or 32, g.get("beta_slow") or 1))
    if g.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, width - 1)
    ramp = np.clip((np.arange(width // 2) - low) / ((high - low) or 0.001), 0, 1)

    def amplitude(scale):
        return 0.1 * scale * math.log(factor) + 1
    scale, scale_all = g.get("mscale"), g.get("mscale_all_dim")
    usual = amplitude(scale) / amplitude(scale_all) if scale and scale_all else amplitude(1)
    return f * (1 - ramp) + f / factor * ramp, g.get("attention_factor") or usual


def rotate(r, first, x):
    """The rotary embedding of x [H, T, d]: of the channels from `first` on."""
    f, amplitude = frequencies(r, x.shape[1])
    angle, n = np.arange(x.shape[1])[:, None] * f, len(f)
    cos, sin = amplitude * np.cos(angle), amplitude * np.sin(angle)
    if r.neighbours:
        a, b = slice(first, first + 2 * n, 2), slice(first + 1, first + 2 * n, 2)
    else:
        a, b = slice(first, first + n), slice(first + n, first + 2 * n)
    y = x.copy()
    y[..., a], y[..., b] = x[..., a] * cos - x[..., b] * sin, x[..., b] * cos + x[..., a] * sin
    return y


def split(x, heads):
    """[T, H·d] to [H, T, d]."""
    return x.reshape(x.shape[0], heads, -1).swapaxes(0, 1)


def slopes(H):
    n = 1 << (H.bit_length() - 1)
    return np.array([2 ** (-8 * (h + 1) / n) if h < n else 2 ** (-4 * (2 * (h - n) + 1) / n)
                     for h in range(H)])


def bf16(x):
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    bits = (bits + 0x7fff + (bits >> 16 & 1) & 0xffff0000).astype(np.uint32)
    return bits.view(np.float32).astype(np.float64)


def buckets(score, T, S):
    """The row of the table of biases for each query and key, [T, S]."""
    far, n, base = np.arange(S)[None] - np.arange(T)[:, None], score.buckets, 0
    if score.ahead:  # half of the rows for each direction
        n //= 2
        base, distance = (far > 0) * n, np.abs(far)
    else:
        distance = np.maximum(-far, 0)
    exact = n // 2
    ratio = np.log(np.maximum(distance, 1) / exact) / math.log(score.reach / exact)
    beyond = exact + (ratio * (n - exact)).astype(int)
    return base + np.where(distance < exact, distance, np.minimum(beyond, n - 1))


def distance_rows(score, T, S):
    """The row of the table of distances from key to query, [T, S]."""
    d, near = np.arange(T)[:, None] - np.arange(S)[None], score.buckets // 2
    if score.log:
        ratio = np.log(np.maximum(abs(d), 1) / near) / math.log((score.reach - 1) / near)
        far = np.ceil(ratio * (near - 1)) + near
        d = np.where(abs(d) <= near, d, far * np.sign(d)).astype(int)
    return np.clip(d, -score.buckets, score.buckets - 1) + score.buckets


def sines(e, n):
    """Sinusoidal positions n, [T, width]."""
    width, half, x = e.width, e.width // 2, np.zeros((len(n), e.width))
    rate = 10000.0 ** (-np.arange(0, width, 2) / width)
    if e.place == Place.SINES_OFFSET:
        rate = np.exp(-np.arange(half) * math.log(10000) / (half - 1))
    angle = n[:, None] * rate
    count = angle.shape[1]
    if e.place == Place.SINES_IN_TURN:
        x[:, 0::2], x[:, 1::2] = np.sin(angle), np.cos(angle)[:, :half]
    else:
        x[:, :count], x[:, count:count + half] = np.sin(angle), np.cos(angle)[:, :half]
    return x * (n != e.pad)[:, None] if e.place == Place.SINES_OFFSET else x


def positions(e, ids):
    """The row of each token in the table of positions, or its number for sines."""
    if not e.counted:
        return np.arange(len(ids)) + e.first
    real = ids != e.pad
    return np.cumsum(real) * real + e.pad


# === 4 The pass ===================================================================================

class Pass:
    def __init__(self, model, weights, segments=None):
        self.model, self.weights, self.segments = model, weights, segments
        self.memory = None  # output of the encoder, [S, C]
        self.given = None  # what each layer is given, [T, layers, channels]
        self.keys = {}  # layer -> its k and v
        self.tensors = {}

    def see(self, part, site, layer, x):
        if site != At.NONE:
            self.tensors[site_name(part, site, layer)] = x

    def weight(self, part, id, layer=-1, expert=-1):
        w = self.weights.get(Slot(part, id, layer, expert))
        assert w is not None, f"no tensor for {part.name} {id.name} of layer {layer}"
        return w

    def bias(self, part, id, layer=-1, expert=-1):
        """The bias of a matrix or None."""
        return self.weights.get(Slot(part, Id(id + 1), layer, expert))

    def linear(self, x, part, id, layer=-1, expert=-1):
        y, b = x @ self.weight(part, id, layer, expert).T, self.bias(part, id, layer, expert)
        y = y * self.model.rows[part, id].scale
        return y if b is None else y + b

    def norm(self, rule, part, layer, x):
        if not rule.id:
            return x
        x = x if rule.rms else x - x.mean(-1, keepdims=True)
        y = x / np.sqrt((x * x).mean(-1, keepdims=True) + rule.epsilon)
        if rule.scale:
            w = self.weight(part, rule.id, layer) + rule.one_plus
            y = y * (w[:, None, :] if w.ndim == 2 else w)  # [H, d]: a weight for each head
        return y + self.bias(part, rule.id, layer) if rule.shift else y

    # --- attention ---

    def latent_heads(self, s, layer, x):
        h = s.head
        q, shared = x, self.linear(x, s.part, Id.K_ROTARY, layer)
        if h.latent_q:
            q = self.norm(h.latent_q_norm, s.part, layer, self.linear(x, s.part, Id.Q_DOWN, layer))
        kv = self.norm(h.latent_kv_norm, s.part, layer, self.linear(x, s.part, Id.KV_DOWN, layer))
        q, k, v = (self.linear(y, s.part, id, layer) for y,
                   id in ((q, Id.Q), (kv, Id.K), (kv, Id.V)))
        shared = np.broadcast_to(shared, (h.heads, *shared.shape))
        return split(q, h.heads), np.concatenate([split(k, h.heads), shared], -1), split(v, h.heads)

    def heads(self, s, layer, x, source):
        """q [H, T, d_k], k [K, S, d_k] and v [K, S, d_v] before the rotary embedding."""
        h = s.head
        if h.by == By.LATENT:
            return self.latent_heads(s, layer, x)
        q, k, v = x, source, source
        if h.kv_from >= 0:
            return split(self.linear(x, s.part, Id.Q, layer), h.heads), *self.keys[h.kv_from]
        if h.v_is_k:
            q, k = self.linear(x, s.part, Id.Q, layer), self.linear(source, s.part, Id.K, layer)
            v = k
        elif h.by == By.PROJECT:
            q, k, v = (self.linear(y, s.part, id, layer)
                       for y, id in ((q, Id.Q), (k, Id.K), (v, Id.V)))
        if h.over == Over.WHOLE:
            q, k = self.norm(h.q_norm, s.part, layer, q), self.norm(h.k_norm, s.part, layer, k)
        if h.clip:
            q, k, v = (np.clip(y, -h.clip, h.clip) for y in (q, k, v))
        return split(q, h.heads), split(k, h.kv_heads), split(v, h.kv_heads)

    def masked(self, s, scores):
        """Scale, cap, bias, then -inf for invisible keys, [H, T, S]."""
        r = s.score
        H, T, S = scores.shape
        slope, j = slopes(H)[:, None, None], np.arange(S)[None, None]
        if r.bias == Bias.ALIBI_ROUNDED:
            scores = scores + bf16(bf16(slope) * j)
        x = scores * r.scale
        if r.cap:
            x = r.cap * np.tanh(x / r.cap)
        if r.bias == Bias.ALIBI:
            x = x + slope * j
        if r.bias == Bias.ALIBI_FROM_END:
            x = x + slope * (j - (S - 1))
        if r.bias == Bias.ALIBI_APART:
            x = x - slope * abs(j - np.arange(T)[None, :, None])
        if r.bias == Bias.BUCKETS:
            x = x + self.weight(s.part, Id.BUCKETS,
                                r.bias_layer)[buckets(r, T, S)].transpose(2, 0, 1)
        return np.where(visible(r, T, S), x, -np.inf)

    def disentangled(self, s, layer, q, k):
        """Products of contents with distances, [H, T, S]."""
        r, total = s.score, 0
        table = self.norm(r.table_norm, s.part, -1, self.weight(s.part, Id.NEAR))
        rows = distance_rows(r, q.shape[1], k.shape[1])
        if "c2p" in r.terms:
            keys = split(self.linear(table, s.part, Id.K if r.shared else Id.NEAR_K, layer), len(q))
            at = np.broadcast_to(rows, (len(q), *rows.shape))
            total = total + np.take_along_axis(q @ keys.swapaxes(1, 2), at, -1)
        if "p2c" in r.terms:
            queries = split(self.linear(table, s.part, Id.Q if r.shared else Id.NEAR_Q, layer),
                            len(q))
            at = np.broadcast_to(rows.T, (len(q), *rows.T.shape))
            total = total + np.take_along_axis(k @ queries.swapaxes(1, 2), at, -1).swapaxes(1, 2)
        return total

    def attend(self, s, layer, x):
        """[T, C] to the context of all heads, [T, H·d_v]."""
        h, source = s.head, self.memory if s.kind == Kind.ATTEND_SOURCE else x

        def see(site, y):
            self.see(s.part, site, layer, y)

        def normed(q, k):
            if h.over == Over.WHOLE:
                return q, k
            q = self.norm(h.q_norm, s.part, layer, q)
            return q, self.norm(h.k_norm, s.part, layer, k) if own else k
        own = h.kv_from < 0
        q, k, v = self.heads(s, layer, x, source)
        if not h.norm_after_rotary:
            q, k = normed(q, k)
        if h.rotary:
            see(At.Q_PRE, q)
            q = rotate(h.rotary, h.rotary_first, q)
        if h.rotary and own:
            see(At.K_PRE, k)
            k = rotate(h.rotary, h.rotary_first, k)
        if h.growth:
            beta, n = h.growth
            q = q * (1 + beta * np.log(1 + np.arange(q.shape[1]) // n))[:, None]
        if h.norm_after_rotary:
            q, k = normed(q, k)
        if own:
            v = self.norm(h.v_norm, s.part, layer, v)
        self.keys[layer] = k, v
        see(At.Q, q), see(At.K, k), see(At.V, v)
        group = h.heads // k.shape[0]
        scores = q @ k.repeat(group, 0).swapaxes(-1, -2)
        see(At.SCORES, scores)
        if s.score.bias == Bias.DISENTANGLED:
            scores = scores + self.disentangled(s, layer, q, k)
        masked = self.masked(s, scores)
        see(At.MASKED, masked)
        if s.score.sink:  # a column that is left out after the softmax
            sinks = self.weight(s.part, Id.SINKS, layer)[:, None, None]
            all_columns = softmax(np.concatenate([masked, sinks.repeat(x.shape[0], 1)], -1))
            weights, sink = all_columns[..., :-1], all_columns[..., -1]
            see(At.WEIGHTS, weights), see(At.SINK, sink)
        else:
            weights = softmax(masked)
            see(At.WEIGHTS, weights)
        v, half = v.repeat(group, 0), h.heads // 2
        if h.differ:
            q1, k1, q2, k2 = (self.weight(s.part, id, layer) for id in LAMBDAS)
            subtracted = math.exp(q1 @ k1) - math.exp(q2 @ k2) + h.differ
            weights = weights[:half] - subtracted * weights[half:]
            see(At.DIFFERENCE, weights)
            v = np.concatenate([v[:half], v[half:]], -1)
        context = weights @ v
        see(At.CONTEXT, context)
        if h.differ:
            context = (1 - h.differ) * self.norm(h.differ_norm, s.part, layer, context)
        context = context.swapaxes(0, 1).reshape(x.shape[0], -1)
        if h.differ:
            see(At.GATED, context)
        return context

    # --- the MLP ---

    def activate(self, s, layer, gate, up):
        m = s.mlp

        def act(x):
            if m.activation == "xielu":
                return xielu(x, *(self.weight(s.part, id, layer) for id in XIELU))
            return ACTIVATIONS[m.activation](x)
        if not m.gated:
            return act(up)
        if m.clamp:
            gate, up = np.minimum(gate, m.clamp), np.clip(up, -m.clamp, m.clamp)
        return act(gate) * (up + m.up_offset)

    def one_by_one(self, m, z):
        """Choose the best logit of those left, with its softmax among those left that are near."""
        left, weights = z.copy(), np.zeros_like(z)
        for _ in range(m.chosen):
            best = left.argmax(-1)[:, None]
            top = np.take_along_axis(left, best, -1)
            near = np.where((top - left) / np.maximum(np.abs(z), top) > m.near, -np.inf, left)
            np.put_along_axis(weights, best, np.take_along_axis(softmax(near), best, -1), -1)
            np.put_along_axis(left, best, -np.inf, -1)
        return weights

    def choose(self, s, layer, z):
        """From the router's logits to the factor of each expert's output, [T, E]."""
        m, E = s.mlp, z.shape[1]
        if m.router == Router.ONE_BY_ONE:
            return self.one_by_one(m, z)
        score = {Router.SIGMOID: sigmoid, Router.OF_ALL: softmax}.get(m.router, lambda z: z)(z)
        pick = score + self.weight(s.part, Id.CORRECTION, layer) if m.corrected else score
        if m.groups > 1:
            best = np.sort(pick.reshape(len(z), m.groups, -1), -1)
            best = best[..., -2:].sum(-1) if m.two_best else best[..., -1]
            kept = np.zeros(best.shape, bool)
            order = np.argsort(-best, -1, kind="stable")[:, :m.chosen_groups]
            np.put_along_axis(kept, order, True, -1)
            pick = np.where(kept.repeat(E // m.groups, -1), pick, -np.inf)
        best = np.argsort(-pick, -1, kind="stable")[:, :m.chosen]
        w = np.take_along_axis(score, best, -1)
        if m.router == Router.OF_CHOSEN:
            w = softmax(w)
        if m.renormalise:
            w = w / (w.sum(-1, keepdims=True) + 1e-20)
        weights = np.zeros_like(z)
        np.put_along_axis(weights, best, w * m.expert_factor, -1)
        return weights * self.weight(s.part, Id.EXPERT_SCALE, layer) if m.expert_scale else weights

    def feed(self, s, layer, x, kind, expert=-1):
        """A whole MLP: an expert, or the shared one."""
        gate = self.linear(x, s.part, Id[kind + "GATE"], layer, expert) if s.mlp.gated else None
        up = self.linear(x, s.part, Id[kind + "UP"], layer, expert)
        return self.linear(self.activate(s, layer, gate, up), s.part, Id[kind + "DOWN"], layer,
                           expert)

    def experts(self, s, layer, x, stream):
        m = s.mlp
        own, routed = x, x
        if m.expert_norm.id:
            own = self.norm(m.expert_norm, s.part, layer, stream)
            routed = self.norm(m.router_norm, s.part, layer, stream)
            self.see(s.part, At.LN_EXPERTS, layer, own)
        z = self.linear(routed, s.part, Id.ROUTER, layer)
        w = self.choose(s, layer, z)
        self.see(s.part, At.ROUTER, layer, z), self.see(s.part, At.EXPERT_WEIGHTS, layer, w)
        y = sum(w[:, e:e + 1] * self.feed(s, layer, own, "EXPERT_", e) for e in range(m.experts))
        y = self.norm(m.experts_post, s.part, layer, y)
        if m.shared_inner:
            shared = self.feed(s, layer, x, "SHARED_")
            if m.shared_gate:
                shared = shared * sigmoid(self.linear(x, s.part, Id.SHARED_SWITCH, layer))
            shared = self.norm(m.shared_post, s.part, layer, shared)
            self.see(s.part, At.SHARED_OUT, layer, shared)
            y = y + shared
        return y

    def mlp(self, s, layer, x):
        """[T, C] to the input of the last matrix, [T, I]."""
        gate = self.linear(x, s.part, Id.GATE, layer) if s.mlp.gated else None
        up = self.given[:, layer] if s.mlp.given else self.linear(x, s.part, Id.UP, layer)
        if s.mlp.gated:
            self.see(s.part, At.MLP_GATE, layer, gate), self.see(s.part, At.MLP_UP, layer, up)
        if s.mlp.sparsity:
            least = NormalDist().inv_cdf(s.mlp.sparsity) * gate.std(-1, keepdims=True)
            gate = np.maximum(gate - gate.mean(-1, keepdims=True) - least, 0)
        y = self.activate(s, layer, gate, up)
        self.see(s.part, At.MLP_ACT, layer, y)
        return y

    # --- copies of the stream: [N, T, C] ---

    def weigh(self, stack, layer, id, x):
        y = self.norm(stack.copies.norm, stack.part, layer, x)
        y = np.tanh(self.linear(y, stack.part, Id.COPY_ROUTER, layer))
        return self.linear(y, stack.part, id, layer)

    def predict(self, stack, layer):
        N, x = stack.copies.count, self.copies
        factors = self.weigh(stack, layer, Id.COPY_PREDICT, x[stack.copies.active])
        self.copies = x + np.einsum("tij,jtc->itc", factors.reshape(-1, N, N), x)
        self.see(stack.part, At.PREDICTED, layer, self.copies)
        return self.copies[stack.copies.active]

    def correct(self, stack, layer, x):
        r, factors = stack.copies, 1 + self.weigh(stack, layer, Id.COPY_CORRECT, x)
        self.copies = self.copies + factors.T[..., None] * (x - self.copies[r.active])
        self.see(stack.part, At.CORRECTED, layer, self.copies)
        x = self.copies[r.active]
        return x * self.weight(stack.part, Id.COPY_SCALE, layer) if r.scaled else x

    def turn(self, stack, id, copy, x, like):
        y = self.linear(x, stack.part, id, -1, copy - 1)
        square = np.maximum((y * y).mean(-1, keepdims=True), 1e-5)
        return y * np.sqrt((like * like).mean(-1, keepdims=True) / square)

    def merge(self, stack):
        x = self.copies
        return np.mean([x[0]] + [self.turn(stack, Id.COPY_OUT, n, x[n], x[0])
                                 for n in range(1, stack.copies.count)], 0)

    # --- layers and both ends ---

    def sublayer(self, s, layer, x, stream):
        """From the normed input, and the stream, to the output, [T, C]."""
        if s.kind == Kind.MLP and s.mlp.experts:
            return self.experts(s, layer, x, stream)
        if s.kind == Kind.MLP:
            return self.linear(self.mlp(s, layer, x), s.part, Id.DOWN, layer)
        y = self.attend(s, layer, x)
        return y if s.head.no_out else self.linear(y, s.part, Id.O, layer)

    def layer(self, part, layer, x):
        stack = self.model.stacks[part]
        first = y = x = self.predict(stack, layer) if stack.copies else x
        self.see(part, stack.at_start, layer, x)
        for s in stack.read(layer):
            if not s.shares_norm:
                y = self.norm(s.before, s.part, layer, first if s.of_block_input else x)
            self.see(s.part, s.at_input, layer, y)
            out = self.sublayer(s, layer, y, x)
            self.see(s.part, s.at_out, layer, out)
            out = self.norm(s.out, s.part, layer, x + out if s.twice else out)
            self.see(s.part, s.at_out_norm, layer, out)
            x = out if s.replaces else (y if s.adds_to_normed else x) + s.factor * out
            x = s.sum_factor * (x + y if s.adds_input else x)
            if s.scales:
                x = x * self.weight(part, Id.LAYER_SCALE, layer)
            for site in s.at_sum:
                self.see(s.part, site, layer, x)
            x = self.norm(s.after, s.part, layer, x)
            for site in s.at_after:
                self.see(s.part, site, layer, x)
            if s.corrects:
                x = self.correct(stack, layer, x)
            if s.spreads:
                self.copies = np.concatenate([self.copies[:1], self.copies[1:] + x])
        if stack.copies:
            self.see(part, At.STREAMS, layer, self.copies)
            x = self.merge(stack)
            self.see(part, At.MERGED, layer, x)
        return x

    def places(self, stack, ids):
        """What the positions add to the embedding, [T, C] or 0."""
        e, n = stack.embed, positions(stack.embed, ids)
        if e.place == Place.TABLE:
            return self.weight(stack.part, Id.POSITIONS)[n]
        return sines(e, n) if e.place else 0

    def embed(self, stack, ids):
        e, part = stack.embed, stack.part
        x = self.weight(part, Id.TOKENS)[ids] * e.scale
        if e.masks >= 0:
            kept = (ids != e.masks)[:, None]
            x = x * kept * e.kept / kept.mean()
        if e.project == Project.TOKENS:
            x = self.linear(x, part, Id.EMBED_PROJECT)
        x = x + self.places(stack, ids)
        if e.segments:
            segments = np.zeros(len(ids), int) if self.segments is None else self.segments
            x = x + self.weight(part, Id.SEGMENTS)[segments]
        x = self.norm(e.norm, part, -1, x)
        if e.project == Project.LAST:
            x = self.linear(x, part, Id.EMBED_PROJECT)
        self.see(part, At.EMBEDDING, None, x)
        if e.given:
            self.give(stack, ids, x)
        if stack.copies:
            self.copies = np.stack([x] + [self.turn(stack, Id.COPY_IN, n, x, x)
                                          for n in range(1, stack.copies.count)])
        return x

    def give(self, stack, ids, x):
        """Set what each layer is given: of a token and of its embedding."""
        e = stack.embed
        shape = len(ids), stack.layers, e.given
        own = self.linear(x, stack.part, Id.GIVEN_PROJECT).reshape(shape)
        known = np.where(ids < e.given_rows, ids, 0)
        row = self.weight(stack.part, Id.GIVEN_TOKENS)[known].reshape(shape)
        own = self.norm(e.given_norm, stack.part, -1, own)
        self.given = (own + row * math.sqrt(e.given)) * 0.5 ** 0.5

    def unembed(self, stack, x):
        u, part = stack.unembed, stack.part
        if u.norm.id:
            x = self.norm(u.norm, part, -1, x)
            self.see(part, At.LN_F, None, x)
        out = x
        if u.project:
            x = self.linear(x, part, Id.PROJECT_OUT)
        x = np.broadcast_to(x.mean(0), x.shape) if u.mean else x
        if u.transform:
            x = ACTIVATIONS[u.transform](self.linear(x[:1] if u.first_only else x, part,
                                                     Id.TRANSFORM))
            x = self.norm(u.transform_norm, part, -1, x)
            self.see(part, u.at_transform, None, x)
        if u.head:
            y = (x * u.input_factor) @ self.weight(part, Id.TOKENS if u.tied else Id.HEAD).T
            b = self.bias(part, Id.HEAD)
            y = (y if b is None else y + b) / u.divisor
            self.see(part, u.at_result, None, u.cap * np.tanh(y / u.cap) if u.cap else y)
        return out

    def run(self, ids, source=None):
        for part, tokens in ((SOURCE, source), (TEXT, ids)):
            if part in self.model.stacks:
                stack = self.model.stacks[part]
                x = self.embed(stack, np.array(tokens))
                for layer in range(stack.layers):
                    x = self.layer(part, layer, x)
                self.memory = self.unembed(stack, x)
        return self


def run(model, files, ids, source=None, segments=None):
    return Pass(model, Weights(model, files), segments).run(ids, source)
