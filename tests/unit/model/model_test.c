#include "model/model.h"

#include <string.h>
#include <sys/stat.h>

#include "../unit.h"
#include "../rigs/family_sites.h"
#include "../rigs/scratch.h"
#include "base/heap.h"

static struct folder folder;
static struct arena arena;
static struct err err;

static void find(const char *name)
{
    err = (struct err){0};
    ck_assert_msg(!model_find(&folder, name, &arena, &err), "%s", err.text);
}

static void enter(void)
{
    scratch_enter();
    setenv("HF_HUB_CACHE", "hub", 1);
    unsetenv("ATTN_MODEL_PATH");
}

static void leave(void)
{
    arena_release(&arena);
    scratch_leave();
}

FIXTURE(enter, leave)

TEST(no_name_finds_the_default_model)
{
    find(NULL);
    ck_assert_str_eq(folder.path, bundled_default);
    ck_assert_ptr_nonnull(folder.files);
}

TEST(a_bundled_name_counts_more_than_a_directory)
{
    ck_assert_int_eq(mkdir("life", 0777), 0);
    find("life");
    ck_assert_ptr_nonnull(folder.files);
    find("./life");
    ck_assert_ptr_null(folder.files);
    ck_assert_str_eq(folder.path, "./life");
}

/* All names of the table stand in the message. */
static void expect_refusal(const char *name, const char *found)
{
    char list[1024] = "";
    char expected[2048];
    for (size_t i = 0; i < bundled_count; i++) {
        strcat(list, i ? ", " : "");
        strcat(list, bundled_models[i].path);
    }
    snprintf(expected, sizeof expected,
             "'%s': expected a model directory or a bundled model (%s), found %s", name, list,
             found);
    err = (struct err){0};
    ck_assert_int_eq(model_find(&folder, name, &arena, &err), -1);
    ck_assert_str_eq(err.text, expected);
    ck_assert_int_eq(err.kind, ERR_INPUT);
}

TEST(what_is_neither_is_refused_with_the_names_there_are)
{
    scratch_write("file", "");
    expect_refusal("nowhere", "nothing");
    expect_refusal("", "nothing");
    expect_refusal("Tiny", "nothing: did you mean 'tiny'?");
    expect_refusal("file", "a file");
    expect_refusal("./file", "a file");
}

TEST(of_a_model_s_file_its_folder_is_meant)
{
    static const char *const files[] = {"config.json", "model.safetensors",
                                        "pytorch_model.bin.index.json"};
    ck_assert_int_eq(mkdir("folder", 0777), 0);
    scratch_write("file", "");
    scratch_write("folder/file", "");
    for (size_t i = 0; i < COUNT(files); i++) {
        char inside[64];
        expect_refusal("folder/file", "a file");
        snprintf(inside, sizeof inside, "folder/%s", files[i]);
        scratch_write(inside, "");
        expect_refusal("folder/file", "a file: did you mean 'folder', which it is in?");
        ck_assert_int_eq(remove(inside), 0);
        scratch_write(files[i], "");
        expect_refusal("file", "a file: did you mean '.', which it is in?");
        ck_assert_int_eq(remove(files[i]), 0);
    }
}

TEST(every_bundled_model_opens)
{
    for (size_t i = 0; i < bundled_count; i++) {
        struct model model;
        err = (struct err){0};
        ck_assert_msg(!model_open(&model, bundled_models[i].path, &err), "%s", err.text);
        ck_assert_str_eq(model.name, bundled_models[i].path);
        ck_assert_uint_ge(model.config.vocab_size, 1);
        model_release(&model);
    }
}

TEST(the_default_model_knows_its_name)
{
    struct model model;
    ck_assert_int_eq(model_open(&model, NULL, NULL), 0);
    ck_assert_str_eq(model.name, bundled_default);
    model_release(&model);
    ck_assert_ptr_null(model.name);
    model_release(&model);
}

