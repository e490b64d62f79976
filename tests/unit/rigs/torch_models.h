/* torch_models.h: random numbers of PyTorch 2.13.0+cpu on a CPU. Made by
 * tests/references/torch/tables.py. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The FNV-1a hash of a tensor's bits; tensors of only 0 or only 1 are left out. */
struct torch_digest {
    const char *name;
    uint32_t digest;
};

/* clang-format off */
/* Seed 42: the weight of nn.Linear(7, 3), [3, 7]. */
static const float torch_linear_weight[] = {
    0.288968384f, 0.313713491f, -0.0885466710f, 0.347202420f, -0.0828133672f, 0.0762697086f,
    -0.184013903f, 0.221971974f, 0.333191901f, -0.277285367f, 0.328525275f, 0.0707395673f,
    0.279243499f, 0.0511879437f, 0.182249963f, -0.0533651821f, 0.291367441f, 0.0558665171f,
    -0.176448897f, 0.0963425040f, -0.174142078f,
};

/* Seed 42: the bias of nn.Linear(7, 3). */
static const float torch_linear_bias[] = {
    -0.0443249717f, -0.153513417f, 0.250730664f,
};

/* Seed 123: the first 6 rows of nn.Embedding(50000, 3). */
static const float torch_embedding[] = {
    0.337370187f, -0.177777216f, -0.303527594f, -0.588011861f, 0.348605186f, 0.660340965f,
    -0.219637617f, -0.379169822f, 0.767107069f, -1.19250202f, 0.698351920f, -1.40972292f,
    0.179379612f, 1.89514804f, 0.495446384f, 0.269198567f, -0.0770202354f, -1.02047193f,
};

/* Seed 123: nn.Embedding(6, 3), whose rows differ from those above. */
static const float torch_small_embedding[] = {
    0.337370187f, -0.177777216f, -0.168956280f, 0.917764604f, 1.58096957f, 1.30103993f,
    1.27530122f, -0.200953096f, -0.160563782f, -0.401488006f, 0.966571569f, -1.14814401f,
    -1.15886784f, 0.325471014f, -0.631505370f, -2.83999395f, -0.784853339f, -1.40957248f,
};

/* GPT-2, seed 11. */
static const char torch_untied_config[] =
    "{\"model_type\": \"gpt2\", \"vocab_size\": 13, \"n_positions\": 5, "
    "\"n_embd\": 6, \"n_layer\": 2, \"n_head\": 2, \"n_inner\": 10, "
    "\"initializer_range\": 0.03, \"tie_word_embeddings\": false} ";

static const struct torch_digest torch_untied[] = {
    {"wte.weight", 2593427290u},
    {"wpe.weight", 3994071862u},
    {"h.0.attn.c_attn.weight", 637292698u},
    {"h.0.attn.c_proj.weight", 2368866526u},
    {"h.0.mlp.c_fc.weight", 1347645973u},
    {"h.0.mlp.c_proj.weight", 983549148u},
    {"h.1.attn.c_attn.weight", 3823663681u},
    {"h.1.attn.c_proj.weight", 3068118892u},
    {"h.1.mlp.c_fc.weight", 640669740u},
    {"h.1.mlp.c_proj.weight", 2354335263u},
    {"lm_head.weight", 2941815424u},
};

/* GPT-2, seed 12: matrices of fewer than 16 numbers. */
static const char torch_narrow_config[] =
    "{\"model_type\": \"gpt2\", \"vocab_size\": 6, \"n_positions\": 3, "
    "\"n_embd\": 2, \"n_layer\": 3, \"n_head\": 1, \"n_inner\": 3} ";

static const struct torch_digest torch_narrow[] = {
    {"wte.weight", 1147034798u},
    {"wpe.weight", 1633336389u},
    {"h.0.attn.c_attn.weight", 1236127500u},
    {"h.0.attn.c_proj.weight", 2397064374u},
    {"h.0.mlp.c_fc.weight", 3959173228u},
    {"h.0.mlp.c_proj.weight", 2683533331u},
    {"h.1.attn.c_attn.weight", 803217974u},
    {"h.1.attn.c_proj.weight", 2830230397u},
    {"h.1.mlp.c_fc.weight", 2814972131u},
    {"h.1.mlp.c_proj.weight", 3091628642u},
    {"h.2.attn.c_attn.weight", 3721634075u},
    {"h.2.attn.c_proj.weight", 1941831556u},
    {"h.2.mlp.c_fc.weight", 3787303407u},
    {"h.2.mlp.c_proj.weight", 1121637703u},
};

/* Llama, seed 16. */
static const char torch_llama_config[] =
    "{\"model_type\": \"llama\", \"vocab_size\": 13, \"hidden_size\": 6, "
    "\"num_hidden_layers\": 2, \"num_attention_heads\": 4, "
    "\"num_key_value_heads\": 2, \"head_dim\": 4, "
    "\"intermediate_size\": 10, \"initializer_range\": 0.03} ";

