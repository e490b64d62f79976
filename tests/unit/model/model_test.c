#include "model/model.h"

#include <sys/stat.h>

#include "../unit.h"
#include "../rigs/scratch.h"
#include "base/replacement.h"

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

TEST(a_bundled_name_has_precedence_over_a_directory)
{
    ck_assert_int_eq(mkdir("life", 0777), 0);
    find("life");
    ck_assert_ptr_nonnull(folder.files);
    find("./life");
    ck_assert_ptr_null(folder.files);
    ck_assert_str_eq(folder.path, "./life");
}

/* A page with the model in it takes these files, and no other of the folder. */
TEST(a_model_lists_the_files_that_it_opened)
{
    static const char *const expected[] = {"config.json", "model.safetensors"};
    struct model model;
    struct target_folder target = {0};
    ck_assert_msg(!target_folder_open(&target, "m", false, &err) &&
                      !folder_save(bundled_find("life"), &target, NULL, &err),
                  "%s", err.text);
    target_folder_close(&target);
    scratch_write("m/credentials.json", "{\"key\": \"secret\"}");
    scratch_write("m/optimizer.safetensors", "");
    ck_assert_msg(!model_open(&model, "./m", &err), "%s", err.text);
    ck_assert_uint_eq(model.opened.list.count, COUNT(expected));
    for (size_t i = 0; i < COUNT(expected); i++)
        ck_assert_str_eq(model.opened.list.names[i], expected[i]);
    model_release(&model);
}

TEST(every_bundled_model_opens)
{
    static const char untrained[] = "life life-causal life-4-heads life-grouped life-cross journey "
                                    "journey-causal journey-seven nlp ";
    for (size_t i = 0; i < bundled_count; i++) {
        struct model model;
        err = (struct err){0};
        ck_assert_msg(!model_open(&model, bundled_models[i].path, &err), "%s", err.text);
        ck_assert_str_eq(model.name, bundled_models[i].path);
        ck_assert_uint_ge(model.config.vocab_size, 1);
        char name[32];
        snprintf(name, sizeof name, "%s ", model.name);
        ck_assert_int_eq(model_is_untrained(&model), strstr(untrained, name) != NULL);
        model_release(&model);
    }
}
