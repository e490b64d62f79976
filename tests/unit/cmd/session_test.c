/* session_test.c: models opened as a command line says, their texts, and the tokens of options. */
#include "../../../cmd/session.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../../cmd/items.h"
#include "../../../cmd/notes.h"
#include "../../../cmd/output.h"
#include "../rigs/command_rig.h"
#include "../rigs/scratch.h"
#include "../rigs/tiny_model.h"
#include "../unit.h"
#include "base/memory.h"
#include "text/aligned_text.h"

static struct options options;
static struct items items;
static struct session session;
static struct arena arena;
static struct err err;

/* clang-format off */
static const char learned_config[] = /* a decoder with learned positions */
    JSON({"model_type": "gpt2", "n_layer": 1, "n_head": 2, "n_embd": 8, "n_positions": 4,
          "vocab_size": 8});
/* clang-format on */

static char root[256]; /* the repository */

static void enter(void)
{
    ck_assert(*root || getcwd(root, sizeof root));
    command_enter();
    command_model("mine", words_config, words_list);
    items = (struct items){0};
    session = (struct session){0};
    arena = (struct arena){0};
    err = (struct err){0};
}

/* A decoder with three classes, in the folder "classes". */
static void find_classes(void)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tests/references/golden-families/llama-classes", root);
    ck_assert_int_eq(symlink(path, "classes"), 0);
}

static void leave(void)
{
    session_release(&session);
    items_release(&items);
    arena_release(&arena);
    command_leave();
}

FIXTURE(enter, leave)

/* Open a session for a command line, and its items; -1 if the session is refused. */
static int open_line(const char *line, enum beginning begins)
{
    session_release(&session);
    items_release(&items);
    err_clear(&err);
    command_take(&options, line);
    session = (struct session){.options = &options, .begins = begins};
    ck_assert_msg(!items_open(&items, &options, 0, ITEMS_SOME, &err), "%s: %s", line, err.text);
    ck_assert_msg(!provenance_begin(&options, &err), "%s: %s", line, err.text);
    return session_begin(&session, &err);
}

/* Also read the texts; NULL if the session or a text is refused. */
static struct text_with_source *read_line(const char *line, enum beginning begins)
{
    return open_line(line, begins) ? NULL : session_read_items(&session, &items, &err);
}

static const char *ids_of(const struct tokenized *text)
{
    static char list[64];
    size_t size = 0;
    list[0] = '\0';
    for (size_t i = 0; i < text->count; i++)
        size +=
            (size_t)snprintf(list + size, sizeof list - size, "%s%u", i ? "," : "", text->ids[i]);
    return list;
}

/* --- the options of a session ----------------------------------------------------------------- */

static const struct {
    const char *line, *message;
} refused_options[] = {
    {"--precision f16",
     "--precision: expected one of f32, bf16, found 'f16': did you mean 'bf16'?"},
    {"--attention-temperature 0", "--attention-temperature: expected a number above 0, found 0"},
    {"--attention-temperature 1e-60", /* 0 as float32 */
     "--attention-temperature: expected a number above 0, found 1e-60"},
    {"--dropout 1", "--dropout: expected a number below 1, found 1"},
    {"--dropout 0.99999999999", "--dropout: expected a number below 1, found 1"},
    {"--attention window", "--attention: "},
    {"--scale wide", "--scale: "},
    {"--without heads", "--without: "},
};

TEST_LOOP(wrong_options_of_attention_are_refused, COUNT(refused_options))
{
    char line[128];
    snprintf(line, sizeof line, "generate -m mine the %s", refused_options[_i].line);
    command_take(&options, line);
    session.options = &options;
    ck_assert_int_eq(session_read_options(&session, &err), -1);
    ck_assert_int_eq(err.kind, ERR_USAGE);
    ck_assert_mem_eq(err.text, refused_options[_i].message, strlen(refused_options[_i].message));
}

TEST(options_of_attention_are_those_of_the_mechanism)
{
    command_take(&options, "run -m mine the --attention-temperature 2 --dropout 0.5 --seed 7 "
                           "--mask-after --precision bf16");
    session.options = &options;
    ck_assert_int_eq(session_read_options(&session, &err), 0);
    ck_assert(session.mechanism.temperature == 2 && session.mechanism.dropout == 0.5F);
    ck_assert(session.mechanism.seed == 7 && session.mechanism.renormalise);
    ck_assert_int_eq(session.precision, PRECISION_BF16);
    command_take(&options, "run -m mine the");
    ck_assert_int_eq(session_read_options(&session, &err), 0);
    ck_assert_msg(session.mechanism.temperature == 0, "1 divides nothing");
    ck_assert_int_eq(session.precision, PRECISION_FP32);
}

