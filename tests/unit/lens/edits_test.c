/* Tests of the syntax of edits, and of their values from files and other texts. */
#include "lens/edits.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/memory_stream.h"
#include "../rigs/scratch.h"
#include "../rigs/small_models.h"
#include "lens/dictionary.h"
#include "model/layer.h"

static struct config config;
static struct arena arena;
static struct err err;
static struct edit_list list;
static struct viewer viewer;
static char asked[256], said[256];

static void enter(void)
{
    config = (struct config){0};
    arena = (struct arena){0};
    err = (struct err){0};
    viewer = (struct viewer){0};
    list = (struct edit_list){.config = &config, .arena = &arena};
    *asked = *said = '\0';
    scratch_enter();
}

static void leave(void)
{
    config_release(&config);
    viewer_release(&viewer);
    arena_release(&arena);
    scratch_leave();
}

FIXTURE(enter, leave)

/* clang-format off */
/* Layer 0 has experts, layer 1 has none; layers without attention. */
static const char small_experts[] =
    JSON({"model_type": "qwen3_moe", "vocab_size": 40, "hidden_size": 12, "num_hidden_layers": 2,
          "num_attention_heads": 3, "num_key_value_heads": 3, "head_dim": 4, "num_experts": 5,
          "num_experts_per_tok": 2, "moe_intermediate_size": 4, "intermediate_size": 8,
          "mlp_only_layers": [1]});
static const char small_states[] =
    JSON({"model_type": "mamba", "vocab_size": 40, "hidden_size": 12, "num_hidden_layers": 2,
          "state_size": 4, "conv_kernel": 2, "time_step_rank": 2, "intermediate_size": 24});
/* clang-format on */

static void use(const char *model)
{
    const struct folder_file file = {"config.json", model, strlen(model)};
    config_release(&config);
    ck_assert_msg(!config_open(&config, &(struct folder){"made", &file, 1}, &err) &&
                      !config_describe(&config, &err),
                  "%s", err.text);
    list = (struct edit_list){.config = &config, .arena = &arena};
}

static int add(enum edit_form form, const char *text)
{
    return edit_list_add(&list, form, text, &err);
}

static void added(const char *text)
{
    ck_assert_msg(!add(EDIT_WORDS, text), "%s", err.text);
}

/* The message of the failed call before. */
static void refused(int failed, const char *message)
{
    ck_assert_msg(failed == -1, "not refused: %s", message);
    ck_assert_msg(strstr(err.text, message), "'%s' lacks '%s'", err.text, message);
    err_clear(&err);
}

/* --- the edits of a text, in words ------------------------------------------------------------ */

static void put_indices(struct buf *out, const char *name, struct edit_indices indices)
{
    for (size_t i = 0; i < indices.count; i++) {
        const struct edit_range *range = &indices.items[i];
        buf_format(out, "%s%td", i ? "," : name, range->first);
        if (range->last == EDIT_PROMPT_END)
            buf_text(out, "-prompt");
        else if (range->last != range->first)
            buf_format(out, "_%td", range->last);
    }
}

static const char *described(void)
{
    static const char *const ops[] = {"=", "*", "take", "+", "project", "forbid"};
    static const char *const origins[] = {"", " mean", " resample", " from"};
    static char text[512];
    struct buf out = {0};
    for (size_t i = 0; i < list.edits.count; i++) {
        const struct edit *edit = &list.edits.items[i];
        const struct value_origin *value_origin = &list.value_origins[i];
        buf_format(&out, "%s%s %s", i ? "; " : "", site_name(edit->site), ops[edit->op]);
        if (edit->op != EDIT_TAKE && edit->op != EDIT_FORBID)
            buf_format(&out, " %g", edit->number);
        buf_text(&out, origins[value_origin->origin]);
        if (value_origin->origin == EDIT_RESAMPLE)
            buf_format(&out, " %ju", (uintmax_t)value_origin->seed);
        put_indices(&out, " layer ", edit->layers);
        put_indices(&out, " head ", edit->heads);
        put_indices(&out, " row ", edit->tokens);
        put_indices(&out, " column ", edit->columns);
    }
    snprintf(text, sizeof text, "%s", out.bytes);
    buf_release(&out);
    return text;
}

