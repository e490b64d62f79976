/* Tests of `score` with models whose probabilities are known: those of a word are the same after
 * any text, 2 to the power of minus its bits. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../../cmd/command.h"
#include "../unit.h"
#include "../rigs/command_rig.h"
#include "../rigs/scratch.h"
#include "../rigs/tiny_model.h"
#include "format/json.h"

enum { WORDS = 8 };

/* The words and their bits in the model `m`; in `uniform`, each has 3. `masked` is a masked model
 * with those of `m`. */
static const char vocabulary[] =
    "[\"<s>\", \"the\", \"cat\", \"dog\", \"run\", \"runs\", \".\", \"[MASK]\"]";
static const int bits[WORDS] = {3, 1, 3, 3, 4, 5, 6, 6};

static struct arena arena;
static struct err err;
static const char *said; /* by the last command, as notes */

static void write_model(const char *folder, const char *config, bool is_uniform)
{
    struct tiny_model model;
    tiny_model_make(&model, config);
    struct tiny_tensor *scale = tiny_model_tensor(&model, "ln_f.weight"),
                       *shift = tiny_model_tensor(&model, "ln_f.bias"),
                       *head = tiny_model_tensor(&model, "lm_head.weight");
    for (size_t i = 0; i < WORDS; i++) { /* logits are the channels of ln_f, which are its bias */
        scale->values[i] = 0;
        shift->values[i] = is_uniform ? 0 : -(float)bits[i] * (float)M_LN2;
        for (size_t k = 0; k < WORDS; k++)
            head->values[i * WORDS + k] = i == k;
    }
    tiny_model_write(&model, 0);
    command_model_write(&model, folder, vocabulary);
    tiny_model_release(&model);
}

/* clang-format off */
static const char causal[] =
    JSON({"model_type": "gpt2", "vocab_size": 8, "n_embd": 8, "n_layer": 1, "n_head": 1,
          "n_positions": 16, "tie_word_embeddings": false});
static const char two_sided[] =
    JSON({"model_type": "gpt2", "vocab_size": 8, "n_embd": 8, "n_layer": 1, "n_head": 1,
          "n_positions": 16, "tie_word_embeddings": false, "is_causal": false});
/* clang-format on */

static void enter(void)
{
    arena = (struct arena){0};
    err = (struct err){0};
    command_enter();
    write_model("m", causal, false);
    write_model("uniform", causal, true);
    write_model("masked", two_sided, false);
    scratch_write("t.csv", "item,text,c\na,the cat runs,x\na,the dog run,y\nb,the cat,x\nb,,y\n");
    scratch_write("plain.csv", "text,c\nthe dog runs,x\ndog the runs,x\n");
    scratch_write("pairs.csv", "c,good,bad\nx,the cat,the runs\ny,the cat,the dog\n"
                               "x,the runs.,the run\n");
    scratch_write("marks.csv", "text,regions,c\nthe | cat | runs .,d|n|v,x\n"
                               "the | dog | run .,d|n|v,y\n");
    scratch_write("marked_pairs.csv", "good,bad,regions\nthe | cat,the dog | runs,n|v\n");
    scratch_write("named_pairs.csv", "good,bad\nthe dog runs,dog the runs\n");
    scratch_write("gaps.csv", "item,text\n1,the cat\n,the dog\n,the runs\n1,the run\n");
    scratch_write("cells.csv", "text,end,c\nthe cat,runs,x\nthe dog,run,x\n");
    scratch_write("words.csv", "word,id,c\nthe,1,x\ncat,1,x\nruns.,1,y\nthe,2,y\n");
    scratch_write("f.tsv", "word\tcount\nthe\t8\ncat\t4\ndog\t2\nruns\t2\n");
    scratch_write("some.jsonl",
                  "{\"text\":\"the cat\",\"continue\":\" runs\"}\n{\"text\":\"the\"}\n");
}

static void leave(void)
{
    arena_release(&arena);
    command_leave();
}

FIXTURE(enter, leave)

/* Run `score` with these arguments, and keep what it says. */
static int start(const char *line)
{
    struct options options;
    command_take(&options, arena_format(&arena, &err, "score %s", line));
    command_listen();
    int failed = command_start(&command_score, &options, &err);
    said = command_heard()->notes;
    return failed;
}