TEST(each_mechanism_of_a_list_has_the_seed)
{
    struct mechanism *list = NULL;
    size_t count = 0;
    struct mechanism_options given = {.attention = "dense,window:8,linear", .seed = 5};
    ck_assert_int_eq(mechanism_options_list(&list, &count, &given, &arena, &err), 0);
    ck_assert_uint_eq(count, 3);
    for (size_t i = 0; i < count; i++)
        ck_assert_uint_eq(list[i].seed, 5);
    given.attention = "dense,narrow";
    ck_assert_int_eq(mechanism_options_list(&list, &count, &given, &arena, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "found 'narrow'"));
}

TEST(the_model_of_a_session_precedes_that_of_the_options)
{
    command_take(&options, "run -m tiny the");
    session = (struct session){.options = &options, .model = "mine", .omits_origin = true};
    ck_assert_int_eq(provenance_begin(&options, &err), 0);
    ck_assert_msg(!session_begin(&session, &err), "%s", err.text);
    ck_assert_str_eq(session.viewer.model.name, "mine");
    ck_assert_msg(!identity_first(1).provenance->models, "no hash if results name no model");
    session_release(&session);
    session = (struct session){.options = &options, .model = "mine"};
    ck_assert_msg(!session_begin(&session, &err), "%s", err.text);
    ck_assert_str_eq(identity_first(1).provenance->models->model, "mine");
}

TEST(only_positions_that_are_not_learned_allow_longer_texts)
{
    ck_assert_ptr_null(read_line("run -m mine 'the cat sat a dog'", 0));
    ck_assert_int_eq(err.about, ERR_ABOUT_CONTEXT);
    command_listen();
    ck_assert_ptr_nonnull(read_line("run -m mine 'the cat sat a dog' --long", 0));
    ck_assert_str_eq(command_heard()->notes,
                     "attn-cli: note: 'mine' was trained on texts of at most 4 tokens: results for "
                     "longer ones may be meaningless\n");
    command_model("learned", learned_config, words_list);
    ck_assert_int_eq(open_line("run -m learned the --long", 0), -1);
    ck_assert_int_eq(err.kind, ERR_USAGE);
    ck_assert_str_eq(err.text, "--long: expected rotary, ALiBi or sinusoidal positions, found 4 "
                               "learned ones ('learned')");
}

/* --- what begins texts ------------------------------------------------------------------------ */

static const struct {
    const char *options;
    bool adds;
    enum beginning begins;
} beginnings[] = {
    {"", true, BEGINNING_OF_TOKENIZER},        {"--words", true, BEGINNING_ADDED},
    {"--words", false, BEGINNING_NOTED},       {"--regions a,b", true, BEGINNING_ADDED},
    {"--regions a,b", false, BEGINNING_NOTED},
};

TEST_LOOP(words_and_regions_need_a_beginning, COUNT(beginnings))
{
    char line[128];
    scratch_write("table.csv", "text,a,b\nthe cat,the,cat\n");
    snprintf(line, sizeof line, "score -m mine -f table.csv %s", beginnings[_i].options);
    command_take(&options, line);
    ck_assert_msg(!items_open(&items, &options, 0, ITEMS_SOME, &err), "%s", err.text);
    ck_assert_int_eq(session_beginning(&items, beginnings[_i].adds), beginnings[_i].begins);
}

static const char added_note[] =
    "attn-cli: note: each text begins with the token '<s>': --special none omits it\n";

/* "<s>" is token 0 of the vocabulary. An added one has no number. */
static const struct {
    const char *arguments;
    enum beginning begins;
    const char *ids;
    size_t unnumbered;
    const char *notes;
} begun_texts[] = {
    {"'the cat'", BEGINNING_OF_TOKENIZER, "1,2", 0, ""},
    {"'the cat'", BEGINNING_ADDED, "0,1,2", 1, added_note},
    {"'the cat' --special auto", BEGINNING_ADDED, "0,1,2", 1, added_note},
    {"'<s> the cat'", BEGINNING_ADDED, "0,1,2", 0, added_note}, /* no second one */
    {"'the cat' --special none", BEGINNING_ADDED, "1,2", 0, ""},
    {"'the cat' --special bos", BEGINNING_ADDED, "0,1,2", 0, ""},
    {"--ids 1,2", BEGINNING_ADDED, "1,2", 0, ""},
    {"'The cat' -m tiny", BEGINNING_ADDED, "267,364", 0, ""}, /* it has no such token */
    {"'the cat'", BEGINNING_NOTED, "1,2", 0,
     "attn-cli: note: texts have no beginning token here, unlike for words, regions and totals of "
     "texts: --special bos adds '<s>', none omits this note\n"},
};

