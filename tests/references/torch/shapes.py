#!/usr/bin/env python3
"""Compare models of random shape with transformers: several of each family, saved as transformers
saves them.

usage: shapes.py BUILD/attn-cli [SEED|FIRST-LAST [FAMILY...]]        (default: 1-3, all families)

A seed decides the sizes, the keys of config.json and how they are written (as save_pretrained does,
or those alone that were drawn, so that others have their defaults), the weights and their files
(one or several, F32 or BF16, of a wrapper with other towers). Every hidden state, attention matrix
and logit of texts of several lengths must be within 1e-5 of the largest number of transformers in
float64; a text must have the same bits alone, in a batch, with 1 and 3 threads, and through a
cache. A model that answers changes of its weights in the last bits of float32 with larger ones may
differ as much. Prints the models that differ, and "N models agree". Needs transformers and torch.
"""
import json, multiprocessing, pathlib, random, sys, tempfile

from peer import LIMIT, ids_of, off, results
import torch, transformers

transformers.utils.logging.disable_progress_bar()
torch.set_num_threads(1)

LISTS = ".layers", ".layer", ".h", ".blocks", ".block"
LENGTHS = 1, 2, 11, 29
SITES = "embedding,resid_post,weights"


class Draw(random.Random):
    """Random parts of configs."""

    def either(self, *values):
        return self.choice(values)

    def some(self, **keys):
        """Each key or not."""
        return {key: value for key, value in keys.items() if self.random() < 0.5}

    def sizes(self, even=True, grouped=True, free=True):
        """Sizes of a decoder, by their most usual names; heads need not be as wide as the model."""
        heads, keys = self.choice([(1, 1), (2, 1), (3, 1), (3, 3), (4, 2), (5, 5), (6, 2), (6, 3)])
        d = 2 * self.randint(1, 6) if even else self.randint(1, 11) + 5 // heads
        own = grouped and self.random() < 0.7
        return {"vocab_size": self.randint(17, 70), "num_hidden_layers": self.randint(1, 5),
                "hidden_size": self.randint(9, 40) if own and free else heads * d,
                "num_attention_heads": heads, "intermediate_size": self.randint(5, 50),
                "max_position_embeddings": self.randint(64, 90), "initializer_range": 0.25,
                **({"head_dim": d} if own else {}),
                **({"num_key_value_heads": keys if own else heads} if grouped else {})}

    def bert(self, even=True):
        sizes = self.sizes(even=even, grouped=False)
        return sizes | {"hidden_act": self.either("gelu", "relu", "silu", "gelu_new")}

    def rotary(self, kinds=("default", "linear", "llama3", "yarn")):
        """rope_theta and a scaling, in the keys of transformers 4 or 5; or neither."""
        theta, kind = self.uniform(5, 1e5), self.choice(kinds)
        scaling = {"rope_type": kind}
        if kind != "default":
            scaling["factor"] = self.uniform(1.5, 8)
        if kind in ("llama3", "yarn"):
            scaling["original_max_position_embeddings"] = self.randint(8, 24)
        if kind == "llama3":
            scaling |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
        if kind == "yarn":
            scaling |= self.some(beta_fast=16.0, beta_slow=2.0, attention_factor=1.3)
        form = self.randrange(4)
        if form == 0:
            return {}
        if form == 1:
            return {"rope_theta": theta}
        if form == 2:
            return {"rope_parameters": scaling | {"rope_theta": theta}}
        return {"rope_theta": theta, "rope_scaling": scaling if kind != "default" else None}

    def kinds(self, count, last=None):
        """layer_types, or none."""
        both = ["sliding_attention", "full_attention"]
        types = [self.choice(both) for _ in range(count)]
        return {"layer_types": types[:-1] + [last or types[-1]]}

    def experts(self, all, chosen):
        count = self.randint(2, 9)
        return {all: count, chosen: self.randint(1, count)}


# --- families: keys of config.json ---------------------------------------------------------------