/* Append a column of a row: a number, a text, - for null and ? if there is no such column. */
static void put_cell(struct buf *out, const struct json *row, const char *column, size_t size)
{
    const char *name = arena_text(&arena, column, size, NULL), *text = NULL;
    const struct json *cell = json_member(row, name);
    double number = 0;
    buf_text(out, out->size && out->bytes[out->size - 1] != '\n' ? " " : "");
    if (json_get_number(cell, &number))
        buf_format(out, "%.4g", fabs(number) < 1e-6 ? 0 : number);
    else
        buf_text(out, json_get_text(cell, &text) ? text : cell ? "-" : "?");
}

/* Score, and read the result. A command may not write what the program has read: each has its own
 * file. */
static struct json *result_of(const char *line)
{
    static int number;
    struct json *root = NULL;
    struct file file;
    const char *path = arena_format(&arena, &err, "out%d.json", ++number);
    ck_assert_msg(!start(arena_format(&arena, &err, "%s --bits --format json -o %s", line, path)),
                  "%s: %s", line, err.text);
    ck_assert(!file_map(&file, path, &err) && !json_parse(&root, file.bytes, file.size, &err));
    file_release(&file);
    return root;
}

/* The rows of the first table of each result, with columns separated by blanks. */
static const char *scored(const char *line, const char *columns)
{
    struct buf out = {0};
    struct json *root = result_of(line);
    const struct json *result = json_is_array(root) ? json_first(root) : root;
    while (result) {
        const struct json *rows = json_first(json_member(result, "tables"));
        for (const struct json *row = json_first(rows); row; row = json_next(row)) {
            for (const char *at = columns; *at; at += strspn(at, " ")) {
                put_cell(&out, row, at, strcspn(at, " "));
                at += strcspn(at, " ");
            }
            buf_char(&out, '\n');
        }
        result = result == root ? NULL : json_next(result);
    }
    json_free(root);
    return buf_keep(&out, &arena, &err);
}

static void expect(const char *line, const char *columns, const char *rows)
{
    const char *found = scored(line, columns);
    ck_assert_msg(strcmp(found, rows) == 0, "%s:\n%s", line, found);
}

static void expect_refusal(const char *line, const char *message)
{
    int failed = start(line);
    ck_assert_msg(failed, "not refused: %s", line);
    ck_assert_msg(strstr(err.text, message), "%s: '%s' lacks '%s'", line, err.text, message);
    err_clear(&err);
}

/* --- what has a row --------------------------------------------------------------------------- */

/* Longer than the context. */
#define CATS "the cat the cat the cat the cat the cat"
#define LONG CATS " " CATS