TEST_LOOP(a_beginning_token_is_added_once_where_asked, COUNT(begun_texts))
{
    char line[128];
    snprintf(line, sizeof line, "run -m mine %s", begun_texts[_i].arguments);
    command_listen();
    const struct text_with_source *pair = read_line(line, begun_texts[_i].begins);
    const struct heard *heard = command_heard();
    ck_assert_msg(pair != NULL, "%s", err.text);
    ck_assert_str_eq(ids_of(&pair->text), begun_texts[_i].ids);
    ck_assert_uint_eq(pair->text.words_before, begun_texts[_i].unnumbered);
    ck_assert_str_eq(heard->notes, begun_texts[_i].notes);
    const char *origin = identity_first(1).provenance->models->beginning;
    ck_assert_str_eq(origin ? origin : "", begun_texts[_i].notes == added_note ? "<s>" : "");
}

TEST(a_start_token_of_a_decoder_is_not_put_before_its_source)
{
    const struct text_with_source *pair =
        read_line("score -m translate 'le chat' --source 'the cat'", BEGINNING_ADDED);
    ck_assert_msg(pair != NULL, "%s", err.text);
    ck_assert_str_eq(ids_of(&pair->text), "0,24,40");
    ck_assert_str_eq(ids_of(&pair->source), "2,10");
    ck_assert_uint_eq(pair->text.words_before, 0);
    ck_assert(!session.adds_beginning);
}

/* --- a chat template -------------------------------------------------------------------------- */

TEST(a_chat_template_is_put_around_a_text)
{
    scratch_write("mine/chat_template.jinja",
                  "{% for m in messages %}the {{ m.content }} sat{% endfor %}");
    command_listen();
    const struct text_with_source *pair =
        read_line("run -m mine cat --chat --verbose", BEGINNING_ADDED);
    ck_assert_str_eq(command_heard()->notes, "attn-cli: note: --chat: the TEXT sat\n");
    ck_assert_msg(pair != NULL, "%s", err.text);
    ck_assert_str_eq(ids_of(&pair->text), "1,2,3");
    struct input two = {.text = "a", .size = 1, .pair = {"dog", 3}};
    ck_assert_int_eq(input_wrap(&two, session.viewer.chat, &arena, &err), -1);
    ck_assert_str_eq(err.text, "--chat: expected one text, found a pair");
    ck_assert_int_eq(input_wrap(&two, NULL, &arena, &err), 0);
    struct input ids = {.ids = "1,2"};
    ck_assert_int_eq(input_wrap(&ids, session.viewer.chat, &arena, &err), 0);
    ck_assert_ptr_null(ids.text);
}

/* The ranges of words in rows are in the text that is tokenized, "the <cat dog> sat". */
TEST(words_of_rows_are_ranges_of_the_text_with_its_template)
{
    scratch_write("mine/chat_template.jinja",
                  "{% for m in messages %}the {{ m.content }} sat{% endfor %}");
    scratch_write("table.csv", "item,word\n1,cat\n1,dog\n");
    const struct text_with_source *pair =
        read_line("run -m mine -f table.csv --by item --word-column word --chat", 0);
    ck_assert_msg(pair != NULL, "%s", err.text);
    const struct tokenized *text = &pair->text;
    ck_assert_str_eq(text->raw, "the cat dog sat");
    ck_assert_uint_eq(text->given_count, 2);
    ck_assert(text->given[0].start == 4 && text->given[0].end == 7);
    ck_assert(text->given[1].start == 8 && text->given[1].end == 11);
}

static const struct {
    const char *line, *message;
    bool has_words;
} refused_chats[] = {
    {"run -m bare --chat --ids 1", "--chat and --ids cannot be combined", true},
    {"run -m bare --chat the --literal-special", "--chat and --literal-special cannot be combined",
     true},
    {"run -m bare --chat the", "--chat: expected a model with a tokenizer, found none", false},
    {"run -m bare the --special yes", "--special: expected one of auto, none, bos, found 'yes'",
     true},
};