static const struct torch_digest torch_llama[] = {
    {"model.embed_tokens.weight", 2455846313u},
    {"model.layers.0.self_attn.q_proj.weight", 1587680339u},
    {"model.layers.0.self_attn.k_proj.weight", 3011545110u},
    {"model.layers.0.self_attn.v_proj.weight", 531121474u},
    {"model.layers.0.self_attn.o_proj.weight", 2091143544u},
    {"model.layers.0.mlp.gate_proj.weight", 3855331408u},
    {"model.layers.0.mlp.up_proj.weight", 2703284924u},
    {"model.layers.0.mlp.down_proj.weight", 2537203877u},
    {"model.layers.1.self_attn.q_proj.weight", 3165101394u},
    {"model.layers.1.self_attn.k_proj.weight", 1745458399u},
    {"model.layers.1.self_attn.v_proj.weight", 4037685127u},
    {"model.layers.1.self_attn.o_proj.weight", 1079606026u},
    {"model.layers.1.mlp.gate_proj.weight", 628619972u},
    {"model.layers.1.mlp.up_proj.weight", 195935824u},
    {"model.layers.1.mlp.down_proj.weight", 3800251506u},
    {"lm_head.weight", 4080031554u},
};

/* Llama, seed 17, with biases. */
static const char torch_biased_config[] =
    "{\"model_type\": \"llama\", \"vocab_size\": 5, \"hidden_size\": 4, "
    "\"num_hidden_layers\": 2, \"num_attention_heads\": 2, "
    "\"intermediate_size\": 3, \"tie_word_embeddings\": true, "
    "\"attention_bias\": true, \"mlp_bias\": true} ";

static const struct torch_digest torch_biased[] = {
    {"model.embed_tokens.weight", 1245781190u},
    {"model.layers.0.self_attn.q_proj.weight", 56146177u},
    {"model.layers.0.self_attn.k_proj.weight", 620983761u},
    {"model.layers.0.self_attn.v_proj.weight", 1572758801u},
    {"model.layers.0.self_attn.o_proj.weight", 2236279026u},
    {"model.layers.0.mlp.gate_proj.weight", 1389366257u},
    {"model.layers.0.mlp.up_proj.weight", 1556313167u},
    {"model.layers.0.mlp.down_proj.weight", 274676551u},
    {"model.layers.1.self_attn.q_proj.weight", 645792623u},
    {"model.layers.1.self_attn.k_proj.weight", 1273841746u},
    {"model.layers.1.self_attn.v_proj.weight", 656423784u},
    {"model.layers.1.self_attn.o_proj.weight", 3815693307u},
    {"model.layers.1.mlp.gate_proj.weight", 1957854493u},
    {"model.layers.1.mlp.up_proj.weight", 164746508u},
    {"model.layers.1.mlp.down_proj.weight", 2120830609u},
};

/* torch.rand, seed 13. */
static const char torch_rand_config[] =
    "{\"model_type\": \"attention\", \"vocab_size\": 11, \"n_embd\": 12, "
    "\"n_layer\": 2, \"n_head\": 6, \"n_kv_head\": 2, \"d_k\": 3, \"d_v\": "
    "2, \"out_proj\": true, \"bias\": true} ";

static const struct torch_digest torch_rand[] = {
    {"wte.weight", 2833435244u},
    {"h.0.attn.q_proj.weight", 2406870497u},
    {"h.0.attn.k_proj.weight", 1748197286u},
    {"h.0.attn.v_proj.weight", 3969010445u},
    {"h.0.attn.out_proj.weight", 325794158u},
    {"h.1.attn.q_proj.weight", 1902609534u},
    {"h.1.attn.k_proj.weight", 679071884u},
    {"h.1.attn.v_proj.weight", 2512518548u},
    {"h.1.attn.out_proj.weight", 2246847443u},
};

/* nn.Linear, seed 14, a table of 11 rows. */
static const char torch_linear_config[] =
    "{\"model_type\": \"attention\", \"vocab_size\": 11, \"n_embd\": 12, "
    "\"n_layer\": 2, \"n_head\": 6, \"n_kv_head\": 2, \"d_k\": 3, \"d_v\": "
    "2, \"out_proj\": true, \"bias\": true} ";

static const struct torch_digest torch_linear[] = {
    {"wte.weight", 3206020263u},
    {"h.0.attn.q_proj.weight", 3814664881u},
    {"h.0.attn.q_proj.bias", 1428347819u},
    {"h.0.attn.k_proj.weight", 1611407773u},
    {"h.0.attn.k_proj.bias", 846772997u},
    {"h.0.attn.v_proj.weight", 3841733335u},
    {"h.0.attn.v_proj.bias", 3205813661u},
    {"h.0.attn.out_proj.weight", 3602694291u},
    {"h.0.attn.out_proj.bias", 1230483535u},
    {"h.1.attn.q_proj.weight", 4018147579u},
    {"h.1.attn.q_proj.bias", 2693353999u},
    {"h.1.attn.k_proj.weight", 2489395580u},
    {"h.1.attn.k_proj.bias", 655637214u},
    {"h.1.attn.v_proj.weight", 3590416043u},
    {"h.1.attn.v_proj.bias", 755149774u},
    {"h.1.attn.out_proj.weight", 1433294112u},
    {"h.1.attn.out_proj.bias", 1195740329u},
};

/* clang-format on */