static const struct {
    const char *line, *columns, *rows;
} kinds[] = {
    /* Tokens of a text: the first has no score, unless a beginning token is asked for. */
    {"-m m 'the cat runs'", "text surprisal_bits rank", "the - -\ncat 3 3\nruns 5 6\n"},
    {"-m m 'the cat' --special bos", "text surprisal_bits", "<s> -\nthe 1\ncat 3\n"},
    {"-m masked 'the cat'", "text surprisal_bits", "the 1\ncat 3\n"},
    {"-m m 'the cat runs' --query -1,1", "text surprisal_bits", "cat 3\nruns 5\n"},
    /* Words, totals and --per have it without asking. */
    {"-m m 'the cat runs.' --words", "text surprisal_bits subwords",
     "the 1 1\ncat 3 1\nruns. 11 2\n"},
    {"-m m 'the cat runs.' --words --special none", "text surprisal_bits",
     "the -\ncat 3\nruns. 11\n"},
    {"-m m 'the cat runs.' --words --query @runs", "text surprisal_bits", "runs. 11\n"},
    {"-m m 'the cat runs.' --words --query -1", "text surprisal_bits", "runs. 11\n"},
    {"-m m 'the cat runs.' --total", "text surprisal_bits tokens", "the cat runs. 15 4\n"},
    {"-m m -f plain.csv --total", "text surprisal_bits tokens difference_bits",
     "the dog runs 9 3 ?\ndog the runs 9 3 ?\n"},
    /* Differences in log-probability to the first text of a group; by `item` without asking. */
    {"-m m -f t.csv --total", "item text surprisal_bits tokens difference_bits",
     "a the cat runs 9 3 0\na the dog run 8 3 1\nb the cat 4 2 0\nb  - 0 -\n"},
    {"-m m -f t.csv --group c", "c surprisal_bits difference_bits", "x 9 0\ny 8 0\nx 4 5\ny - -\n"},
    {"-m m -f gaps.csv --total", "surprisal_bits difference_bits", "4 0\n4 -\n6 -\n5 -1\n"},
    {"-m m -f gaps.csv --group item", "surprisal_bits difference_bits", /* merged cells */
     "4 0\n4 0\n6 -2\n5 -1\n"},
    {"-m m -f t.csv --group c --query 1-", "c surprisal_bits difference_bits",
     "x 8 0\ny 7 0\nx 3 5\ny - -\n"},
    /* Sums and means per token for each value, or pair of values. */
    {"-m m -f t.csv --per c", "c surprisal_bits tokens bits_per_token",
     "x 13 5 2.6\ny 8 3 2.667\n"},
    {"-m m -f t.csv --per c,item", "c item surprisal_bits", "x a 9\ny a 8\nx b 4\ny b -\n"},
    {"-m m -f t.csv --per c --words", "text surprisal_bits:x surprisal_bits:y",
     "the 1 1\ncat/dog 3 3\nruns 5 4\n"},
    /* Continuations have no beginning token, and are compared with the first of a text. */
    {"-m m 'the cat' --continue ' runs' --continue ' dog.'",
     "continuation surprisal_bits tokens difference_bits", " runs 5 1 0\n dog. 9 2 -4\n"},
    {"-m m -f cells.csv --continue @end --group c", "continuation surprisal_bits difference_bits",
     " runs 5 0\n run 4 1\n"},
    {"-m m 'the cat' --continue ' runs.' --words", "continuation position text surprisal_bits",
     " runs. 2 runs. 11\n"},
    /* A blank text has a row for itself, but no continuation. */
    {"-m m -f t.csv --continue ' dog'", "text surprisal_bits",
     "the cat runs 3\nthe dog run 3\nthe cat 3\n"},
    {"-m m -f t.csv --continue ' dog' --mean texts", "continuation texts surprisal_bits",
     " dog 3 3\n"},
    {"-m m -f t.csv --mean texts", "position texts surprisal_bits", "0 3 -\n1 3 3\n2 2 4.5\n"},
    {"-m m -f t.csv --mean texts --words", "position texts surprisal_bits",
     "0 3 1\n1 3 3\n2 2 4.5\n"},
    /* Pairs: a tie counts as half; of several pairs, means. */
    {"-m m -f pairs.csv", "good bad difference_bits pairs accuracy",
     "the cat the runs 2 1 1\nthe cat the dog 0 1 0.5\nthe runs. the run -7 1 0\n"},
    {"-m m -f pairs.csv --per c", "c difference_bits pairs accuracy", "x -2.5 2 0.5\ny 0 1 0.5\n"},
    {"-m m -f pairs.csv --words", "text text_bad difference_bits",
     "the the 0\ncat runs 2\nthe the 0\ncat dog 0\nthe the 0\nruns. run -7\n"},
    {"-m m -f marked_pairs.csv --per region", "region difference_bits accuracy", "n 3 1\nv 2 1\n"},
    /* Regions, and words of rows, whose columns are those of the rows. */
    {"-m m -f marks.csv --per region", "region surprisal_bits tokens", "d 2 2\nn 6 2\nv 21 4\n"},
    {"-m m -f marks.csv --per c,region", "c region surprisal_bits",
     "x d 1\nx n 3\nx v 11\ny d 1\ny n 3\ny v 10\n"},
    {"-m m -f marks.csv --words", "text region surprisal_bits",
     "the d 1\ncat n 3\nruns v 5\n. v 6\nthe d 1\ndog n 3\nrun v 4\n. v 6\n"},
    {"-m m -f words.csv --word-column word --by id --words", "c text surprisal_bits",
     "x the 1\nx cat 3\ny runs. 11\ny the 1\n"},
    {"-m m -f words.csv --word-column word --by id --per c", "c surprisal_bits tokens",
     "x 4 2\ny 12 3\n"},
    /* SLOR in nats a word: 15 bits, less 1 + 2 + 3 of three words; the first word has no score. */
    {"-m m 'the cat runs.' --total --unigrams f.tsv", "surprisal_bits slor", "15 -2.079\n"},
    {"-m m 'the cat runs' --total --unigrams f.tsv --special none", "surprisal_bits slor",
     "8 -1.04\n"},
    /* Windows score each token of a long text once. */
    {"-m m '" LONG "' --total --window 4", "surprisal_bits tokens", "40 20\n"},
    {"-m m '" LONG "' --total --stride 3", "surprisal_bits tokens", "40 20\n"},
    /* Likely tokens: after a text; for a mask. */
    {"-m masked 'the [MASK] runs.' --top 2", "position rank text probability",
     "1 1 the 0.5\n1 2 <s> 0.125\n"},
    {"-m masked 'the [MASK] runs.' --continue 'cat' --continue 'the cat'",
     "continuation surprisal_bits tokens", "cat 3 1\nthe cat 4 2\n"},
    /* Edits count the tokens of the text alone, and those of each text: after `ln_f = 0` all words
     * have 3 bits. */
    {"-m m 'the cat' --continue ' runs' --edit 'ln_f[token=-1] = 0'", "surprisal_bits", "3\n"},
    {"-m m -f named_pairs.csv --edit 'ln_f[token=@dog] = 0'", "difference_bits", "4\n"},
    {"-m m -f plain.csv --total --edit 'ln_f[token=@dog] = 0'", "surprisal_bits", "7\n11\n"},
};

