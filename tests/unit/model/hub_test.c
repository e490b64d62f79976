#include "model/hub.h"

#include <string.h>
#include <sys/stat.h>

#include "../unit.h"
#include "../rigs/scratch.h"

static struct arena arena;
static struct err err;
static const char *path;

#define ONE "1111111111111111111111111111111111111111"
#define TWO "2222222222222222222222222222222222222222"

static void make_folder(const char *name)
{
    ck_assert_int_eq(mkdir(name, 0777), 0);
}

/* A cache in `hub` with two models: one has two revisions, a tag and a pull request. */
static void enter(void)
{
    scratch_enter();
    arena = (struct arena){0};
    err = (struct err){0};
    path = NULL;
    setenv("HF_HUB_CACHE", "hub", 1);
    make_folder("hub");
    make_folder("hub/models--gpt2");
    make_folder("hub/models--gpt2/refs");
    make_folder("hub/models--gpt2/snapshots");
    make_folder("hub/models--gpt2/snapshots/" ONE);
    scratch_write("hub/models--gpt2/refs/main", ONE);
    make_folder("hub/models--a--b.c");
    make_folder("hub/models--a--b.c/refs");
    make_folder("hub/models--a--b.c/refs/refs");
    make_folder("hub/models--a--b.c/refs/refs/pr");
    make_folder("hub/models--a--b.c/snapshots");
    make_folder("hub/models--a--b.c/snapshots/" ONE);
    make_folder("hub/models--a--b.c/snapshots/" TWO);
    scratch_write("hub/models--a--b.c/refs/main", TWO "\n");
    scratch_write("hub/models--a--b.c/refs/step1", ONE);
    scratch_write("hub/models--a--b.c/refs/refs/pr/1", ONE);
    scratch_write("hub/models--a--b.c/refs/gone", "3333");
    scratch_write("hub/models--a--b.c/refs/empty", "");
    scratch_write("hub/models--a--b.c/refs/outside", "../../models--gpt2/snapshots/" ONE);
}

static void leave(void)
{
    arena_release(&arena);
    scratch_leave();
}

FIXTURE(enter, leave)

/* A name and its path (NULL: not found). */
static const struct find_row {
    const char *name, *path;
} finds[] = {
    {"a/b.c", "hub/models--a--b.c/snapshots/" TWO},
    {"a/b.c@main", "hub/models--a--b.c/snapshots/" TWO},
    {"a/b.c@step1", "hub/models--a--b.c/snapshots/" ONE},
    {"a/b.c@refs/pr/1", "hub/models--a--b.c/snapshots/" ONE},
    {"a/b.c@" ONE, "hub/models--a--b.c/snapshots/" ONE},
    {"gpt2", "hub/models--gpt2/snapshots/" ONE},
    {"gpt2@" ONE, "hub/models--gpt2/snapshots/" ONE},
    {"openai-community/gpt2", NULL},
    {"b.c", NULL},
    {"a/c", NULL},
    {"a--b.c", "hub/models--a--b.c/snapshots/" TWO},
    {"../a/b.c", NULL},
    {"a/b.c/d", NULL},
    {"a/b.c@../refs/main", NULL},
    {"a/b.c@", NULL},
    {"", NULL},
};

TEST_LOOP(a_name_is_found_as_the_snapshot_of_its_revision, COUNT(finds))
{
    ck_assert_msg(!hub_find(&path, finds[_i].name, &arena, &err), "%s", err.text);
    if (finds[_i].path)
        ck_assert_str_eq(path, finds[_i].path);
    else
        ck_assert_ptr_null(path);
}

static const struct find_row faults[] = {
    {"a/b.c@other", "'hub/models--a--b.c': expected revision 'other' in "
                    "'hub/models--a--b.c/snapshots/other', found nothing: 'hf download a/b.c "
                    "--revision other' gets it"},
    {"a/b.c@gone", "'hub/models--a--b.c': expected revision 'gone' in "
                   "'hub/models--a--b.c/snapshots/3333', found nothing: 'hf download a/b.c "
                   "--revision gone' gets it"},
    {"a/b.c@empty", "'hub/models--a--b.c/refs/empty': expected the name of a commit, found ''"},
    {"a/b.c@outside", "'hub/models--a--b.c/refs/outside': expected the name of a commit, found "
                      "'../../models--gpt2/snapshots/" ONE "'"},
};

TEST_LOOP(a_model_without_the_revision_is_an_error, COUNT(faults))
{
    ck_assert_int_eq(hub_find(&path, faults[_i].name, &arena, &err), -1);
    ck_assert_str_eq(err.text, faults[_i].path);
    ck_assert_ptr_null(path);
}

TEST(a_well_known_model_is_also_found_under_its_owner)
{
    ck_assert_int_eq(rename("hub/models--gpt2", "hub/models--openai-community--gpt2"), 0);
    ck_assert_int_eq(hub_find(&path, "gpt2", &arena, &err), 0);
    ck_assert_str_eq(path, "hub/models--openai-community--gpt2/snapshots/" ONE);
}

/* Names without an owner, and the model of the cache that they may mean. */
static const struct find_row owned[] = {
    {"b.c", "a/b.c"}, {"b.c@step1", "a/b.c@step1"},
    {"a/b.c", NULL},  {"b/b.c", NULL},
    {"b", NULL},      {"gpt2", NULL},
    {"", NULL},
};