static const struct {
    const char *model;
    enum edit_form form;
    const char *text, *edits;
} forms[] = {
    {small_gpt2, EDIT_WORDS, "h.1.context[head=2,token=-1] = 0",
     "context = 0 layer 1 head 2 row -1"},
    {small_gpt2, EDIT_WORDS, "resid_post[layer=0-1,channel=7]*0.5",
     "resid_post * 0.5 layer 0_1 column 7"},
    {small_gpt2, EDIT_WORDS, "resid_post[channel=-1,-3-] + -2", "resid_post + -2 column 11,9_11"},
    {small_gpt2, EDIT_WORDS, "weights = mean", "weights take mean"},
    {small_gpt2, EDIT_WORDS, "attn_out = resample:7", "attn_out take resample 7"},
    {small_gpt2, EDIT_WORDS, "mlp_out[token=3,1-] = from", "mlp_out take from row 3,1_-1"},
    {small_gpt2, EDIT_WORDS, "mlp_out[token=prompt] = 1", "mlp_out = 1 row 0-prompt"},
    {small_gpt2, EDIT_WORDS, "scores[token=1,key=0] = 2", "scores = 2 row 1 column 0"},
    {small_gpt2, EDIT_WORDS, "scores[query=1,key=0,3] = 2", "scores = 2 row 1 column 0,3"},
    {small_gpt2, EDIT_WORDS, " h.0,1.q [ head = 1 , 2 ] =0 ;ln_f* 2",
     "q = 0 layer 0,1 head 1,2; ln_f * 2"},
    {small_gpt2, EDIT_WORDS, "k[kv_head=1] = 0", "k = 0 head 1"}, /* each head has its own */
    {small_gpt2, EDIT_WORDS, "k[head=1] = 0", "k = 0 head 1"},
    {small_self, EDIT_WORDS, "v[kv_head=1] = 0", "v = 0 head 1"},
    {small_self, EDIT_WORDS, "q[head=5] = 0", "q = 0 head 5"},
    {small_encoder, EDIT_WORDS, "enc.1.resid_post = 0;h.0.cross_v*2",
     "enc.resid_post = 0 layer 1; cross_v * 2 layer 0"},
    {small_experts, EDIT_WORDS, "router[expert=4] = 0", "router = 0 column 4"},
    {small_experts, EDIT_WORDS, "h.0-1.router = 0", "router = 0 layer 0_1"},
    {small_gpt2, EDIT_ABLATION, "0.1,1.0",
     "context = 0 layer 0 head 1; context = 0 layer 1 head 0"},
    {small_gpt2, EDIT_ABLATION, "-1", "context = 0 layer 1"}, /* all heads */
    {small_gpt2, EDIT_ABLATION, "0-1.2=mean", "context take mean layer 0_1 head 2"},
    {small_gpt2, EDIT_ABLATION, "0.0=-1", "context = -1 layer 0 head 0"},
    {small_gpt2, EDIT_ABLATION, "L0H1,l1h0-1,L1",
     "context = 0 layer 0 head 1; context = 0 layer 1 head 0_1; context = 0 layer 1"},
    {small_self, EDIT_ABLATION, "L0KV1", "context = 0 layer 0 head 3_5"},
    {small_gpt2, EDIT_WORDS, "q[head=L1H2,L1H0] = 0", "q = 0 layer 1 head 2,0"},
    {small_self, EDIT_WORDS, "k[kv_head=L0KV1] = 0", "k = 0 layer 0 head 1"},
    {small_gpt2, EDIT_KNOCKOUT, "L1H2:-1:2", "masked forbid layer 1 head 2 row -1 column 2"},
    {small_gpt2, EDIT_KNOCKOUT, "4:2", "masked forbid row 4 column 2"},
    {small_gpt2, EDIT_KNOCKOUT, "1:4:0-2", "masked forbid layer 1 row 4 column 0_2"},
    {small_gpt2, EDIT_KNOCKOUT, "1.2:-1:2, 0:0",
     "masked forbid layer 1 head 2 row -1 column 2; masked forbid row 0 column 0"},
    {small_gpt2, EDIT_KNOCKOUT, "0-2:2", "masked forbid row 0_2 column 2"}, /* for the last query */
    {small_self, EDIT_KNOCKOUT, "0:2", "masked forbid row 0 column 2"},     /* not causal */
    {small_cross, EDIT_KNOCKOUT, "0:2", "masked forbid row 0 column 2"},    /* of another text */
};

