"""Llama and Qwen2 in PyTorch, as they are usually written."""
import torch
import torch.nn.functional as F

from checkpoint import map_tensors, read_config

torch.set_num_threads(1)
torch.set_grad_enabled(False)


class Llama(torch.nn.Module):
    def __init__(self, folder):
        super().__init__()
        self.config = read_config(folder)
        for name, array in map_tensors(f"{folder}/model.safetensors").items():
            self.register_buffer(name.replace(".", "_"), torch.from_numpy(array))

    def linear(self, x, name):
        return F.linear(x, getattr(self, name + "_weight"), getattr(self, name + "_bias", None))

    def norm(self, x, name):
        root = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.config.rms_norm_eps)
        return getattr(self, name + "_weight") * (x * root)

    def heads(self, x):
        """[batch, token, channel] as [batch, head, token, dim]"""
        width = self.config.hidden_size // self.config.num_attention_heads
        return x.view(x.shape[0], x.shape[1], -1, width).transpose(1, 2)

    def waves(self, start, tokens, width):
        powers = torch.arange(0, width, 2, dtype=torch.float64) / width
        angles = torch.arange(start, start + tokens)[:, None] * self.config.rope_theta ** -powers
        angles = torch.cat((angles, angles), -1)
        return angles.cos().float(), angles.sin().float()

    def attend(self, x, name, waves, past):
        q, k, v = (self.heads(self.linear(x, f"{name}_{part}_proj")) for part in "qkv")
        q, k = (self.turn(part, *waves) for part in (q, k))
        if past is not None:
            k, v = torch.cat((past[0], k), 2), torch.cat((past[1], v), 2)
        group = q.shape[1] // k.shape[1]
        keys, values = (part.repeat_interleave(group, 1) for part in (k, v))
        future = torch.ones(q.shape[2], k.shape[2]).triu(1 + k.shape[2] - q.shape[2]).bool()
        scores = q @ keys.transpose(2, 3) / q.shape[3] ** 0.5
        weights = scores.masked_fill(future, float("-inf")).softmax(-1)
        context = (weights @ values).transpose(1, 2).reshape(x.shape)
        return self.linear(context, name + "_o_proj"), (k, v)

    @staticmethod
    def turn(x, cosines, sines):
        first, last = x.chunk(2, -1)
        return x * cosines + torch.cat((-last, first), -1) * sines

    def forward(self, ids, pasts=None):
        """what the last norm gives, and the keys and values of every layer"""
        start = 0 if pasts is None else pasts[0][0].shape[2]
        width = self.config.hidden_size // self.config.num_attention_heads
        waves = self.waves(start, ids.shape[1], width)
        x = self.model_embed_tokens_weight[ids]
        presents = []
        for layer in range(self.config.num_hidden_layers):
            block = f"model_layers_{layer}"
            past = None if pasts is None else pasts[layer]
            normed = self.norm(x, block + "_input_layernorm")
            out, present = self.attend(normed, block + "_self_attn", waves, past)
            x = x + out
            normed = self.norm(x, block + "_post_attention_layernorm")
            gate = F.silu(self.linear(normed, block + "_mlp_gate_proj"))
            hidden = gate * self.linear(normed, block + "_mlp_up_proj")
            x = x + self.linear(hidden, block + "_mlp_down_proj")
            presents.append(present)
        return self.norm(x, "model_norm"), presents

    def unembed(self, x):
        return x @ getattr(self, "lm_head_weight", self.model_embed_tokens_weight).T