TEST(a_directory_is_a_model_when_its_files_are)
{
    struct model model;
    ck_assert_int_eq(mkdir("mine", 0777), 0);
    err = (struct err){0};
    ck_assert_int_eq(model_open(&model, "mine", &err), -1);
    ck_assert_str_eq(err.text, "cannot open 'mine/config.json': No such file or directory");
    scratch_write("mine/config.json", "{\"model_type\":\"gpt2\"}");
    err = (struct err){0};
    ck_assert_int_eq(model_open(&model, "mine", &err), -1);
    ck_assert_str_eq(err.text,
                     "'mine': expected model.safetensors or pytorch_model.bin, found neither");
    ck_assert_ptr_null(model.name);
}

TEST(without_memory_nothing_is_held)
{
    int failed = -1;
    for (size_t nth = 1; failed; nth++) {
        struct model model;
        err = (struct err){0};
        heap_fail_at(nth, 0);
        failed = model_open(&model, "tiny", &err);
        heap_fail_at(0, 0);
        ck_assert(!failed || strstr(err.text, "out of memory"));
        ck_assert(failed || nth > 5);
        model_release(&model);
    }
}

TEST(bare_attention_has_no_sites_of_a_transformer_block)
{
    static const struct config gpt2 = {.kind = MODEL_GPT2, .norm_in = true, .final_norm = true};
    static const struct config attention = {.kind = MODEL_ATTENTION};
    static const struct config cross = {.kind = MODEL_ATTENTION, .cross = true};
    static const enum site shared[] = {SITE_EMBEDDING, SITE_Q,       SITE_K,
                                       SITE_V,         SITE_SCORES,  SITE_MASKED,
                                       SITE_WEIGHTS,   SITE_CONTEXT, SITE_ATTN_OUT};
    for (int site = 0; site < SITE_COUNT; site++) {
        bool is_shared = false;
        for (size_t i = 0; i < COUNT(shared); i++)
            is_shared |= (int)shared[i] == site;
        bool of_source = site == SITE_SOURCE_EMBEDDING;
        bool of_sentence = site_rows[site].part == PART_SENTENCE;
        ck_assert_int_eq(site_exists(&gpt2, (enum site)site),
                         of_sentence && site != SITE_SOFTMAX && !is_family_site(site));
        ck_assert_int_eq(site_exists(&attention, (enum site)site), is_shared);
        ck_assert_int_eq(site_exists(&cross, (enum site)site), is_shared || of_source);
    }
}

TEST(a_mechanism_brings_sites_and_takes_others_away)
{
    struct config gpt2 = {.kind = MODEL_GPT2, .norm_in = true, .final_norm = true};
    gpt2.mechanism.without = 1U << PART_MLP | 1U << PART_NORM;
    for (int site = 0; site < SITE_COUNT; site++) {
        bool of_mlp = site == SITE_LN_2 || site == SITE_MLP_ACT || site == SITE_MLP_OUT;
        bool expected = !of_mlp && site != SITE_SOFTMAX && !is_family_site(site) &&
                        site_rows[site].part == PART_SENTENCE;
        ck_assert_int_eq(site_exists(&gpt2, (enum site)site), expected);
    }
    struct config attention = {.kind = MODEL_ATTENTION, .mechanism.renormalise = true};
    ck_assert(site_exists(&attention, SITE_SOFTMAX));
}

TEST(an_encoder_and_decoder_has_all_sites_but_norms_that_it_lacks)
{
    struct config config = {
        .kind = MODEL_TRANSFORMER, .n_encoder_layer = 1, .cross = true, .norm_in = true};
    for (int site = 0; site < SITE_COUNT; site++) {
        bool final = site == SITE_LN_F || site == SITE_ENC_LN_F;
        config.final_norm = true;
        bool other = site == SITE_SOFTMAX || is_family_site(site);
        ck_assert_int_eq(site_exists(&config, (enum site)site), !other);
        config.final_norm = false;
        ck_assert_int_eq(site_exists(&config, (enum site)site), !final && !other);
    }
}