TEST_LOOP(options_of_special_tokens_are_checked, COUNT(refused_chats))
{
    command_model("bare", words_config, refused_chats[_i].has_words ? words_list : NULL);
    ck_assert_int_eq(open_line(refused_chats[_i].line, 0), -1);
    ck_assert_str_eq(err.text, refused_chats[_i].message);
    ck_assert_int_eq(err.kind, ERR_USAGE);
}

/* --- edits ------------------------------------------------------------------------------------ */

#define FROM "--edit 'h.0.context = from' "
#define MEAN "--edit 'h.0.context = mean' "
#define NEEDS_FROM "--edit '= from' and --from TEXT: expected both, found one (patch: use --over)"
#define NEEDS_REFERENCE \
    "--edit '= mean' or '= resample' and --reference FILE: expected both, found one"

static const struct {
    const char *options, *message; /* NULL: accepted */
} edit_values[] = {
    {FROM "--from 'a dog'", NULL},
    {FROM, NEEDS_FROM},
    {"--from 'a dog'", NEEDS_FROM},
    {MEAN "--reference texts", NULL},
    {MEAN, NEEDS_REFERENCE},
    {"--reference texts", NEEDS_REFERENCE},
    {FROM MEAN "--from 'a dog' --reference texts", NULL},
    {FROM "--from @other",
     "--from: expected one text for all texts, found '@other': 'attn-cli patch -f FILE' takes "
     "values from the other text of each row"},
    {FROM "--from '@ the cat'", NULL}, /* a text */
    {FROM "--from horse", "--from: word 'horse' at byte 0 is not in the vocabulary"},
    {MEAN "--reference long",
     "--reference: 'long' line 2: the text is too long: expected at most 4 tokens (n_positions), "
     "found 5"},
    {MEAN "--reference none", "--reference: cannot open 'none': No such file or directory"},
    {"--edit 'h.0.context * {size}'",
     "--edit 'h.0.context * {size}': expected a number after '*', found '{size}': batch --sweep "
     "size=0,2,4 gives {size} its values"},
    {"--sae none",
     "--sae: 'none': expected the files of a sparse autoencoder or transcoder, such as cfg.json "
     "and sae_weights.safetensors, found none of a known format"},
};

TEST_LOOP(values_of_other_texts_need_texts_that_the_model_reads, COUNT(edit_values))
{
    char line[128];
    scratch_write("texts", "the cat\na dog\n");
    scratch_write("long", "the cat\nthe cat sat a dog\n");
    snprintf(line, sizeof line, "run -m mine 'the cat' %s", edit_values[_i].options);
    int failed = open_line(line, 0);
    ck_assert_str_eq(err.text, edit_values[_i].message ? edit_values[_i].message : "");
    ck_assert_int_eq(failed, edit_values[_i].message ? -1 : 0);
}

/* Where edits are swept, or patches use them, another setting or a patch may need the texts. */
TEST(texts_of_swept_edits_may_be_spare)
{
    ck_assert_int_eq(open_line("run -m mine 'the cat' --edit 'h.0.context = 0'", 0), 0);
    options.edit.from = "a dog";
    options.edit.reference = "texts";
    ck_assert_int_eq(session_fill_edits(&session, &session.edits, &err), -1);
    err_clear(&err);
    options.edit.are_swept = true;
    ck_assert_int_eq(session_fill_edits(&session, &session.edits, &err), 0);
    options.edit.are_swept = false;
    options.patch.with = "mean";
    ck_assert_int_eq(session_fill_edits(&session, &session.edits, &err), 0);
}

TEST(texts_of_edits_are_ids_without_a_tokenizer)
{
    command_model("bare", words_config, NULL);
    scratch_write("texts", "3,4\n5,6\n");
    ck_assert_msg(!open_line("run -m bare --ids 1,2 " FROM MEAN "--from 3,4 --reference texts", 0),
                  "%s", err.text);
    ck_assert_int_eq(open_line("run -m bare --ids 1,2 " FROM "--from 3,8", 0), -1);
    ck_assert_str_eq(err.text, "--from: id 2 of the list: expected a whole number from 0 to 7, "
                               "found '8'");
}

/* Options that change the values of `= from`, and one that does not. */
static const struct {
    const char *option;
    bool changes;
} value_options[] = {
    {"", false},
    {"--head 0", false},
    {"--attention-temperature 2", true},
    {"--attention window:1", true},
    {"--scale 2", true},
    {"--without mlp", true},
    {"--dropout 0.5", true},
    {"--seed 1", true},
    {"--mask-after", true},
    {"--precision bf16", true},
    {"--special bos", true},
    {"--from 'the dog'", true},
    {"-m other", true},
};