TEST_LOOP(each_option_has_rows_of_its_kind, COUNT(kinds))
{
    expect(kinds[_i].line, kinds[_i].columns, kinds[_i].rows);
}

TEST(likely_tokens_after_a_text_are_those_of_the_next)
{
    ck_assert(!start("-m m 'the cat' --next 2 --format csv -o next.csv"));
    scratch_expect("next.csv", "rank,id,text,probability,logprob\n1,1,the,0.5,-0.6931472\n"
                               "2,0,<s>,0.125,-2.0794415\n");
}

/* clang-format off */
static const char suite[] =
    JSON({"items": [{"item_number": 1, "conditions": [
        {"condition_name": "a", "regions": [{"region_number": 2, "content": "the cat"},
                                            {"region_number": 1, "content": "runs"}]},
        {"condition_name": "b", "regions": [{"region_number": 2, "content": "the"},
                                            {"region_number": 1, "content": "run"}]}]}],
          "predictions": [{"formula": "(1;%a%) > (1;%b%)"}, {"formula": "(2;%a%) < (2;%b%)"}]});
/* clang-format on */

/* Predictions name regions by their numbers in the file. */
TEST(a_suite_has_the_accuracy_of_its_predictions)
{
    scratch_write("s.json", suite);
    expect("-m m -f s.json", "item prediction accuracy",
           "1 (1;%a%) > (1;%b%) 1\n1 (2;%a%) < (2;%b%) 0\n");
    expect("-m m -f s.json --per condition,region", "condition region surprisal_bits",
           "a 2 4\na 1 5\nb 2 1\nb 1 4\n");
}

/* The tables of several models stand side by side in text, and one after another in data. */
TEST(several_models_have_one_table)
{
    struct file file;
    ck_assert(!start("-m m -m uniform 'the cat runs.' --words --bits --format markdown -o a.md"));
    ck_assert(!file_map(&file, "a.md", &err));
    static const char *const rows[] = {"| 0 | the | 1.0000 | 3.0000 |\n",
                                       "| 2 | runs. | 11.0000 | 6.0000 |\n"};
    for (size_t i = 0; i < COUNT(rows); i++)
        ck_assert_msg(memmem(file.bytes, file.size, rows[i], strlen(rows[i])), "%s", rows[i]);
    file_release(&file);
    ck_assert(!start("-m m -m uniform -f plain.csv --total --format text -o a.txt"));
    ck_assert(!file_map(&file, "a.txt", &err)); /* of several texts, a table for each model */
    ck_assert(memmem(file.bytes, file.size, "dog the runs", strlen("dog the runs")));
    file_release(&file);
    expect("-m m -m uniform 'the cat runs.' --total", "surprisal_bits", "15\n12\n");
    expect("-m uniform -m m -f t.csv --per c", "c surprisal_bits", "x 15\ny 9\nx 13\ny 8\n");
}