def arcee(r):
    return r.sizes(free=False) | r.rotary() | r.some(
        attention_bias=True, mlp_bias=True, rms_norm_eps=1e-3, tie_word_embeddings=True)


def dbrx(r):
    heads, keys = r.choice([(1, 1), (3, 1), (3, 3), (4, 2), (6, 2)])
    width, count, theta = 2 * heads * r.randint(2, 5), r.randint(2, 7), r.uniform(5, 1e5)
    return {"d_model": width, "n_heads": heads, "n_layers": r.randint(1, 4), "max_seq_len": 77,
            "vocab_size": r.randint(17, 70), "initializer_range": 0.25,
            "rope_parameters": {"rope_type": "default", "rope_theta": theta},
            "attn_config": {"kv_n_heads": keys, "rope_theta": theta, "clip_qkv": r.either(0.7, 8),
                            **r.some(model_type="", tie_word_embeddings=True, temperature=1.0)},
            "ffn_config": {"ffn_hidden_size": r.randint(5, 30), "moe_num_experts": count,
                           "moe_top_k": r.randint(1, count), "hidden_size": width,
                           "moe_normalize_expert_weights": r.either(None, 1.0),
                           **r.some(ffn_act_fn={"name": "gelu"}, tie_word_embeddings=True,
                                    moe_jitter_eps=0.0, uniform_expert_assignment=False)}}