TEST_LOOP(settings_share_stored_values_of_the_same_runs, COUNT(value_options))
{
    struct edit_store store = {0};
    char line[128];
    command_model("other", words_config, words_list);
    for (int i = 0; i < 2; i++) {
        snprintf(line, sizeof line, "run -m mine 'the cat' --seed 0 " FROM "--from 'a dog' %s",
                 i ? value_options[_i].option : "");
        command_take(&options, line);
        session = (struct session){.options = &options, .store = &store, .omits_origin = true};
        ck_assert_msg(!session_begin(&session, &err), "%s", err.text);
        session_release(&session);
    }
    ck_assert_uint_eq(store.count, value_options[_i].changes ? 2 : 1);
    session = (struct session){0};
    edit_store_release(&store);
}

TEST(edits_at_a_word_are_those_of_each_text)
{
    ck_assert_msg(
        !open_line("run -m mine 'the cat' 'cat sat' --edit 'resid_post[token=@cat] = 0'", 0), "%s",
        err.text);
    const struct text_with_source *pairs = session_read_items(&session, &items, &err);
    ck_assert_msg(pairs != NULL, "%s", err.text);
    ck_assert(session.edits.by_text && pairs[0].edits != pairs[1].edits);
    ck_assert_int_eq(pairs[0].edits->items->tokens.items->first, 1);
    ck_assert_int_eq(pairs[1].edits->items->tokens.items->first, 0);
}

TEST(numbers_of_edited_tokens_leave_out_an_added_beginning)
{
    const char *line = "run -m mine 'the cat' --edit 'resid_post[token=0] = 0'";
    const struct text_with_source *pair = read_line(line, BEGINNING_OF_TOKENIZER);
    ck_assert_msg(pair != NULL, "%s", err.text);
    ck_assert_int_eq(pair->edits->items->tokens.items->first, 0);
    pair = read_line(line, BEGINNING_ADDED);
    ck_assert_msg(pair != NULL, "%s", err.text);
    ck_assert_int_eq(pair->edits->items->tokens.items->first, 1);
}

TEST(edit_options_may_be_given)
{
    command_take(&options, "run the");
    ck_assert(!edit_options_are_given(&options.edit));
    static const char *const given[] = {"--edit 'h.0.q = 0'", "--ablate 0.1", "--knockout 1:0"};
    for (size_t i = 0; i < COUNT(given); i++) {
        char line[64];
        snprintf(line, sizeof line, "run the %s", given[i]);
        command_take(&options, line);
        ck_assert_msg(edit_options_are_given(&options.edit), "%s", given[i]);
    }
}

/* --- the texts of items ----------------------------------------------------------------------- */

static const struct {
    const char *line, *message; /* NULL: accepted */
} item_texts[] = {
    {"run -m life Life", NULL},
    {"run -m life-cross Life --source 'the cat'", NULL},
    {"run -m life Life --source Life",
     "--source: expected none, since 'life' has no cross-attention"},
    {"run -m life-cross Life",
     "--source: expected a text for the cross-attention of 'life-cross', found none: give it as "
     "--source TEXT"},
    {"run -m translate le",
     "--source: expected a text for the cross-attention of 'translate', found none: give the text "
     "that its encoder reads as --source TEXT; run, page, heads and generate need no other"},
    {"run -m life-cross Life --source 'the cat' --pair Life",
     "--pair and --source cannot be combined"},
    {"run -m life -f both.csv",
     "'both.csv' line 2: column 'source': expected none, since 'life' has no cross-attention: "
     "rename the column to copy it"},
    {"run -m life-cross -f both.csv", /* the second line has no source */
     "'both.csv' line 3: column 'source': expected a text for the cross-attention of "
     "'life-cross', found none"},
    {"run -m life -f lines",
     "'lines' line 2: word 'cat' at byte 3 is not in the vocabulary: did you mean 'eat'?"},
    {"run -m life-cross -f both.csv --edit 'context = from' --source the --from Life",
     "'both.csv' line 2: --from: expected one --source for all texts, found a column"},
};

