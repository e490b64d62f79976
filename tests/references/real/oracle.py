"""A model of transformers in float64, with the tensors of every site of its forward pass."""
import math

import torch
from transformers import AutoModelForCausalLM
from transformers.models.gemma3 import modeling_gemma3
from transformers.models.llama import modeling_llama


class Double:
    """torch, with float64 in place of float32, which norms, rotations and the softmax name."""
    float = float32 = torch.float64

    def __getattr__(self, name):
        return getattr(torch, name)


MODULES = {"llama": modeling_llama, "gemma3_text": modeling_gemma3}


TRUE_FLOAT = torch.Tensor.float


class Oracle:
    """A model in float64 or, as transformers computes by default, float32."""

    def __init__(self, folder, dtype=torch.float64):
        self.dtype = dtype
        self.use_dtype()
        self.model = AutoModelForCausalLM.from_pretrained(
            folder, dtype=dtype, attn_implementation="eager").eval()
        self.config = self.model.config
        self.module = MODULES[self.config.model_type]
        self.gemma = self.config.model_type != "llama"
        for name, buffer in self.model.named_buffers():
            assert buffer.dtype == dtype or "scale" in name, name
        self.found = {}
        self.hook()

    def use_dtype(self):
        double = self.dtype == torch.float64
        for module in MODULES.values():
            module.torch = Double() if double else torch
        torch.Tensor.float = torch.Tensor.double if double else TRUE_FLOAT

    def put(self, name, value):
        self.found[name] = value.detach()[0]

    def on_input(self, module, name):
        module.register_forward_pre_hook(
            lambda _, args, kwargs: self.put(name, (args or [kwargs["hidden_states"]])[0]),
            with_kwargs=True)

    def on_output(self, module, name):
        module.register_forward_hook(
            lambda _, args, out: self.put(name, out[0] if isinstance(out, tuple) else out))

    def hook(self):
        body = self.model.model
        self.on_output(body.embed_tokens, "embedding")
        self.on_output(body.norm, "ln_f")
        for i, layer in enumerate(body.layers):
            at = f"h.{i}."
            self.on_input(layer, f"{at}resid_pre")
            self.on_output(layer, f"{at}resid_post")
            self.on_output(layer.input_layernorm, f"{at}ln_1")
            attention, mlp = layer.self_attn, layer.mlp
            self.on_output(attention.v_proj, f"{at}v")
            self.on_output(attention.o_proj, f"{at}attn_out")
            self.on_input(attention.o_proj, f"{at}context")
            attention.register_forward_hook(
                lambda _, args, out, at=at: self.put(f"{at}weights", out[1]))
            after = layer.post_attention_layernorm
            before = layer.pre_feedforward_layernorm if self.gemma else after
            if self.gemma:
                self.on_output(after, f"{at}ln_1_post")
                self.on_output(layer.post_feedforward_layernorm, f"{at}ln_2_post")
            self.on_input(before, f"{at}resid_mid")
            self.on_output(before, f"{at}ln_2")
            self.on_output(mlp.gate_proj, f"{at}mlp_gate")
            self.on_output(mlp.up_proj, f"{at}mlp_up")
            self.on_input(mlp.down_proj, f"{at}mlp_act")
            self.on_output(mlp.down_proj, f"{at}mlp_out")

    @torch.no_grad()
    def logits(self, ids):
        self.use_dtype()
        return self.model(torch.tensor([ids])).logits[0]

    @torch.no_grad()
    def sites(self, ids):
        """Tensors by the names of attn-cli, [head, query or token, …]."""
        self.use_dtype()
        self.found, rotated, rotate = {}, [], self.module.apply_rotary_pos_emb

        def record(q, k, *rest, **more):
            out = rotate(q, k, *rest, **more)
            rotated.append((q[0], k[0], out[0][0], out[1][0]))
            return out
        self.module.apply_rotary_pos_emb = record
        logits = self.model(torch.tensor([ids])).logits[0]
        self.module.apply_rotary_pos_emb = rotate
        found, heads = self.found, self.config.num_attention_heads
        for i, (q_pre, k_pre, q, k) in enumerate(rotated):
            at = f"h.{i}."
            found |= {f"{at}q_pre": q_pre, f"{at}k_pre": k_pre, f"{at}q": q, f"{at}k": k}
            for name, count in (("v", k.shape[0]), ("context", heads)):
                flat = found[f"{at}{name}"]
                found[f"{at}{name}"] = flat.reshape(len(ids), count, -1).transpose(0, 1)
            keys = k.repeat_interleave(heads // k.shape[0], 0)
            found[f"{at}scores"] = scores = q @ keys.transpose(1, 2)
            scale = self.model.model.layers[i].self_attn.scaling
            seen = found[f"{at}weights"] > 0
            found[f"{at}masked"] = torch.where(seen, scores * scale, -math.inf)
        return found | {"logits": logits}

    @torch.no_grad()
    def greedy(self, ids, count):
        self.use_dtype()
        cache, fresh, out = None, ids, []
        for _ in range(count):
            found = self.model(torch.tensor([fresh]), past_key_values=cache, use_cache=True)
            cache, fresh = found.past_key_values, [int(found.logits[0, -1].argmax())]
            out += fresh
        return out
