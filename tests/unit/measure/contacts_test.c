#include "measure/contacts.h"

#include <math.h>
#include <string.h>

#include "../unit.h"

static struct viewer viewer;
static struct arena arena;
static struct err err;
static struct contact_head head;
static struct report report;

static void leave(void)
{
    viewer_release(&viewer);
    arena_release(&arena);
}

FIXTURE(NULL, leave)

static const float *contacts_of(const char *ids, size_t threads)
{
    static struct text_with_source pair;
    const struct capture_request asked = {.pairs = &pair, .count = 1, .reports = &report};
    const struct input input = {.ids = ids};
    viewer_release(&viewer);
    int failed =
        viewer_open(&viewer, "tests/references/golden-families/esm-absolute", threads, &err) ||
        contacts_open(&head, &viewer, &arena, &err) ||
        viewer_read(&viewer, &pair, &input, NULL, &arena, &err) ||
        contacts_check(&pair.text, &err) || contacts_run(&viewer, &head, &asked, 3, &arena, &err);
    ck_assert_msg(!failed, "%s (run from the repository's root)", err.text);
    return report.arrays[0].data;
}

/* Of transformers 5.23 in float64: EsmForMaskedLM.predict_contacts; the second protein has an <eos>
 * between two chains. */
static const struct {
    const char *ids;
    size_t count;
    float expected[36]; /* of each row the cells up to the diagonal */
} proteins[] = {
    {"0,5,9,3,4,11,10,6,8,2",
     8,
     {0.4316500F, 0.6260765F, 0.2737715F, 0.4169444F, 0.6115555F, 0.9917110F,
      0.4768580F, 0.0933527F, 0.0260848F, 0.9812554F, 0.2216024F, 0.3014787F,
      0.3160169F, 0.4110742F, 0.4753019F, 0.1771609F, 0.2788167F, 0.1112363F,
      0.3376734F, 0.5163909F, 0.8407339F, 0.3953527F, 0.1824591F, 0.0273251F,
      0.6866107F, 0.3952857F, 0.7970804F, 0.9121051F, 0.3553940F, 0.8277898F,
      0.7575868F, 0.1514763F, 0.4223135F, 0.1347572F, 0.0710912F, 0.5870565F}},
    {"0,5,9,2,4,2",
     4,
     {0.2007558F, 0.6328469F, 0.6591322F, 0.3775407F, 0.3775407F, 0.3775407F, 0.3400947F,
      0.0627449F, 0.3775407F, 0.8660819F}},
};

TEST_LOOP(contacts_are_those_of_transformers, COUNT(proteins))
{
    const float *found = contacts_of(proteins[_i].ids, 1), *expected = proteins[_i].expected;
    size_t count = proteins[_i].count;
    ck_assert_uint_eq(report.arrays[0].rows.size, count);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k <= i; k++, expected++) {
            ck_assert_float_eq_tol(found[i * count + k], *expected, 1e-6F);
            ck_assert(found[i * count + k] == found[k * count + i]);
        }
}

TEST(threads_give_the_same_bits)
{
    const float *one = contacts_of(proteins[0].ids, 1), *two = contacts_of(proteins[0].ids, 2);
    ck_assert_mem_eq(one, two, 64 * sizeof *one);
}

TEST(the_table_has_far_pairs_in_their_order)
{
    contacts_of(proteins[0].ids, 1);
    const struct table *table = report.tables;
    ck_assert_uint_eq(table->rows.size, 3); /* of all pairs 6 or more apart: 1-7, 1-8, 2-8 */
    static const long long rows[] = {2, 1, 1}, columns[] = {8, 7, 8};
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(column_integer(table_column(table, "residue"), i), rows[i]);
        ck_assert_int_eq(column_integer(table_column(table, "contact"), i), columns[i]);
    }
}