TEST_LOOP(a_refused_text_is_named_by_its_line_and_its_option_or_column, COUNT(item_texts))
{
    scratch_write("both.csv", "text,source\nLife,the cat\nis,\n");
    scratch_write("lines", "Life\nis cat\n");
    const struct text_with_source *pairs = read_line(item_texts[_i].line, 0);
    ck_assert_str_eq(err.text, item_texts[_i].message ? item_texts[_i].message : "");
    ck_assert_int_eq(pairs != NULL, item_texts[_i].message == NULL);
}

#define LEFT_OUT "attn-cli: note: 1 character that is not in the vocabulary was left out: "
#define LEFT_OUT_2 "attn-cli: note: 2 characters that are not in the vocabulary were left out: "

static const struct {
    const char *line, *note;
} left_out[] = {
    {"run -m life Life", ""},
    {"run -m life 'Life ! is'", LEFT_OUT "'!' at byte 5\n"},
    {"run -m life 'Life ! is ?'", LEFT_OUT_2 "'!' at byte 5 is the first\n"},
    {"run -m life 'Life is' '? !'", NULL},
    {"run -m life 'Life is' 'is ! ?'", LEFT_OUT_2 "'!' at byte 3 of sentence 1 is the first\n"},
    {"run -m life -f lines", LEFT_OUT_2 "'!' at byte 3 of 'lines' line 2 is the first\n"},
    {"run -m life -f lines --document", LEFT_OUT_2 "'!' at byte 8 is the first\n"},
    {"run -m life Life --pair 'is ?'", LEFT_OUT "'?' at byte 3 of the second text\n"},
    {"run -m life-cross -s Life -s is --source 'cat ?'", LEFT_OUT "'?' at byte 4 of the source\n"},
    {"run -m life-cross -f sources.csv", LEFT_OUT_2 "'?' at byte 4 of the source is the first\n"},
};

TEST_LOOP(characters_that_are_left_out_are_counted_in_all_texts, COUNT(left_out))
{
    scratch_write("lines", "Life\nis !\nis ?\n");
    scratch_write("sources.csv", "text,source\nLife,the cat\nis,cat ?\nis,! cat\n");
    command_listen();
    const struct text_with_source *pairs = read_line(left_out[_i].line, 0);
    const struct heard *heard = command_heard();
    ck_assert_int_eq(pairs != NULL, left_out[_i].note != NULL); /* a text of no token is refused */
    ck_assert_str_eq(heard->notes, left_out[_i].note ? left_out[_i].note : "");
}

TEST(the_token_of_an_option_is_that_of_the_last_text)
{
    ck_assert_ptr_nonnull(read_line("explain -m mine 'the cat sat' --query @cat", 0));
    ck_assert_str_eq(session.token, "1");
}

/* --- memory ----------------------------------------------------------------------------------- */

TEST(passes_beyond_the_memory_are_refused_with_the_way_out)
{
    static const char shorter[] = ": give shorter texts (the longest has 7 tokens)";
    static const char converted[] = "when converted: without --precision, files in BF16 and "
                                    "quantised GGUF files are read in place";
    ck_assert_int_eq(open_line("run -m mine the", 0), 0);
    ck_assert_int_eq(session_expect(&session, 1, (struct weights_bytes){0}, 7, &err), 0);
    ck_assert_int_eq(session_expect(&session, 1e30, (struct weights_bytes){0}, 7, &err), -1);
    ck_assert_mem_eq(err.text, "'mine': expected ", 17);
    ck_assert_ptr_nonnull(strstr(err.text, shorter));
    err_clear(&err);
    const struct weights_bytes large = {.heap = SIZE_MAX / 2};
    ck_assert_int_eq(session_expect(&session, 1e30, large, 7, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, converted));
    ck_assert_ptr_null(strstr(err.text, shorter));
}

/* --- the tokens of options -------------------------------------------------------------------- */

static const struct {
    const char *model, *text; /* of an option */
    long long id;
    const char *message; /* NULL: accepted */
} token_options[] = {
    {"mine", "cat", 2, NULL},
    {"mine", "the cat", -1, "--answer: expected a text of 1 token, found 'the cat', which has 2"},
    {"mine", "horse", -1, "--answer: word 'horse' at byte 0 is not in the vocabulary"},
    {"mine", "", -1, "--answer: expected a text of 1 token, found '', which has 0"},
    {"tiny", " dog", 363, NULL},
    {"tiny", "first", -1,
     "--answer: expected a text of 1 token, found 'first', which has 4: did you mean ' "
     "first'?"},
    {"tiny", "dogs", -1, "--answer: expected a text of 1 token, found 'dogs', which has 2"},
    {"cloze", "dog", 89, NULL}, /* without [CLS] and [SEP] */
    {"cloze", "[MASK]", 4, NULL},
    {"cloze", "zebra", -1,
     "--answer: expected a word of the vocabulary, found 'zebra', which becomes [UNK]"},
    {"cloze", "[UNK]", 1, NULL}, /* it was asked for */
    {"bare", "7", 7, NULL},
    {"bare", "8", -1, "--answer: expected an id from 0 to 7, found '8'"},
    {"bare", "cat", -1, "--answer: expected an id from 0 to 7, found 'cat'"},
    {"classes", "so so", 1, NULL},
    {"classes", "1", -1,
     "--answer: expected one of the 3 classes ('BAD', 'so␣so', 'GOOD'), found '1'"},
};