TEST(text_has_the_sum_of_all_texts)
{
    struct file file;
    static const char sum[] = "all 2 texts · 4 tokens scored · ";
    ck_assert(!start("-m m -f plain.csv --format text -o a.txt"));
    ck_assert(!file_map(&file, "a.txt", &err));
    ck_assert(memmem(file.bytes, file.size, sum, strlen(sum)));
    file_release(&file);
}

TEST(there_may_be_more_models_than_texts)
{
    struct buf line = {0};
    buf_text(&line, "-m m");
    for (size_t i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "m%zu", i);
        ck_assert_int_eq(symlink("m", name), 0);
        buf_format(&line, " -m %s", name);
    }
    buf_text(&line, " 'the cat' --total --bits --format markdown -o a.md");
    ck_assert_msg(!start(line.bytes), "%s", err.text);
    buf_release(&line);
}

TEST(a_folder_has_words_totals_a_figure_and_a_manifest)
{
    ck_assert_msg(!start("-m m -f t.csv --words --bits --per c -o out/"), "%s", err.text);
    ck_assert_uint_eq(scratch_count("out"), 4);
    scratch_expect("out/totals.csv", "c,logprob_nats,surprisal_bits,tokens,perplexity,"
                                     "bits_per_token\n"
                                     "x,-9.010914,13,5,6.062866,2.6\n"
                                     "y,-5.5451775,8,3,6.349604,2.6666667\n");
    static const char *const others[] = {"out/words.csv", "out/surprisal.svg", "out/manifest.json"};
    for (size_t i = 0; i < COUNT(others); i++)
        ck_assert_msg(access(others[i], R_OK) == 0, "%s", others[i]);
}

/* --- refusals and notes ----------------------------------------------------------------------- */

TEST(options_that_do_not_apply_to_a_result_are_refused)
{
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"-m m -f t.csv --total --words",
         "--words does not apply to --total, which reports totals"},
        {"-m m -f t.csv --group c --words", "--words does not apply to --group"},
        {"-m m -f pairs.csv --per c --words", "--words does not apply to a table of minimal pairs"},
        {"-m m -f t.csv --per c --mean texts", "--mean does not apply to --per, which reports"},
        {"-m m -f pairs.csv --mean texts", "--mean does not apply to a table of minimal pairs"},
        {"-m m -f t.csv --total --continue ' a'", "--continue reports totals; --total does not"},
        {"-m m -f t.csv --group c --per item",
         "expected totals of texts of one model, found --per"},
        {"-m m -f pairs.csv --group c", "expected totals of texts of one model, found pairs"},
        {"-m m -m uniform -f t.csv --group c --format svg -o a.svg",
         "of one model, found 2 models"},
        {"-m m -f t.csv --group d", "--group: expected a column of the table (item, c"},
        {"-m m -f t.csv --per c,d", "--per: expected a column of the table"},
        {"-m m -f marks.csv --per region --words", "--per region and --words cannot be combined"},
        {"-m m -f t.csv --per c --query 0", "--query selects rows of tokens or words; --per does"},
        {"-m m -f t.csv --total --query 0", "--total does not apply: leave one of them out"},
        {"-m m -f t.csv --unigrams f.tsv", "--unigrams: expected --total of texts"},
        {"-m m -f t.csv --group c --unigrams f.tsv --query 0",
         "--unigrams and --query cannot be combined"},
        {"-m m 'the cat' --next 2 --total", "--next and --total cannot be combined"},
        {"-m m 'the cat' --next 2 --words", "--next and --words cannot be combined"},
        {"-m m 'the cat' --window 17", "expected at most the 16 tokens of the context, found 17"},
        {"-m m 'the cat' 'the dog' --query 5", "sentence 0: --query: expected numbers from 0 to 1"},
        {"-m m -f some.jsonl", "with 'continuation' like others, found one with 'text'"},
        {"-m m --ids 1,2 --continue ' runs'", "--continue: expected a text, found ids"},
        {"-m m 'the run' --continue s", "--continue 's': expected the text's 2 tokens unchanged, "
                                        "found another one at 1"},
        {"-m m 'the run' --continue ''", "--continue '': expected at least one token, found none"},
        {"-m masked 'the [MASK] run' --continue '[MASK]'", "expected no mask token, found one"},
        {"-m masked 'the [MASK] [MASK]' --continue cat", "expected one mask token, found 2"},
        {"-m masked 'the [MASK]' --total", "expected a text to score with --total, found a mask"},
        {"-m masked 'the [MASK]' --query 0", "--query: expected a mask token, found others"},
        {"-m masked 'the [MASK]' 'the cat'",
         "sentence 1: expected a text with a mask token like the first, found one without"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        expect_refusal(cases[i].line, cases[i].message);
}

