#!/bin/sh
# Write the GGUF files of the tests from the models and tokenizers that they are compared with.
#
#     sh tests/references/gguf/freeze.sh
set -eu
cd "$(dirname "$0")/../../.."

if [ -n "${PEERS-}" ]; then # needs ggml's library
    /usr/bin/python3 tests/references/gguf/quants.py tests/references/gguf/quants.gguf
    /usr/bin/python3 tests/references/gguf/quants.py tests/references/gguf/q5_0.gguf Q5_0
fi

if [ -n "${LLAMA_CPP-}" ]; then # needs llama.cpp's converter, torch and transformers
    # (mamba and granitehybrid-dense: of models that transformers made, random and as small)
    for family in qwen3_5_text qwen3_5_moe_text qwen3_next lfm2 lfm2_moe granitemoehybrid bamba \
        mamba2 falcon_mamba jamba kimi_linear bert-alibi \
        bert-alibi-norms gemma3n_text; do
        /usr/bin/python3 tests/references/gguf/convert.py \
            tests/references/golden-families/$family tests/references/gguf/$family.gguf
    done
    /usr/bin/python3 tests/references/gguf/convert.py tests/references/golden-families/falcon_h1 \
        tests/references/gguf/falcon_h1.gguf '{"head_dim": 4}'
    # models that transformers made: the converter needs an even number of channels of a head
    /usr/bin/python3 tests/references/gguf/convert.py tests/references/gguf/nemotron_h \
        tests/references/gguf/nemotron_h.gguf \
        '{"hybrid_override_pattern": "M-*M", "num_experts_per_tok": "none", "mamba_d_head": 4,
          "n_routed_experts": "none", "n_group": "none", "topk_group": "none"}'
    for name in granite_expand bamba_expand; do # made by transformers, too
        /usr/bin/python3 tests/references/gguf/convert.py tests/references/gguf/$name \
            tests/references/gguf/$name.gguf
    done
    /usr/bin/python3 tests/references/gguf/convert.py tests/references/gguf/nemotron_h_moe \
        tests/references/gguf/nemotron_h_moe.gguf '{"mamba_d_head": 4}'
fi

freeze() { # MODEL NAME [TYPE [PRE]]
    from=$1
    name=$2
    shift 2
    /usr/bin/python3 tests/references/gguf/write.py "$from" "tests/references/gguf/$name.gguf" "$@"
}

for family in llama llama-rope-linear llama-rope-llama3 qwen2 qwen3 gemma gpt_neox granite \
    smollm3 phi3 phi3-longrope olmo2 gemma2 gemma3_text phi stablelm starcoder2 bloom falcon \
    falcon-7b-style olmo olmo-no-clip olmo3 exaone4 exaone4-no-window seed_oss arcee \
    hunyuan_v1_dense ernie4_5 ernie4_5-biases glm glm-no-bias glm4 cohere-qk-norm cohere2 nemotron \
    nemotron-biases gpt_bigcode mpt mpt-clip bert-base-model nomic_bert-base-model distilbert \
    qwen3-bidirectional t5 t5-gated-untied umt5 ministral3 mixtral minimax_m2 \
    qwen2_moe qwen3_moe olmoe granitemoeshared hunyuan_v1_moe ernie4_5_moe dots1 \
    glm4_moe gpt_oss deepseek_v2 deepseek_v3 glm4_moe_lite dbrx gemma4 gemma4_text \
    gemma4-experts; do
    freeze tests/references/golden-families/$family $family
done
freeze tests/references/gguf/gemma4_first gemma4_first
freeze tests/references/golden-families/llama-bf16-tied-biases llama-bf16 BF16
freeze tests/references/golden-families/llama llama-fused
freeze tests/references/golden/gpt2-micro-f16 gpt2 F16
freeze tests/texts/tokenizers/qwen2-like qwen2-like F16 qwen2
freeze tests/texts/tokenizers/llama-3-like llama-3-like F16 llama-bpe
freeze tests/texts/tokenizers/smollm2-like smollm2-like F16 smollm
freeze tests/texts/tokenizers/falcon-like falcon-like F16 falcon
freeze tests/texts/tokenizers/gemma-like gemma-like F16
freeze tests/texts/tokenizers/gpt-neox-like gpt-neox-like F16 olmo
freeze tests/texts/tokenizers/bert-like bert-like F16
freeze tests/texts/tokenizers/splits splits F16 gpt-2
freeze tests/texts/tokenizers/sentencepiece-bpe sentencepiece-bpe F16
freeze tests/texts/tokenizers/sentencepiece-unigram sentencepiece-unigram F16
mkdir -p tests/refusals/gguf
/usr/bin/python3 tests/references/gguf/write.py tests/refusals/json \
    tests/refusals/gguf/model.gguf F32 gpt-2