TEST_LOOP(a_text_of_the_command_line_becomes_edits, COUNT(forms))
{
    use(forms[_i].model);
    ck_assert_msg(!add(forms[_i].form, forms[_i].text), "%s", err.text);
    ck_assert_str_eq(described(), forms[_i].edits);
    ck_assert(!list.by_text);
}

TEST(edits_follow_those_before_and_have_their_words)
{
    use(small_gpt2);
    ck_assert_uint_eq(list.origins, 0);
    added("q = 0; k = mean");
    ck_assert(!add(EDIT_ABLATION, "0.1"));
    ck_assert_uint_eq(list.edits.count, 3);
    ck_assert_str_eq(list.edits.items[0].words, "--edit 'q = 0'");
    ck_assert_str_eq(list.edits.items[1].words, "--edit ' k = mean'");
    ck_assert_str_eq(list.edits.items[2].words, "--ablate '0.1'");
    ck_assert_uint_eq(list.origins, 1u << EDIT_NUMBER | 1u << EDIT_MEAN);
}

/* An edit that no layer could apply would change nothing, and say nothing. */
TEST(edits_that_would_change_nothing_are_refused)
{
    static const struct {
        const char *model;
        enum edit_form form;
        const char *text, *message;
    } cases[] = {
        {small_experts, EDIT_WORDS, "h.1.router = 0",
         "--edit 'h.1.router = 0': layer 1 has no 'router'"},
        {small_experts, EDIT_WORDS, "router[layer=1] = 0", "layer 1 has no 'router'"},
        {small_states, EDIT_KNOCKOUT, "2:1",
         "--knockout '2:1': a model of type \"mamba\" has no 'masked'"},
        {small_gpt2, EDIT_KNOCKOUT, "1:2",
         "expected a key no later than the query, which cannot attend to others, found '1:2'"},
        {small_gpt2, EDIT_KNOCKOUT, "-2:-1", "found '-2:-1'"},
        {small_gpt2, EDIT_KNOCKOUT, "0.1", "--ablate L1H3 removes a head"},
        {small_gpt2, EDIT_WORDS, "entropy = 0", "found 'entropy'"},
        {small_gpt2, EDIT_WORDS, "h.0.ln_f = 0",
         "expected 'ln_f' without a layer, since no layer contains it"},
        {small_gpt2, EDIT_WORDS, "q[head=0,token=1,head=2] = 0",
         "expected each head once, found it again: head=2"},
        {small_gpt2, EDIT_WORDS, "h.0.q[layer=1] = 0", "expected each layer once"},
        {small_gpt2, EDIT_WORDS, "q[head=L0H1,L1H1] = 0", "expected heads of the same layers"},
        {small_gpt2, EDIT_ABLATION, "L0H9", "expected heads such as L1H3, L1H0-3 or L1, with"},
        {small_self, EDIT_WORDS, "k[kv_head=L0H1] = 0", "kv_head: expected numbers from 0 to 1"},
        {small_self, EDIT_WORDS, "k[head=5] = 0",
         "expected kv_head=1, since 'k' of head 5 is kv_head 1, shared by heads 3-5, found head=5"},
        {small_self, EDIT_WORDS, "k[kv_head=2] = 0", "kv_head: expected numbers from 0 to 1"},
        {small_gpt2, EDIT_WORDS, "scores * mean", "expected a number after '*', found 'mean'"},
        {small_gpt2, EDIT_WORDS, "q + resample:1", "found 'resample:1'"},
        {small_gpt2, EDIT_WORDS, "q = nan", "found 'nan'"},
        {small_gpt2, EDIT_WORDS, "q[channel=@dog] = 0", "found '@dog'"},
        {small_gpt2, EDIT_WORDS, "q = 0;", "--edit '': expected SITE[POSITIONS] = VALUE"},
        {small_gpt2, EDIT_WORDS, "features = 0", "expected --sae DIR"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        use(cases[i].model);
        refused(add(cases[i].form, cases[i].text), cases[i].message);
    }
}

static void note(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(said, sizeof said, format, values);
    va_end(values);
}

TEST(a_site_may_have_a_name_of_another_program)
{
    use(small_gpt2);
    list.note = note;
    added("blocks.1.attn.hook_z[head=0] = 0");
    ck_assert_str_eq(described(), "context = 0 layer 1 head 0");
    ck_assert_str_eq(said, "'blocks.1.attn.hook_z' is 'h.1.context' here");
}

/* --- positions by name, and of rows ----------------------------------------------------------- */

/* Return tokens 4-5 and 7 for any position, and record what was asked. */
static const char *tokens_of(void *context, bool of_source, const char *position, size_t size)
{
    (void)context;
    snprintf(asked + strlen(asked), sizeof asked - strlen(asked), "%s%.*s ",
             of_source ? "source " : "", (int)size, position);
    return "4-5,7";
}

TEST(positions_by_name_are_those_of_the_text_of_their_axis)
{
    static const struct {
        const char *model;
        bool of_rows;
        enum edit_form form;
        const char *text, *asked, *edits;
    } cases[] = {
        {small_gpt2, false, EDIT_WORDS, "q[token=@dog,1] = 0", "@dog ", "q = 0 row 4_5,7,1"},
        {small_gpt2, true, EDIT_WORDS, "q[head=1,token=2-] = 0", "2- ", "q = 0 head 1 row 4_5,7"},
        {small_gpt2, true, EDIT_WORDS, "q[token=prompt,channel=2] = 0", "",
         "q = 0 row 0-prompt column 2"},
        {small_gpt2, false, EDIT_KNOCKOUT, "@a:@b", "@a @b ",
         "masked forbid row 4_5,7 column 4_5,7"},
        {small_gpt2, false, EDIT_KNOCKOUT, "L1H2:the/2:dog", "the/2 dog ",
         "masked forbid layer 1 head 2 row 4_5,7 column 4_5,7"},
        {small_encoder, false, EDIT_WORDS, "weights[token=@a,key=@b] = 0", "@a @b ",
         "weights = 0 row 4_5,7 column 4_5,7"},
        {small_encoder, false, EDIT_WORDS, "cross_weights[query=@a,key=@b] = 0", "@a source @b ",
         "cross_weights = 0 row 4_5,7 column 4_5,7"},
        {small_encoder, false, EDIT_WORDS, "cross_k[token=@a] = 0", "source @a ",
         "cross_k = 0 row 4_5,7"},
        {small_encoder, false, EDIT_WORDS, "enc.weights[query=@a,key=@b] = 0",
         "source @a source @b ", "enc.weights = 0 row 4_5,7 column 4_5,7"},
        {small_encoder, false, EDIT_KNOCKOUT, "@a:0", "@a ", "masked forbid row 4_5,7 column 0"},
        {small_cross, false, EDIT_WORDS, "v[token=@a] = 0", "source @a ", "v = 0 row 4_5,7"},
        {small_cross, false, EDIT_WORDS, "q[token=@a] = 0", "@a ", "q = 0 row 4_5,7"},
        {small_cross, false, EDIT_KNOCKOUT, "@a:@b", "@a source @b ",
         "masked forbid row 4_5,7 column 4_5,7"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        use(cases[i].model);
        list.of_rows = cases[i].of_rows;
        list.tokens_of = tokens_of;
        *asked = '\0';
        ck_assert_msg(!add(cases[i].form, cases[i].text), "%s", err.text);
        ck_assert_str_eq(asked, cases[i].asked);
        ck_assert_str_eq(described(), cases[i].edits);
        ck_assert_int_eq(list.by_text, *asked != '\0');
    }
}

/* Before a text is read, a name is any token, and the order of query and key is not known. */
TEST(without_a_text_positions_by_name_are_only_checked)
{
    use(small_gpt2);
    ck_assert(!add(EDIT_KNOCKOUT, "@a:2"));
    ck_assert_str_eq(described(), "masked forbid row 0 column 2");
    ck_assert(list.by_text);
    use(small_gpt2);
    list.of_rows = true;
    added("q[token=1] = 0");
    ck_assert(list.by_text);
    refused(add(EDIT_WORDS, "q[token=2-1] = 0"), "token: expected positions such as 2, -1 or 0-3");
}

/* Of tokens 4-5 and 7 the last attends to token 6. */
TEST(a_key_is_refused_only_if_no_query_attends_to_it)
{
    use(small_gpt2);
    list.tokens_of = tokens_of;
    ck_assert_msg(!add(EDIT_KNOCKOUT, "@a:6"), "%s", err.text);
    ck_assert_msg(!add(EDIT_KNOCKOUT, "6:@a"), "%s", err.text);
    refused(add(EDIT_KNOCKOUT, "@a:8"), "expected a key no later than the query");
    refused(add(EDIT_KNOCKOUT, "3:@a"), "expected a key no later than the query");
}

/* --- values of files and of the caller -------------------------------------------------------- */

enum { CHANNELS = 12, HEADS = 3 }; /* of small_gpt2 */

/* Numbers from 0 on, as an array in the current folder. */
static void write_npy(const char *name, size_t rank, const size_t *shape)
{
    struct stream out = {0};
    size_t count = 1;
    for (size_t i = 0; i < rank; i++)
        count *= shape[i];
    memory_stream_open(&out);
    npy_begin(&out, rank, shape);
    for (size_t i = 0; i < count; i++)
        stream_bytes(&out, &(float){(float)i}, sizeof(float));
    struct file made = memory_stream_take(&out);
    FILE *file = fopen(name, "wb");
    ck_assert_uint_eq(fwrite(made.bytes, 1, made.size, file), made.size);
    ck_assert_int_eq(fclose(file), 0);
    file_release(&made);
}

/* The value of the last edit's source; of sites without heads, head is 0. */
static float value_of(size_t layer, size_t head, size_t token, size_t channel)
{
    const struct tensor *v = &list.edits.items[list.edits.count - 1].donor->values[layer];
    const size_t at[] = {head, token, channel}, *index = at + 3 - v->rank;
    size_t offset = 0;
    for (size_t i = 0; i < v->rank; i++)
        offset += index[i] * v->stride[i];
    return v->data[offset];
}

TEST(a_file_is_for_all_tokens_or_each_and_one_head_or_each)
{
    static const struct {
        const char *site;
        size_t rank, shape[4];
        size_t longest; /* 0: refused */
        float last;     /* of head 2, token 1, channel 3 */
    } cases[] = {
        {"resid_post", 0, {0}, SIZE_MAX, 0},
        {"resid_post", 1, {CHANNELS}, SIZE_MAX, 3},
        {"resid_post", 2, {1, CHANNELS}, SIZE_MAX, 3},
        {"resid_post", 2, {2, CHANNELS}, 2, CHANNELS + 3},
        {"resid_post", 3, {1, 2, CHANNELS}, 2, CHANNELS + 3}, /* a batch of one */
        {"resid_post", 3, {2, 2, CHANNELS}, 0, 0},
        {"resid_post", 1, {CHANNELS - 1}, 0, 0},
        {"resid_post", 2, {CHANNELS, 1}, 0, 0},
        {"q", 1, {4}, SIZE_MAX, 3},
        {"q", 2, {2, 4}, 2, 7},
        {"q", 3, {HEADS, 2, 4}, 2, 2 * 8 + 7},
        {"q", 3, {HEADS, 1, 4}, SIZE_MAX, 2 * 4 + 3},
        {"q", 3, {1, 2, 4}, 2, 7},
        {"q", 4, {1, HEADS, 2, 4}, 2, 2 * 8 + 7},
        {"q", 3, {2, 2, 4}, 0, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[64];
        use(small_gpt2);
        write_npy("x.npy", cases[i].rank, cases[i].shape);
        snprintf(text, sizeof text, "h.1.%s = x.npy", cases[i].site);
        if (!cases[i].longest) {
            refused(add(EDIT_WORDS, text), "': 'x.npy': expected a shape of [");
            continue;
        }
        added(text);
        const struct edit *edit = list.edits.items;
        ck_assert_int_eq(edit->op, EDIT_TAKE);
        ck_assert_msg(edit->donor->longest == cases[i].longest && edit->donor->exact, "%zu", i);
        ck_assert_uint_eq(edit->donor->count, 1);
        float found = value_of(1, 2, 1, 3);
        ck_assert_msg(found == cases[i].last, "%zu: %g", i, found);
        ck_assert_ptr_null(edit->donor->values[0].data); /* the edit is of layer 1 */
    }
}

TEST(a_file_may_be_multiplied_or_projected)
{
    const size_t shape[] = {CHANNELS};
    write_npy("v.npy", 1, shape);
    use(small_gpt2);
    added("resid_post[token=prompt] + -4*v.npy; resid_post + v.npy; resid_post - proj(v.npy)");
    ck_assert_str_eq(described(), "resid_post + -4 row 0-prompt; resid_post + 1; "
                                  "resid_post project 1");
    ck_assert(value_of(0, 0, 5, 11) == 11 && value_of(1, 0, 5, 11) == 11);
    refused(add(EDIT_WORDS, "resid_post + x*v.npy"), "expected NUMBER * FILE, found 'x*v.npy'");
    refused(add(EDIT_WORDS, "resid_post = 2*v.npy"), "'2*v.npy'");
    refused(add(EDIT_WORDS, "resid_post * v.npy"), "expected a number after '*'");
    refused(add(EDIT_WORDS, "resid_post - proj(3)"), "expected - proj(FILE.npy), a vector");
    refused(add(EDIT_WORDS, "resid_post[channel=1] - proj(v.npy)"), "found some channels");
    refused(add(EDIT_WORDS, "weights = v.npy"), "applies only to tensors with channels");
}

TEST(a_file_of_layers_is_for_those_that_it_has)
{
    static const float numbers[CHANNELS] = {[3] = 5};
    const size_t shape[] = {CHANNELS};
    const struct safetensors_tensor tensors[] = {{"h.1.resid_post", 1, shape, numbers},
                                                 {"other", 1, shape, numbers}};
    struct file made = memory_safetensors(tensors, COUNT(tensors), NULL, 0);
    FILE *file = fopen("v.safetensors", "wb");
    ck_assert_uint_eq(fwrite(made.bytes, 1, made.size, file), made.size);
    ck_assert_int_eq(fclose(file), 0);
    file_release(&made);
    use(small_gpt2);
    added("resid_post + v.safetensors");
    ck_assert_str_eq(described(), "resid_post + 1 layer 1");
    ck_assert(value_of(1, 0, 9, 3) == 5);
    added("mlp_out = v.safetensors:other");
    ck_assert_str_eq(described(), "resid_post + 1 layer 1; mlp_out take layer 0,1");
    ck_assert(value_of(0, 0, 9, 3) == 5);
    refused(add(EDIT_WORDS, "h.0.resid_post + v.safetensors"),
            "'v.safetensors': expected a tensor for layer 0, found none");
    refused(add(EDIT_WORDS, "mlp_out + v.safetensors"),
            "'v.safetensors': expected tensors named like 'mlp_out', found none");
    refused(add(EDIT_WORDS, "mlp_out + v.safetensors:h"),
            "'v.safetensors': expected a tensor 'h', found none");
    refused(add(EDIT_WORDS, "mlp_out + none.safetensors"), "cannot open");
    refused(add(EDIT_WORDS, "resid_post + none.gguf"), "cannot open 'none.gguf'");
    refused(add(EDIT_WORDS, "q + none.gguf"),
            "a control vector is added to resid_post, not to 'q'");
}

static void nothing(void *context, const struct edit_block *block)
{
    (void)context;
    (void)block;
}

TEST(a_value_of_the_caller_is_found_by_its_name)
{
    static const float numbers[CHANNELS] = {[3] = 5}, wrong[CHANNELS] = {[1] = INFINITY};
    const struct edit_value values[] = {{"steer", {1, {CHANNELS}, numbers}, NULL, NULL},
                                        {"mean", {1, {CHANNELS}, numbers}, NULL, NULL},
                                        {"wrong", {1, {CHANNELS}, wrong}, NULL, NULL},
                                        {"f", {0}, nothing, asked}};
    use(small_gpt2);
    list.values = (struct edit_values){values, COUNT(values)};
    added("resid_post = steer; h.0.resid_post + 2*steer; weights = f");
    ck_assert_str_eq(described(), "resid_post take; resid_post + 2 layer 0; weights take");
    const struct edit *last = &list.edits.items[2];
    ck_assert(last->function == nothing && last->context == asked && !last->donor);
    added("resid_post = mean"); /* the caller's, not that of texts */
    ck_assert(value_of(0, 0, 0, 3) == 5);
    ck_assert_uint_eq(list.origins, 1u << EDIT_NUMBER);
    refused(add(EDIT_WORDS, "resid_post + f"), "expected SITE = f, a function");
    refused(add(EDIT_WORDS, "resid_post - proj(f)"), "found a function");
    refused(add(EDIT_WORDS, "resid_post = wrong"),
            "tensor 'wrong': expected finite numbers, found infinity or nan at 1");
    refused(add(EDIT_WORDS, "resid_post = other"), "found 'other'");
}

static int name_file(void *context, const char *path, struct err *unused)
{
    (void)context;
    (void)unused;
    snprintf(said + strlen(said), sizeof said - strlen(said), "%s ", path);
    return 0;
}

TEST(files_of_edits_are_listed)
{
    static const struct {
        const char *edit, *files;
    } cases[] = {
        {"resid_post + 4*a.npy;q = d/b.safetensors:x; v = 0;mlp_out - proj(c.npy)",
         "a.npy d/b.safetensors c.npy "},
        {"q[token=-1] + v.gguf", "v.gguf "},
        {"9.6=x.npy", "x.npy "},
        {"q * a.npy", ""}, /* no value */
        {"q = mean", ""},
        {"", ""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        *said = '\0';
        ck_assert(!edit_files(cases[i].edit, name_file, NULL, &arena, &err));
        ck_assert_str_eq(said, cases[i].files);
    }
}

/* --- features --------------------------------------------------------------------------------- */

TEST(an_edit_of_features_is_one_for_each_dictionary)
{
    struct dictionary dictionaries[2];
    struct dictionary_request request;
    ck_assert_msg(!viewer_open(&viewer, "tiny", 1, &err), "%s", err.text);
    for (size_t i = 0; i < 2; i++)
        ck_assert_msg(!dictionary_request_read(&request, "demo", &arena, &err) &&
                          !dictionary_open(&dictionaries[i], &request, &viewer.model.config, &err),
                      "%s", err.text);
    list.config = &viewer.model.config;
    list.dictionaries = dictionaries;
    list.dictionary_count = 2;
    added("features[feature=27,token=-1] = 3");
    ck_assert_uint_eq(list.edits.count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct edit *edit = &list.edits.items[i];
        const struct feature_edit *own = edit->context;
        ck_assert(edit->function == feature_edit_apply && edit->site == dictionaries[i].site);
        ck_assert_int_eq(edit->layers.items->first, (ptrdiff_t)dictionaries[i].layer);
        ck_assert_int_eq(edit->tokens.items->first, -1);
        ck_assert(own->dictionary == &dictionaries[i] && own->features.items->first == 27);
        ck_assert(own->op == EDIT_SET && own->number == 3 && !own->decoded);
    }
    list.dictionary_count = 1;
    added("features * 0.5; features[feature=0] + 2; features = decoded; features = mean; "
          "features[feature=1-2] = from");
    static const enum edit_op ops[] = {EDIT_SCALE, EDIT_ADD, EDIT_SET, EDIT_TAKE, EDIT_TAKE};
    for (size_t i = 0; i < COUNT(ops); i++) {
        const struct feature_edit *own = list.edits.items[2 + i].context;
        ck_assert_int_eq(own->op, ops[i]);
        ck_assert_int_eq(own->decoded, i == 2);
        ck_assert_int_eq(own->is_mean, i == 3);
    }
    ck_assert_uint_eq(list.origins, 1u << EDIT_NUMBER | 1u << EDIT_RESAMPLE | 1u << EDIT_FROM);
    refused(add(EDIT_WORDS, "features[feature=1] = decoded"), "without features");
    refused(add(EDIT_WORDS, "features[channel=1] = 0"), "expected one of token, feature");
    refused(add(EDIT_WORDS, "features + mean"), "expected a number after '+', found 'mean'");
    refused(add(EDIT_WORDS, "resid_post + demo#9999999"), "found #9999999");
    for (size_t i = 0; i < 2; i++)
        dictionary_release(&dictionaries[i]);
}

/* --- values of other texts -------------------------------------------------------------------- */

enum { TEXTS = 3 };

static const char *const texts[TEXTS] = {"3,1,4,1", "5,9", "2,6,5"};
static struct text_with_source pairs[TEXTS];
static struct report reports[TEXTS];

/* Open a model, read the texts, and capture mlp_out of both layers of each alone. */
static void read_texts(void)
{
    static struct selection selection;
    ck_assert_msg(!viewer_open(&viewer, "tiny", 1, &err), "%s", err.text);
    const struct config *c = &viewer.model.config;
    ck_assert(!selection_sites(&selection, "mlp_out", c, &err) &&
              !selection_layers(&selection, NULL, c, &arena, &err));
    for (size_t i = 0; i < TEXTS; i++) {
        const struct input input = {.ids = texts[i]};
        const struct capture_request request = {&selection, &pairs[i], 1, 0, &reports[i], NULL};
        ck_assert(!viewer_read(&viewer, &pairs[i], &input, NULL, &arena, &err) &&
                  !viewer_capture(&viewer, &request, &arena, &err));
    }
    list = (struct edit_list){.config = c, .arena = &arena};
}

/* mlp_out of a text by itself. */
static float plain(size_t text, size_t layer, size_t token, size_t channel)
{
    const struct array *array = report_find(&reports[text], SITE_MLP_OUT, layer);
    return array->data[token * array->columns.size + channel];
}

static float filled(size_t edit, size_t layer, size_t text, size_t token, size_t channel)
{
    const struct edit_donor *donor = list.edits.items[edit].donor;
    const struct tensor *v = &donor->values[layer * donor->count + text];
    return v->data[token * v->stride[0] + channel * v->stride[1]];
}

static void fill(const struct edit_texts *of)
{
    ck_assert_msg(!edit_list_fill(&list, &viewer, of, &err), "%s", err.text);
}

TEST(values_of_texts_are_those_without_edits)
{
    const struct edit_texts of = {pairs, 2, &pairs[2]};
    struct edit_range all = {0, -1};
    const struct edit other = {.site = SITE_EMBEDDING, .op = EDIT_SET, .tokens = {&all, 1}};
    const struct edits others = {.items = &other, .count = 1};
    read_texts();
    added("h.1.mlp_out = mean; mlp_out = resample:7; mlp_out[layer=0] = from; mlp_out * 2");
    viewer.edits = &others;
    fill(&of);
    ck_assert_ptr_eq(viewer.edits, &others);
    const struct edit *edits = list.edits.items;
    ck_assert(filled(0, 1, 0, 1, 5) == (plain(0, 1, 1, 5) + plain(1, 1, 1, 5)) / 2);
    ck_assert(filled(0, 1, 0, 3, 5) == plain(0, 1, 3, 5)); /* the other text is shorter */
    ck_assert(edits[0].donor->longest == 4 && edits[0].donor->count == 1);
    for (size_t layer = 0; layer < 2; layer++)
        for (size_t text = 0; text < 2; text++)
            ck_assert(filled(1, layer, text, 1, 5) == plain(text, layer, 1, 5));
    ck_assert(edits[1].donor->count == 2 && edits[1].donor->seed == 7 && !edits[1].donor->exact);
    ck_assert(filled(2, 0, 0, 2, 5) == plain(2, 0, 2, 5));
    ck_assert(edits[2].donor->exact && edits[2].donor->longest == 3);
    ck_assert_ptr_null(edits[3].donor);
}

TEST(lists_of_the_same_key_share_the_values_of_all_layers)
{
    const struct edit_texts of = {pairs, 2, NULL}, none = {0};
    struct edit_store store = {0};
    read_texts();
    list.store = &store;
    list.key = "a";
    added("h.0.mlp_out = mean");
    ck_assert(!edit_list_is_stored(&list));
    fill(&of);
    ck_assert(edit_list_is_stored(&list));
    list = (struct edit_list){
        .config = &viewer.model.config, .arena = &arena, .store = &store, .key = "a"};
    added("h.1.mlp_out[token=0] = mean; q = 0");
    ck_assert(edit_list_is_stored(&list));
    fill(&none); /* runs no text */
    ck_assert(filled(0, 1, 0, 1, 5) == (plain(0, 1, 1, 5) + plain(1, 1, 1, 5)) / 2);
    list.key = "b";
    ck_assert(!edit_list_is_stored(&list));
    list.key = "a";
    added("mlp_out = from"); /* of another origin */
    ck_assert(!edit_list_is_stored(&list));
    struct edit_list same = {.config = list.config, .arena = &arena, .like = &list};
    ck_assert(!edit_list_add(&same, EDIT_WORDS, "h.1.mlp_out[token=1] = mean", &err));
    ck_assert_ptr_eq(same.edits.items[0].donor, list.edits.items[0].donor);
    edit_store_release(&store);
    ck_assert_uint_eq(store.count, 0);
}