TEST(notes_say_what_has_no_number_or_one_that_means_little)
{
    static const struct {
        const char *line, *note; /* NULL: no note of this kind, only that of the beginning token */
    } cases[] = {
        {"-m m -f t.csv --total", "1 blank text has no score: 't.csv' line 5\n"},
        {"-m m -f pairs.csv", "1 pair with two texts of the same log-probability: each counts as"},
        {"-m m 'the dog run' --total --unigrams f.tsv",
         "--unigrams: 1 of 3 words are not in 'f.tsv' and count as 1\n"},
        {"-m m 'the cat' --total --top 5", "--top does not apply to --total\n"},
        {"-m m 'the cat' --words", "each text begins with the token '<s>'"},
        {"-m m 'the cat'", "texts have no beginning token here"},
        {"-m m 'the cat' --special none", NULL},
        {"-m m 'the cat' --words --special none",
         "'m': the first word of 1 text has no score without a beginning token"},
        {"-m m 'the cat' --continue ' runs'", "texts have no beginning token here"},
        {"-m m 'the cat' --continue ' runs' --words", "texts have no beginning token here"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        scored(cases[i].line, "");
        ck_assert_msg(!cases[i].note ? !*said : strstr(said, cases[i].note) != NULL, "%s: %s",
                      cases[i].line, said);
    }
}

/* A word has the region of its first token: `runs.` is one word of two regions. */
TEST(a_region_without_a_word_of_its_own_has_a_note)
{
    scratch_write("joined.csv", "S,V,E\nthe cat,runs,.\n");
    expect("-m m -f joined.csv --regions S,V,E --words", "text region surprisal_bits",
           "the S 1\ncat S 3\nruns. V 11\n");
    ck_assert_msg(strstr(said, "region 'E' has no row: its word begins in the region before it"),
                  "%s", said);
    expect("-m m -f joined.csv --regions S,V,E --per region", "region surprisal_bits",
           "S 4\nV 5\nE 6\n");
    scratch_write("gap.csv", "S,V,E\nthe cat,,.\n");
    expect("-m m -f gap.csv --regions S,V,E --per region", "region surprisal_bits", "S 4\nE 6\n");
}

TEST(facts_are_those_of_the_rows)
{
    static const struct {
        const char *line;
        double tokens, bits; /* NaN: no such fact */
    } cases[] = {
        {"-m m 'the cat runs.'", 3, 14},
        {"-m m 'the cat runs.' --query 1,2", 2, 8},
        {"-m m 'the cat runs.' --words --query 2", 2, 11},
        {"-m m -f t.csv --per c", 8, 21},
        {"-m m -f t.csv --total", 8, 21},
        {"-m m -f t.csv --mean texts", NAN, NAN}, /* the perplexity of all is not their mean */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct json *root = result_of(cases[i].line);
        double tokens = NAN, sum = NAN;
        const struct json *facts = json_member(root, "facts");
        json_get_number(json_member(facts, "tokens_scored"), &tokens);
        json_get_number(json_member(facts, "surprisal_bits"), &sum);
        json_free(root);
        ck_assert_msg(isnan(cases[i].tokens) ? isnan(tokens) : tokens == cases[i].tokens, "%s: %g",
                      cases[i].line, tokens);
        ck_assert_msg(isnan(cases[i].bits) ? isnan(sum) : fabs(sum - cases[i].bits) < 1e-5,
                      "%s: %g", cases[i].line, sum);
    }
}