TEST_LOOP(the_text_of_an_option_is_one_token, COUNT(token_options))
{
    struct viewer *viewer = &session.viewer;
    long long id = -1;
    command_model("bare", words_config, NULL);
    command_model("wide", words_config, /* more words than the model has */
                  JSON([ "<s>", "the", "cat", "sat", "Mary", "John", "a", "an", "dog" ]));
    find_classes();
    ck_assert_msg(!viewer_open(viewer, token_options[_i].model, 1, &err), "%s", err.text);
    int failed = token_option_read(&id, viewer, "--answer", token_options[_i].text, &arena, &err);
    ck_assert_str_eq(err.text, token_options[_i].message ? token_options[_i].message : "");
    ck_assert_int_eq(failed, token_options[_i].message ? -1 : 0);
    if (!failed)
        ck_assert_int_eq(id, token_options[_i].id);
}

/* "first" has four tokens, " first" has one; "abinet" has one, " abinet" has two. */
static const struct {
    const char *text, *more;
    bool lacks;
} spaces[] = {
    {"The", "cat", true},   {"The.", "dog", true}, {"The 2", "dog", true},   {"The", " cat", false},
    {"The ", "cat", false}, {"(", "cat", false},   {"The", "abinet", false}, {"The", "first", true},
    {"The", "2", false},    {"The", "", false},
};

TEST_LOOP(a_word_after_a_word_lacks_a_space, COUNT(spaces))
{
    struct viewer *viewer = &session.viewer;
    struct text_with_source pair;
    const struct input input = input_of(spaces[_i].text, NULL);
    ck_assert_msg(!viewer_open(viewer, "tiny", 1, &err), "%s", err.text);
    ck_assert_msg(!viewer_read(viewer, &pair, &input, NULL, &arena, &err), "%s", err.text);
    const char *more = spaces[_i].more;
    ck_assert_int_eq(lacks_space(&pair.text, more, viewer->tokenizer, &arena), spaces[_i].lacks);
    ck_assert_msg(!lacks_space(&pair.text, more, NULL, &arena), "no tokenizer, no words");
}

/* The ids of tiny: " cat" 364, " dog" 363, "cat" 887, ":" 25. */
static const struct {
    const char *answer, *place;
    long long is, against;
    size_t notes;
} answers[] = {
    {NULL, NULL, -1, -1, 0},          {" cat", NULL, 364, -1, 0},
    {" cat: dog", NULL, 364, 363, 0}, {":", NULL, 25, -1, 0},
    {":: dog", NULL, 25, 363, 0},     {"cat", NULL, 887, -1, 1}, /* it lacks a space */
    {"cat", "0", 887, -1, 0},                                    /* not after the text */
};

TEST_LOOP(an_answer_is_one_token_or_two, COUNT(answers))
{
    struct viewer *viewer = &session.viewer;
    struct text_with_source pair;
    struct notes notes = {.count = 0};
    struct question question;
    const struct input input = input_of("The", NULL);
    ck_assert_msg(!viewer_open(viewer, "tiny", 1, &err), "%s", err.text);
    ck_assert_msg(!viewer_read(viewer, &pair, &input, NULL, &arena, &err), "%s", err.text);
    const struct question_words words = {.option = "--answer",
                                         .answer = answers[_i].answer,
                                         .place = answers[_i].place,
                                         .notes = &notes,
                                         .text = &pair.text};
    ck_assert_msg(!answer_read(&question, &words, viewer, &arena, &err), "%s", err.text);
    ck_assert_int_eq(question.answer, answers[_i].is);
    ck_assert_int_eq(question.against, answers[_i].against);
    ck_assert_uint_eq(notes.count, answers[_i].notes);
}

