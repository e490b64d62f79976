#include "measure/gold_relations.h"

#include <string.h>

#include "../unit.h"
#include "model/new_model.h"

/* Heads that look evenly at all they see: q and k are 0. Words are cut as tiny cuts them. */
static const char even[] = "{\"model_type\": \"gpt2\", \"vocab_size\": 1280, \"n_positions\": 40, "
                           "\"n_embd\": 4, \"n_layer\": 2, \"n_head\": 2}";

static struct viewer viewer;
static struct new_model new_model;
static struct folder tiny = {.path = "models/tiny"};
static struct arena arena;
static struct err err;
static struct gold gold;
static struct report report;

static void open(void)
{
    gold = (struct gold){.viewer = &viewer};
    int failed = new_model_open(&new_model, "even", even, strlen(even), &err) ||
                 model_open_folder(&viewer.model, &new_model.folder, &err) ||
                 machine_open(&viewer.machine, 1, &err) ||
                 tokenizer_open(&viewer.tokenizer, &tiny, &err);
    ck_assert_msg(!failed, "%s", err.text);
}

static void leave(void)
{
    gold_release(&gold);
    viewer_release(&viewer);
    new_model_release(&new_model);
    arena_release(&arena);
}

FIXTURE(open, leave)

static void add(const char *text)
{
    struct conllu_reader reader = {text, text + strlen(text), 1};
    struct conllu_sentence sentence;
    int failed = conllu_read(&reader, &sentence, &arena, &err) || gold_add(&gold, &sentence, &err);
    ck_assert_msg(!failed, "%s", err.text);
}

static void expect(size_t row, const char *name, const float *expected)
{
    struct sheet sheet = report_sheet(&report, 0);
    ck_assert_str_eq(sheet.rows.labels[row].text, name);
    for (size_t i = 0; i < sheet.columns.size; i++)
        ck_assert_msg(sheet_cell(&sheet, row, i) == expected[i], "%s, %s: expected %g, found %g",
                      name, sheet.columns.labels[i].text, (double)expected[i],
                      (double)sheet_cell(&sheet, row, i));
}

/* The · xylophone (six tokens, and a blank of its own in front) · saw · a · dog: to all that come
 * after it the second word gives most, for it has most tokens; the second has one before it. */
static const char sentence[] = "1\tThe\t_\tDET\t_\t_\t2\tdet\t_\t_\n"
                               "2\txylophone\t_\tNOUN\t_\t_\t3\tnsubj\t_\t_\n"
                               "3\tsaw\t_\tVERB\t_\t_\t0\troot\t_\t_\n"
                               "4\ta\t_\tDET\t_\t_\t5\tdet\t_\t_\n"
                               "5\tdog\t_\tNOUN\t_\t_\t3\tobj\t_\t_\n";

TEST(a_count_by_hand_is_the_same)
{
    add(sentence);
    ck_assert(!gold_report(&report, &gold, &arena, &err));
    ck_assert_uint_eq(report_sheet(&report, 0).rows.size, 3);
    /* pairs, layer, head, accuracy, null, offset, baseline */
    expect(0, "det/head", (const float[]){2, 0, 0, 0.5f, 0.5f, -1, 1});
    expect(1, "nsubj/head", (const float[]){1, 0, 0, 1, 1, -1, 1});
    expect(2, "obj", (const float[]){1, 0, 0, 0, 0, -2, 1});
    struct sheet accuracy = report_sheet(&report, 1);
    ck_assert_uint_eq(accuracy.columns.size, 4);
    for (size_t head = 0; head < 4; head++)
        ck_assert(sheet_cell(&accuracy, 0, head) == 0.5f);
}

TEST(the_best_offset_is_that_of_most)
{
    add(sentence);
    add("1\tdog\t_\t_\t_\t_\t2\tobj\t_\t_\n2\tsaw\t_\t_\t_\t_\t0\troot\t_\t_\n"
        "3\tthe\t_\t_\t_\t_\t4\tdet\t_\t_\n4\tdog\t_\t_\t_\t_\t2\tobj\t_\t_\n"
        "5\ta\t_\t_\t_\t_\t2\tobj\t_\t_\n6\tdog\t_\t_\t_\t_\t5\tdet\t_\t_\n");
    ck_assert(!gold_report(&report, &gold, &arena, &err));
    struct sheet sheet = report_sheet(&report, 0);
    ck_assert_str_eq(sheet.rows.labels[1].text, "obj");
    ck_assert(sheet_cell(&sheet, 1, 0) == 3); /* two words before twice, three once */
    ck_assert(sheet_cell(&sheet, 1, 5) == -2);
    ck_assert(sheet_cell(&sheet, 1, 6) == 2 / 3.0f);
}