def deberta(r):
    own = r.bert(even=False)
    width = own["hidden_size"]
    if r.random() < 0.5:  # as DeBERTa-v3
        own |= {"norm_rel_ebd": "layer_norm", "share_att_key": True, "pos_att_type": "p2c|c2p",
                "position_biased_input": False, "position_buckets": 2 * r.randint(2, 9)}
    else:
        own |= {"pos_att_type": r.either([], ["c2p"], ["p2c"], ["p2c", "c2p"], "c2p|p2c")}
        own |= r.some(norm_rel_ebd="layer_norm", share_att_key=True, type_vocab_size=2,
                      position_biased_input=False, position_buckets=2 * r.randint(2, 9))
    own |= r.some(max_relative_positions=r.randint(21, 60), layer_norm_eps=1e-4, pooler_dropout=0.0,
                  pooler_hidden_size=width, attention_head_size=width // own["num_attention_heads"])
    return own | {"relative_attention": True, "legacy": r.either(True, False)}


def diffllama(r):
    own, keys = r.sizes(free=False) | r.rotary(), r.either(2, 4)
    heads, d = keys * r.randint(1, 3), 2 * r.randint(1, 5)
    return own | {"num_attention_heads": heads, "num_key_value_heads": keys, "head_dim": d,
                  "hidden_size": heads * r.randint(2, 7), "lambda_std_dev": r.uniform(0.1, 0.6)} | \
        r.some(attention_bias=True, tie_word_embeddings=True, rms_norm_eps=1e-3)


def embeddinggemma(r):
    own = r.sizes(free=False) | {"head_dim": 2 * r.randint(2, 6)}
    own |= {"sliding_window": r.randint(2, 12), "use_bidirectional_attention": True}
    form = r.either({}, {"rope_theta": 3e4, "rope_local_base_freq": 500.0}, {"rope_parameters": {
        "full_attention": {"rope_type": "default", "rope_theta": 2e5},
        "sliding_attention": {"rope_type": "default", "rope_theta": 77.0}}})
    return own | form | r.either({}, r.kinds(own["num_hidden_layers"])) | r.some(
        query_pre_attn_scalar=9, attention_bias=True, rms_norm_eps=1e-3, hidden_activation="silu")


def esm(r):
    return r.bert() | {"position_embedding_type": r.either("rotary", "absolute"),
                       "pad_token_id": 1, "mask_token_id": 5} | r.some(
                           emb_layer_norm_before=True, token_dropout=True, layer_norm_eps=1e-5,
                           is_folding_model=False, esmfold_config=None, vocab_list=None)


def exaone4(r):
    own = r.sizes() | r.rotary()
    types = r.kinds(own["num_hidden_layers"])
    if r.random() < 0.2:
        types = {"layer_types": ["full_attention"] * own["num_hidden_layers"]}
        return own | types | {"sliding_window": None}
    return own | r.either({}, types,
                          types | {"sliding_window_pattern": "LLLG"},
                          {"sliding_window_pattern": r.randint(1, 4)}) | r.some(
                              sliding_window=r.randint(1, 9), tie_word_embeddings=True)


def falcon_h1(r):
    own, groups = r.sizes(free=False) | r.rotary(), r.randint(1, 3)
    heads, d = groups * r.randint(1, 3), r.randint(1, 5)
    own |= {"mamba_n_heads": heads, "mamba_d_head": d, "mamba_d_ssm": heads * d,
            "mamba_n_groups": groups, "mamba_d_state": r.randint(1, 9),
            "mamba_d_conv": r.randint(2, 5), "mamba_chunk_size": 4}
    near = lambda count: [r.uniform(0.3, 2) for _ in range(count)]
    return own | r.some(
        mamba_rms_norm=True, mamba_norm_before_gate=False, mamba_conv_bias=False,
        mamba_proj_bias=True, projectors_bias=True, attention_bias=True, mlp_bias=True,
        tie_word_embeddings=True, time_step_limit=[0.1, 1.5], ssm_multipliers=near(5),
        mlp_multipliers=near(2), key_multiplier=0.7, attention_in_multiplier=1.3,
        attention_out_multiplier=0.6, ssm_in_multiplier=0.8, ssm_out_multiplier=1.2,
        embedding_multiplier=2.5, lm_head_multiplier=0.4)


def gemma3n(r):
    own, copies = r.sizes(free=False), r.randint(2, 4)
    count = own["num_hidden_layers"] = r.randint(2, 6)
    types = r.kinds(count)["layer_types"]
    shared = [0] + [n for n in range(1, count) if set(types[:-n]) == set(types)]
    own |= {"head_dim": 2 * r.randint(2, 5), "layer_types": types, "laurel_rank": r.randint(1, 7),
            "num_kv_shared_layers": r.choice(shared), "sliding_window": r.randint(1, 9),
            "hidden_size_per_layer_input": r.randint(2, 7), "altup_num_inputs": copies,
            "altup_active_idx": r.randrange(copies),
            "vocab_size_per_layer_input": own["vocab_size"] - r.either(0, 0, 5),
            "activation_sparsity_pattern": [r.either(0.0, 0.5, 0.9) for _ in range(count)]}
    if r.random() < 0.5:
        own["intermediate_size"] = [own["intermediate_size"]] * count
    return own | r.some(altup_correct_scale=False, final_logit_softcapping=4.0, rms_norm_eps=1e-3,
                        hidden_activation="silu", altup_coef_clip=0.3, rope_parameters={
                            "full_attention": {"rope_type": "default", "rope_theta": 2e5},
                            "sliding_attention": {"rope_type": "default", "rope_theta": 77.0}})


def gemma4(r):
    own = r.sizes() | {"layer_types": None}
    count = own["num_hidden_layers"] = r.either(1, 2, 3, 4, 5, 6, 7, 12)
    own |= {"head_dim": 2 * r.randint(2, 5), "global_head_dim": 2 * r.randint(2, 8),
            "hidden_size_per_layer_input": r.either(0, 0, 3, 6), "sliding_window": r.randint(1, 9),
            "vocab_size_per_layer_input": own["vocab_size"]}
    types = r.kinds(count, "full_attention")["layer_types"]
    if r.random() < 0.3:
        types = [("full" if i % 6 == 5 or i == count - 1 else "sliding") + "_attention"
                 for i in range(count)]
    else:
        own["layer_types"] = types
    own |= r.some(final_logit_softcapping=4.0, attention_bias=True,
                  hidden_activation="silu", rms_norm_eps=1e-3, use_bidirectional_attention="vision")
    own["tie_word_embeddings"] = r.either(True, True, False)
    own |= r.some(num_global_key_value_heads=None, num_experts=None, top_k_experts=None,
                  moe_intermediate_size=None, enable_moe_block=False)
    if r.random() < 0.5:
        own |= {"attention_k_eq_v": True}
        own |= r.some(num_global_key_value_heads=r.either(1, own["num_key_value_heads"]))
    shared = [n for n in range(1, count) if set(types[:-n]) == set(types)]
    if shared and r.random() < 0.6:
        own |= {"num_kv_shared_layers": r.choice(shared)} | r.some(use_double_wide_mlp=True)
    if r.random() < 0.5:
        own |= {"rope_parameters": {
            "full_attention": {"rope_type": "proportional", "rope_theta": r.uniform(9, 1e6),
                               **r.some(partial_rotary_factor=r.either(0.25, 0.5, 0.75))},
            "sliding_attention": {"rope_type": "default", "rope_theta": r.uniform(9, 1e5)}}}
    return own


def gemma4_experts(r):
    return gemma4(r) | {"enable_moe_block": True, "moe_intermediate_size": r.randint(3, 20),
                        "use_double_wide_mlp": False} | r.experts("num_experts", "top_k_experts")


def gemma4_wrapper(r):
    own = gemma4_experts(r) if r.random() < 0.4 else gemma4(r)
    return {"text_config": own, "tie_word_embeddings": own["tie_word_embeddings"],
            "vision_config": dict(hidden_size=8, intermediate_size=9, num_hidden_layers=2,
                                  num_attention_heads=2, num_key_value_heads=2, head_dim=4,
                                  position_embedding_size=20, patch_size=2)}


def glm4_moe_lite(r):
    own = r.sizes(grouped=False) | r.rotary(("default", "linear", "yarn"))
    own |= {"qk_nope_head_dim": r.randint(1, 9), "qk_rope_head_dim": 2 * r.randint(1, 5),
            "v_head_dim": r.randint(2, 11), "kv_lora_rank": r.randint(3, 20),
            "q_lora_rank": r.either(None, 5, 16), "moe_intermediate_size": r.randint(3, 20),
            "num_key_value_heads": own["num_attention_heads"],
            "n_shared_experts": r.randint(1, 2)}
    groups, size = r.randint(1, 3), r.randint(2, 4)
    kept = r.randint(1, groups)
    own |= {"n_group": groups, "topk_group": kept, "n_routed_experts": groups * size,
            "num_experts_per_tok": r.randint(1, kept * size)}
    if r.random() < 0.5:
        own["mlp_layer_types"] = [r.either("dense", "sparse") for _ in
                                  range(own["num_hidden_layers"])]
    elif r.random() < 0.5:  # as GLM-4.7 Flash
        own |= {"topk_method": "noaux_tc", "num_nextn_predict_layers": 1,
                "first_k_dense_replace": 1, "partial_rotary_factor": 1.0}
    return own | r.some(norm_topk_prob=False, routed_scaling_factor=0.7, rope_interleave=False,
                        tie_word_embeddings=True)


def gpt_sw3(r):
    heads = r.randint(1, 5)
    return {"vocab_size": r.randint(17, 70), "n_layer": r.randint(1, 5), "n_head": heads,
            "n_embd": heads * r.randint(1, 9), "n_positions": r.randint(64, 90),
            "initializer_range": 0.25} | r.some(
                n_inner=r.randint(5, 50), tie_word_embeddings=False, activation_function="gelu",
                layer_norm_epsilon=1e-3)


def kimi_linear(r):
    own = r.sizes(grouped=False) | {"linear_head_dim": r.randint(1, 7), "pad_token_id": None}
    count = own["num_hidden_layers"] = r.randint(2, 5)
    own |= {"qk_nope_head_dim": r.randint(1, 9), "qk_rope_head_dim": 2 * r.randint(1, 4),
            "v_head_dim": r.randint(2, 11), "kv_lora_rank": r.randint(3, 20),
            "linear_num_heads": r.randint(1, 4), "moe_intermediate_size": r.randint(3, 20),
            "num_key_value_heads": own["num_attention_heads"], "num_shared_experts": r.randint(1, 2)}
    parts, size = r.randint(1, 3), r.randint(2, 4)
    kept = r.randint(1, parts)
    own |= {"num_expert_group": parts, "topk_group": kept, "num_experts": parts * size,
            "num_experts_per_token": r.randint(1, kept * size)}
    types = ["full_attention"] + [r.either("linear_attention", "full_attention")
                                  for _ in range(count - 1)]
    own["layer_types"] = r.sample(types, count)
    own["mlp_layer_types"] = [r.either("dense", "sparse") for _ in range(count)]
    return own | r.some(moe_renormalize=False, routed_scaling_factor=0.7, tie_word_embeddings=True,
                        linear_conv_kernel_dim=r.randint(2, 5))


def minimax_m2(r):
    own = r.sizes() | r.rotary(("default", "linear"))
    d = own.setdefault("head_dim", own["hidden_size"] // own["num_attention_heads"])
    if d > 2 and "rope_parameters" not in own:
        own |= r.some(rotary_dim=2 * r.randint(1, d // 2))
    return own | r.experts("num_local_experts", "num_experts_per_tok") | r.some(
        tie_word_embeddings=True, rms_norm_eps=1e-4, attn_type_list=[1] * own["num_hidden_layers"],
        qk_norm_type="per_layer", use_qk_norm=True, use_mtp=True, num_mtp_modules=3,
        scoring_func="sigmoid", use_routing_bias=True, shared_intermediate_size=0)


def ministral(r):
    own = r.sizes() | r.rotary() | {"sliding_window": r.randint(1, 9)}
    own.setdefault("head_dim", own["hidden_size"] // own["num_attention_heads"])
    return own | r.either({}, r.kinds(own["num_hidden_layers"])) | r.some(tie_word_embeddings=True)


def ministral3(r):
    own = r.sizes()
    yarn = {"rope_type": "yarn", "type": "yarn", "rope_theta": r.uniform(9, 1e6),
            "factor": r.uniform(1.5, 9), "original_max_position_embeddings": r.randint(3, 20),
            "llama_4_scaling_beta": r.uniform(0, 0.5),
            **r.some(beta_fast=32.0, beta_slow=1.0, max_position_embeddings=88),
            **r.either({}, {"mscale": 1.0, "mscale_all_dim": r.either(1.0, 0.5)})}
    own.setdefault("head_dim", own["hidden_size"] // own["num_attention_heads"])
    return own | r.either({"rope_parameters": yarn}, {"rope_parameters": yarn}, {}) | r.some(
        tie_word_embeddings=True, sliding_window=r.randint(1, 9))


def mistral3(r):
    own = ministral3(r) | {"model_type": "ministral3"} if r.random() < 0.6 else r.sizes() | \
        r.rotary() | {"model_type": "mistral", "sliding_window": r.either(None, 3)}
    own.setdefault("head_dim", own["hidden_size"] // own["num_attention_heads"])
    own |= {"tie_word_embeddings": r.either(True, False)}
    return {"text_config": own, "tie_word_embeddings": own["tie_word_embeddings"],
            "spatial_merge_size": 1, "vision_config": dict(
                model_type="pixtral", hidden_size=8, intermediate_size=9, num_hidden_layers=1,
                num_attention_heads=2, head_dim=4, image_size=8, patch_size=4)}


def t5_encoder(r):
    return {"vocab_size": r.randint(17, 70), "d_model": r.randint(9, 40), "d_kv": r.randint(1, 9),
            "d_ff": r.randint(5, 50), "num_layers": r.randint(1, 5), "num_heads": r.randint(1, 6),
            "relative_attention_num_buckets": 2 * r.randint(2, 9), "initializer_factor": 1.5,
            "relative_attention_max_distance": r.randint(10, 40)} | r.some(
                feed_forward_proj="gated-gelu", layer_norm_epsilon=1e-3)


def nemotron_h(r):
    own, groups = r.sizes(), r.randint(1, 3)
    own |= {"mamba_num_heads": groups * r.randint(1, 3), "mamba_head_dim": r.randint(1, 5),
            "n_groups": groups, "ssm_state_size": r.randint(1, 9), "conv_kernel": r.randint(2, 5),
            "chunk_size": 4, "moe_intermediate_size": r.randint(3, 20),
            "moe_shared_expert_intermediate_size": r.randint(3, 20),
            "moe_latent_size": r.either(None, r.randint(2, 30))}
    kinds = ["linear_attention", "full_attention", "mlp", "moe"]
    types = ["full_attention"] + [r.choice(kinds) for _ in range(own.pop("num_hidden_layers"))]
    own["layers_block_type"] = r.sample(types, len(types))
    own.setdefault("head_dim", own["hidden_size"] // own["num_attention_heads"])
    parts, size = r.randint(1, 3), r.randint(2, 4)
    kept = r.randint(1, parts)
    own |= {"n_group": parts, "topk_group": kept, "n_routed_experts": parts * size,
            "num_experts_per_tok": r.randint(1, kept * size)}
    return own | r.some(use_bias=True, use_conv_bias=False, mlp_bias=True, norm_topk_prob=False,
                        routed_scaling_factor=0.7, time_step_min=0.2, layer_norm_epsilon=1e-3,
                        mlp_hidden_act="silu", mamba_hidden_act="gelu", tie_word_embeddings=True)


def olmo_hybrid(r):
    own, keys = r.sizes(free=False) | r.rotary(("default", "linear")), r.randint(1, 3)
    own["num_hidden_layers"] = max(2, own["num_hidden_layers"])
    own["hidden_size"] = own["num_attention_heads"] * 2 * r.randint(2, 6)
    own.pop("head_dim", None)
    types = ["linear_attention", "full_attention"]  # it has both
    types += [r.choice(types) for _ in range(own["num_hidden_layers"] - 2)]
    return own | {"pad_token_id": None, "layer_types": r.sample(types, len(types)), "linear_num_key_heads": keys,
                  "linear_num_value_heads": keys * r.randint(1, 2),
                  "linear_key_head_dim": r.randint(1, 6), "linear_value_head_dim": r.randint(1, 9)
                  } | r.some(linear_conv_kernel_dim=r.randint(2, 5), attention_bias=True,
                             linear_allow_neg_eigval=False, tie_word_embeddings=True)


def nomic_bert(r):
    own = r.bert() | r.rotary(("default",)) | r.some(type_vocab_size=1, layer_norm_eps=1e-4)
    return own | {"hidden_act": r.either("silu", "gelu")}


FAMILIES = {
    "arcee": ("ArceeForCausalLM", arcee),
    "dbrx": ("DbrxForCausalLM", dbrx),
    "deberta-v2": ("DebertaV2ForMaskedLM", deberta),
    "deberta-v2 without a head": ("DebertaV2Model", deberta),
    "diffllama": ("DiffLlamaForCausalLM", diffllama),
    "embeddinggemma": ("Gemma3TextModel", embeddinggemma),
    "esm": ("EsmForMaskedLM", esm),
    "esm without a head": ("EsmModel", esm),
    "exaone4": ("Exaone4ForCausalLM", exaone4),
    "falcon_h1": ("FalconH1ForCausalLM", falcon_h1),
    "gemma3n_text": ("Gemma3nForCausalLM", gemma3n),
    "gemma4_text": ("Gemma4ForCausalLM", gemma4),
    "gemma4 experts": ("Gemma4ForCausalLM", gemma4_experts),
    "gemma4": ("Gemma4ForConditionalGeneration", gemma4_wrapper),
    "glm4_moe_lite": ("Glm4MoeLiteForCausalLM", glm4_moe_lite),
    "gpt_sw3": ("GPT2LMHeadModel", gpt_sw3),
    "kimi_linear": ("KimiLinearForCausalLM", kimi_linear),
    "minimax_m2": ("MiniMaxM2ForCausalLM", minimax_m2),
    "ministral": ("MinistralForCausalLM", ministral),
    "ministral3": ("Ministral3ForCausalLM", ministral3),
    "mistral3": ("Mistral3ForConditionalGeneration", mistral3),
    "nemotron_h": ("NemotronHForCausalLM", nemotron_h),
    "nomic_bert": ("NomicBertForMaskedLM", nomic_bert),
    "nomic_bert without a head": ("NomicBertModel", nomic_bert),
    "olmo_hybrid": ("OlmoHybridForCausalLM", olmo_hybrid),
    "t5 encoder": ("T5EncoderModel", t5_encoder),
}

# --- models ---------------------------------------------------------------------------------------


def causal(name):
    return "Causal" in name or "LMHead" in name or "Conditional" in name


def save(name, keys, r, folder):
    """A model with these keys, as transformers saves it."""
    kind = getattr(transformers, name)
    config = kind.config_class.from_dict(json.loads(json.dumps(keys)))
    torch.manual_seed(r.randrange(1 << 30))
    model = kind(config).eval()
    with torch.no_grad():
        for tensor in [*model.parameters(), *(b for n, b in model.named_buffers()
                                              if n.endswith(("layer_scalar", "correction_bias")))]:
            if tensor.dim() == 1:  # biases and scales, which are 0 and 1
                tensor.add_(torch.randn_like(tensor) * 0.2)
    if r.random() < 0.4:
        for tensor in model.parameters():  # not ESM's rotary frequencies, which the file has, too
            tensor.data = tensor.data.bfloat16()
    state = model.state_dict()  # with idle norms of layers that read the keys of others
    idle = {name.replace(".q_norm", ".k_norm"): tensor.clone() for name, tensor in state.items()
            if ".q_norm" in name}
    model.save_pretrained(folder, max_shard_size=r.either("5GB", "12KB"), state_dict=idle | state)
    if r.random() < 0.5:  # the keys that were drawn; the others have their defaults
        written = {"architectures": [name], "model_type": config.model_type} | keys
        pathlib.Path(folder, "config.json").write_text(json.dumps(written))


def texts_of(config, r):
    words = config.get_text_config().vocab_size
    texts = [[r.randrange(words) for _ in range(length)] for length in LENGTHS]
    pad, mask = (getattr(config, key, None) for key in ("pad_token_id", "mask_token_id"))
    return [[id + 2 if id == pad or id == mask and len(text) < 3 else id for id in text]
            for text in texts]  # padding has positions of its own; a text of masks is NaN in ESM


def theirs(name, folder, texts, noise=0):
    """Tensors of each text by transformers; `noise`: how far weights are off."""
    model = getattr(transformers, name).from_pretrained(
        folder, dtype=torch.float64, attn_implementation="eager",
        experts_implementation="eager").eval()
    with torch.no_grad():
        for tensor in model.parameters() if noise else ():
            tensor.mul_(1 + noise * torch.randn_like(tensor))
    layers = next(m for n, m in model.named_modules() if isinstance(m, torch.nn.ModuleList) and
                  ("." + n).endswith(LISTS) and "vision" not in n and "audio" not in n)
    kinds = getattr(model.config, "layers_block_type", None) or getattr(
        model.config, "layer_types", None) or ["hybrid"] * len(layers)
    readers = [i for i, kind in enumerate(kinds) if kind in
               ("full_attention", "sliding_attention", "hybrid")]
    last, found = [], []
    layers[-1].register_forward_hook(lambda module, given, out: last.append(
        out if isinstance(out, torch.Tensor) else out[0]))
    for text in texts:
        with torch.no_grad():
            out = model(torch.tensor([text]), output_hidden_states=True, output_attentions=True,
                        **({"use_cache": False} if causal(name) else {}))
        states = [*out.hidden_states[:-1], last.pop()]  # without the final norm
        site = "streams" if states[0].dim() == 4 else "resid_post"
        states = [state.squeeze(-3) for state in states]  # copies of the stream, or one
        tensors = {"embedding": states[0]} if site == "resid_post" else {}
        tensors |= {"logits": out.logits[0]} if "logits" in out else {}
        tensors |= {f"h.{i}.{site}": state for i, state in enumerate(states[1:])}
        tensors |= {f"h.{i}.weights": weights[0] for i, weights in zip(readers, out.attentions)}
        found.append(tensors)
    return found


def worst_of(all_found, all_wanted):
    """The largest error of a tensor, relative to its largest number, and its name."""
    worst = 0, ""
    for found, wanted in zip(all_found, all_wanted):
        for site, tensor in wanted.items():
            error = off(found[site], tensor)
            worst = max(worst, (error if error >= 0 else float("inf"), site))
    return worst


def ours(name, folder, command, *line):
    """Tensors of the texts of a command line, and their ids."""
    sites = SITES if name.endswith("Model") and "Head" not in name else SITES + ",logits"
    sites = sites.replace("resid_post", "streams") if "3n" in name else sites
    found = results(sys.argv[1], command, "-m", folder, "--special", "none", "--show", sites, *line)
    return [(text["tensors"], [token["id"] for token in text["tokens"]]) for text in found]


def check(family, seed, folder):
    """The largest error of a model; ValueError: what is wrong."""
    name, draw = FAMILIES[family]
    r = Draw(f"{family} {seed}")
    save(name, draw(r), r, folder)
    texts = texts_of(transformers.AutoConfig.from_pretrained(folder), r)
    wanted = theirs(name, folder, texts)
    one = "--threads", "1", "--ids"
    if causal(name):  # a text that the program continues, through its cache
        grown = ours(name, folder, "generate", *one, ids_of(texts[2]), "-n", "9", "--ignore-eos")
        texts.append(grown[0][1])
    table = pathlib.Path(folder, "texts.jsonl")
    table.write_text("".join(json.dumps({"ids": ids_of(text)}) + "\n" for text in texts))
    batch = ours(name, folder, "run", "--threads", "3", "-f", str(table))
    if causal(name) and grown[0] != batch.pop():
        raise ValueError("other bits through the cache")
    for i in (2, 3):
        if ours(name, folder, "run", *one, ids_of(texts[i]))[0] != batch[i]:
            raise ValueError("other bits alone")
    worst = worst_of([tensors for tensors, _ in batch], wanted)
    if worst[0] > LIMIT:
        moved = [worst_of(theirs(name, folder, texts, 2**-23), wanted)[0] for _ in range(3)]
        if worst[0] < 4 * max(moved) < 0.04:
            return LIMIT, worst[1]
    return worst


def try_model(model):
    family, seed = model
    try:
        with tempfile.TemporaryDirectory() as folder:
            return check(family, seed, folder)
    except Exception as fault:
        return float("inf"), f"{type(fault).__name__}: {str(fault)[:300]}"


def main():
    first, last = ((sys.argv[2:3] or ["1-3"])[0].split("-") * 2)[:2]
    models = [(family, seed) for family in sys.argv[3:] or FAMILIES
              for seed in range(int(first), int(last) + 1)]
    worst, agree = {}, 0
    with multiprocessing.Pool() as pool:
        for (family, seed), (error, site) in zip(models, pool.imap(try_model, models)):
            worst[family] = max(worst.get(family, 0), error)
            agree += error <= LIMIT
            if not error <= LIMIT:
                print(f"{family}, seed {seed}: {error:.1e} {site}", flush=True)
    print(*(f"{family}: {error:.1e}" for family, error in worst.items()), sep="\n", file=sys.stderr)
    print(agree, "models agree")


if __name__ == "__main__":
    main()