static const struct {
    const char *model, *text, *place;
    size_t position;
    const char *message; /* NULL: accepted */
} positions[] = {
    {"mine", "the cat sat", NULL, 2, NULL},
    {"mine", "the cat sat", "0", 0, NULL},
    {"mine", "the cat sat", "-2", 1, NULL},
    {"mine", "the cat sat", "3", 0,
     "--query: expected an index from 0 to 2 (or -3 to -1 from the end), found '3'"},
    {"mine", "the cat sat", "-4", 0,
     "--query: expected an index from 0 to 2 (or -3 to -1 from the end), found '-4'"},
    {"mine", "the cat sat", "cat", 0,
     "--query: expected an index from 0 to 2 (or -3 to -1 from the end), found 'cat'"},
    {"cloze", "the [MASK] runs", NULL, 2, NULL}, /* after [CLS] */
    {"cloze", "[MASK] the [MASK]", NULL, 3, NULL},
    {"cloze", "the dog runs", NULL, 0,
     "expected a text with [MASK], where logits are read, found none: add it, or --query N"},
    {"cloze", "the dog runs", "1", 1, NULL},
};

TEST_LOOP(a_question_is_asked_at_the_end_or_at_the_last_mask, COUNT(positions))
{
    struct viewer *viewer = &session.viewer;
    char line[128];
    snprintf(line, sizeof line, "attribute -m %s '%s'", positions[_i].model, positions[_i].text);
    const struct text_with_source *pair = read_line(line, 0);
    ck_assert_msg(pair != NULL, "%s", err.text);
    struct question question = {.answer = -1};
    const struct question_words words = {
        .place_option = "--query", .place = positions[_i].place, .text = &pair->text};
    int failed = position_read(&question, &words, viewer, &arena, &err);
    ck_assert_str_eq(err.text, positions[_i].message ? positions[_i].message : "");
    ck_assert_int_eq(failed, positions[_i].message ? -1 : 0);
    if (!failed)
        ck_assert_uint_eq(question.position, positions[_i].position);
}

static const struct {
    const char *line;
    struct question question;
    const char *words;
} questions[] = {
    {"attribute -m mine 'the cat'", {1, 4, 5}, "logit difference Mary - John after cat"},
    {"attribute -m mine 'the cat'", {0, 4, -1}, "logit of Mary after the"},
    {"attribute -m cloze 'the [MASK]'", {2, 89, -1}, "logit of dog at [MASK]"},
    {"attribute -m classes --ids 1,2", {0, 2, 0}, "logit difference GOOD - BAD at 1"},
};

TEST_LOOP(a_question_is_described_in_words, COUNT(questions))
{
    find_classes();
    const struct text_with_source *pair = read_line(questions[_i].line, 0);
    ck_assert_msg(pair != NULL, "%s", err.text);
    const struct question *question = &questions[_i].question;
    struct facts *facts = facts_new(&arena, &err);
    ck_assert_str_eq(question_describe(facts, question, &session.viewer, &pair->text, &arena, &err),
                     questions[_i].words);
    ck_assert_int_eq(facts->values[0].integer, question->answer);
    ck_assert_int_eq(facts->values[1].integer,
                     question->against < 0 ? COLUMN_MISSING : question->against);
    ck_assert_uint_eq((size_t)facts->values[2].integer, question->position);
}

/* --- memory ----------------------------------------------------------------------------------- */

TEST(an_item_without_memory_is_refused)
{
    bool is_whole = false;
    scratch_write("two.jsonl", "{\"id\": \"a\", \"text\": \"Life\", \"side\": 0}\n"
                               "{\"id\": \"b\", \"text\": \"Life is\", \"side\": \"q\"}\n");
    command_take(&options, "score -m mine -f two.jsonl");
    ck_assert_msg(!items_open(&items, &options, 0, ITEMS_SOME, &err), "%s", err.text);
    for (size_t nth = 1; !is_whole; nth++) {
        struct item item;
        struct arena own = {0};
        heap_fail_at(nth, 1);
        int failed = items_read(&items, &item, 1, &own, &err);
        is_whole = !heap_has_failed();
        heap_fail_at(0, 0);
        ck_assert_int_eq(failed, is_whole ? 0 : -1);
        ck_assert_msg(is_whole || strstr(err.text, "out of memory"), "%s", err.text);
        ck_assert(!is_whole || strcmp(item.input.text, "Life is") == 0);
        err_clear(&err);
        arena_release(&own);
    }
}