TEST_LOOP(a_name_without_its_owner_is_known_from_the_cache, COUNT(owned))
{
    ck_assert_msg(!hub_find_owned(&path, owned[_i].name, &arena, &err), "%s", err.text);
    ck_assert_pstr_eq(path, owned[_i].path);
}

TEST(without_a_cache_no_owner_is_known)
{
    setenv("HF_HUB_CACHE", "none", 1);
    ck_assert(!hub_find_owned(&path, "b.c", &arena, &err));
    ck_assert_ptr_null(path);
}

/* Environment variables and the resulting path of the cache. */
static const struct where_row {
    const char *variables[3][2], *place;
} places[] = {
    {{{"HF_HUB_CACHE", "one"}, {"HUGGINGFACE_HUB_CACHE", "two"}, {"HF_HOME", "three"}}, "one"},
    {{{"HUGGINGFACE_HUB_CACHE", "two"}, {"HF_HOME", "three"}}, "two"},
    {{{"HF_HOME", "three"}, {"XDG_CACHE_HOME", "four"}}, "three/hub"},
    {{{"XDG_CACHE_HOME", "four"}, {"HOME", "five"}}, "four/huggingface/hub"},
    {{{"HOME", "five"}}, "five/.cache/huggingface/hub"},
    {{{"HF_HUB_CACHE", ""}, {"HF_HOME", "three"}}, "three/hub"},
    {{{"HF_HOME", "~/six"}, {"HOME", "five"}}, "five/six/hub"},
};

TEST_LOOP(environment_variables_set_the_path_of_the_cache, COUNT(places))
{
    const struct where_row *row = &places[_i];
    char command[256];
    unsetenv("HF_HUB_CACHE");
    unsetenv("HUGGINGFACE_HUB_CACHE");
    unsetenv("HF_HOME");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    for (size_t i = 0; i < 3 && row->variables[i][0]; i++)
        setenv(row->variables[i][0], row->variables[i][1], 1);
    snprintf(command, sizeof command, "mkdir -p %s && mv hub/models--gpt2 %s/", row->place,
             row->place);
    ck_assert_int_eq(system(command), 0);
    ck_assert_msg(!hub_find(&path, "gpt2", &arena, &err), "%s", err.text);
    snprintf(command, sizeof command, "%s/models--gpt2/snapshots/" ONE, row->place);
    ck_assert_ptr_nonnull(path);
    ck_assert_str_eq(path, command);
}

/* A text, the model of the Hub that it probably means, and its revision. */
static const char *const guesses[][3] = {
    {"openai-community/gpt2", "openai-community/gpt2", ""},
    {"gpt2", "openai-community/gpt2", ""},
    {"gpt2-medium", "openai-community/gpt2-medium", ""},
    {"distilgpt2", "distilbert/distilgpt2", ""},
    {"bert-base-uncased", "google-bert/bert-base-uncased", ""},
    {"bert-large-uncased-whole-word-masking-finetuned-squad@main",
     "google-bert/bert-large-uncased-whole-word-masking-finetuned-squad", "main"},
    {"roberta-base", "FacebookAI/roberta-base", ""},
    {"xlm-roberta-large", "FacebookAI/xlm-roberta-large", ""},
    {"distilbert-base-uncased", "distilbert/distilbert-base-uncased", ""},
    {"albert-base-v2", "albert/albert-base-v2", ""},
    {"t5-small", "google-t5/t5-small", ""},
    {"https://huggingface.co/camembert-base", "almanach/camembert-base", ""},
    {"https://huggingface.co/gpt2", "openai-community/gpt2", ""},
    {"https://huggingface.co/gpt2/tree/main", "openai-community/gpt2", ""},
    {"http://www.huggingface.co/roneneldan/TinyStories-1M/", "roneneldan/TinyStories-1M", ""},
    {"hf.co/a/b.c_d", "a/b.c_d", ""},
    {"EleutherAI/pythia-70m@step3000", "EleutherAI/pythia-70m", "step3000"},
    {"./gpt2", "openai-community/gpt2", ""},
};

TEST_LOOP(every_form_of_a_name_of_the_hub_is_recognised, COUNT(guesses))
{
    struct hub_name name;
    ck_assert(hub_guess(&name, guesses[_i][0]));
    ck_assert_str_eq(name.model, guesses[_i][1]);
    ck_assert_str_eq(name.revision, guesses[_i][2]);
}

TEST(paths_are_not_names_of_the_hub)
{
    static const char *const cases[] = {
        "",   "life",        "./gpt3", "./a/gpt2", "../a/b", "a/b/c",   "/a/b",
        "a/", "C:\\a\\gpt2", "~/gpt2", "gpt2/",    "a b/c",  "gpt2/x/", "https://huggingface.co/",
    };
    struct hub_name name;
    char longest[2 * HUB_NAME_BYTES];
    for (size_t i = 0; i < COUNT(cases); i++)
        ck_assert_msg(!hub_guess(&name, cases[i]), "%s", cases[i]);
    memset(longest, 'a', sizeof longest);
    longest[1] = '/';
    longest[HUB_NAME_BYTES - 1] = '\0';
    ck_assert(hub_guess(&name, longest));
    ck_assert_str_eq(name.model, longest);
    longest[HUB_NAME_BYTES - 1] = 'a';
    longest[HUB_NAME_BYTES] = '\0';
    ck_assert(!hub_guess(&name, longest));
}
