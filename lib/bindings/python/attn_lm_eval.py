"""attn_lm_eval: the model "attn" of lm-evaluation-harness: GGUF files or folders, without a server.

    python3 -m attn_lm_eval run --model attn --model_args model=smollm2.gguf --tasks lambada_openai

The arguments are those of lm_eval. `model_args`: model, threads, packing, max_length (at most the
model's context less one token), add_bos_token (default: if the model's own tokenizer adds it).
"""
from lm_eval import utils
from lm_eval.api.model import TemplateLM
from lm_eval.api.registry import register_model

import attn

TEXTS = 64  # scored by one call


@register_model("attn")
class AttnLM(TemplateLM):
    def __init__(self, model="tiny", threads=0, packing=None, max_length=None, add_bos_token=None,
                 batch_size=None, max_batch_size=None, device=None):
        super().__init__()
        self.model = attn.Model(model, int(threads), packing)
        counts = self.model.counts
        most = (counts.positions or 2048) - 1
        self.max_length = min(int(max_length), most) if max_length else most
        self._begin = counts.adds_begin if add_bos_token is None else add_bos_token

    @property
    def eot_token_id(self):  # the context of a text without one
        if self.model.counts.begin >= self.model.counts.vocabulary:
            raise ValueError("'%s': expected a beginning token, found none" % self.model.name)
        return self.model.counts.begin

    def tok_encode(self, string, add_special_tokens=None, **_):
        ids = self.model.encode(string).tolist() if string else []
        begin = self.model.counts.begin
        adds = self._begin if add_special_tokens is None else add_special_tokens and self._begin
        return [begin] + ids if adds and ids[:1] != [begin] else ids

    def _loglikelihood_tokens(self, requests, disable_tqdm=False, **_):
        order = sorted(range(len(requests)), key=lambda i: len(requests[i][1] + requests[i][2]))
        results = [None] * len(requests)
        for start in range(0, len(order), TEXTS):
            part = order[start:start + TEXTS]
            texts = [(requests[i][1] + requests[i][2])[-self.max_length - 1:] for i in part]
            for i, scores in zip(part, self.model.score(texts, begin=False)):
                count = min(len(requests[i][2]), len(scores["id"]) - 1)
                given = slice(len(scores["id"]) - count, None)
                results[i] = (float(scores["logprob"][given].sum(dtype=float)),
                              bool((scores["rank"][given] == 1).all()))
                if requests[i][0] is not None:
                    self.cache_hook.add_partial("loglikelihood", requests[i][0], results[i])
        return results

    def loglikelihood_rolling(self, requests, disable_tqdm=False):
        sums = []
        for (text,) in [request.args for request in requests]:
            windows = map(utils.make_disjoint_window, utils.get_rolling_token_windows(
                self.tok_encode(text), self.eot_token_id, self.max_length, 1))
            scores = self._loglikelihood_tokens([(None, *window) for window in windows])
            sums.append(sum(logprob for logprob, _ in scores))
            self.cache_hook.add_partial("loglikelihood_rolling", (text,), sums[-1])
        return sums

    def generate_until(self, requests, disable_tqdm=False):
        texts = []
        for context, options in [request.args for request in requests]:
            stops, text = options.get("until") or [], []
            stops = [stops] if isinstance(stops, str) else stops

            def ends(token):
                text.append(token)
                return any(stop in "".join(text) for stop in stops)

            tokens = int(options.get("max_gen_toks", 256))
            ids = self.tok_encode(context)[-max(self.max_length + 1 - tokens, 1):]
            made = self.model.generate(
                ids, tokens, then=ends,
                temperature=options.get("temperature", 0) if options.get("do_sample") else 0).text
            ended = (made.split(stop)[0] for stop in stops if stop)
            texts.append(min(ended, key=len, default=made))
        return texts


if __name__ == "__main__":
    from lm_eval.__main__ import cli_evaluate
    cli_evaluate()
