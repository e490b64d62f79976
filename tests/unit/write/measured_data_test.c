#include "write/measured_data.h"

#include "../unit.h"
#include "../rigs/memory_stream.h"
#include "measure/reduction.h"

enum { MEASURES = 1 << MEASURE_MEAN | 1 << MEASURE_PREVIOUS_TOKEN };

static const float weights[] = {1, 0, 0.25f, 0.75f};
static const struct measured_column columns[] = {{"model", "a,b"}, {"bos", NULL}};

static struct arena arena;
static struct measured measured;
static struct measured_list list;

/* Head 1 of the only layer has seen a text of two tokens, and one of one. */
static void setup(void)
{
    static const struct reduction_size size = {
        .layers = 1, .heads = 2, .queries = 2, .keys = 2, .causal = true};
    struct tensor square = {weights, 2, {2, 2}, {2, 1}};
    struct tensor one = {weights, 2, {1, 1}, {1, 1}};
    struct reduction reduction;
    arena = (struct arena){0};
    ck_assert_int_eq(reduction_init(&reduction, MEASURES, &size, &arena, NULL), 0);
    ck_assert_int_eq(reduction_add(&reduction, 0, 1, &square, NULL, NULL), 0);
    ck_assert_int_eq(reduction_add(&reduction, 0, 1, &one, NULL, NULL), 0);
    measured = (struct measured){.model = "a \"b\"", .texts = 2};
    measured.columns = columns;
    measured.column_count = 2;
    ck_assert_int_eq(reduction_measure(&measured, &reduction, &arena, NULL), 0);
    list = (struct measured_list){"title", &measured, 1};
}

static void release(void)
{
    arena_release(&arena);
}

FIXTURE(setup, release)

static void expect(int failed, struct stream *out, const char *text)
{
    ck_assert_int_eq(failed, 0);
    stream_char(out, '\0');
    struct file file = memory_stream_take(out);
    ck_assert_str_eq(file.bytes, text);
    file_release(&file);
}

TEST(tidy_has_a_line_for_every_number)
{
    struct stream out = {0};
    memory_stream_open(&out);
    expect(measured_tidy_write(&out, &list, NULL, NULL), &out,
           "measure,model,bos,layer,head,query,key,count,value\n"
           "mean,\"a,b\",,0,1,0,0,2,1\n"
           "mean,\"a,b\",,0,1,1,0,1,0.25\n"
           "mean,\"a,b\",,0,1,1,1,1,0.75\n"
           "previous-token,\"a,b\",,0,1,,,1,0.25\n");
}

TEST(json_has_null_where_nothing_was_counted)
{
    struct stream out = {0};
    memory_stream_open(&out);
    ck_assert_int_eq(measured_json_write(&out, &list, NULL, NULL), 0);
    expect(0, &out,
           "{\"format\": \"attn-cli/measures/1\", \"groups\": [\n"
           " {\"model\": \"a \\\"b\\\"\", \"texts\": 2, \"settings\": {\"model\": \"a,b\"}, "
           "\"measures\": {\n"
           "  \"mean\": {\"basis\": \"mean over up to 2 texts\", \"maps\": [{\"layer\": 0, "
           "\"head\": 1, "
           "\"values\": [[1, null], [0.25, 0.75]]}]},\n"
           "  \"previous-token\": {\"basis\": \"mean over up to 1 query\", \"layers\": [0], "
           "\"heads\": [1], \"values\": [[0.25]]}}}]}\n");
}

TEST(a_measure_without_numbers_is_empty)
{
    struct measurement nothing = {.name = "entropy", .about = "", .basis = "none"};
    struct stream out = {0};
    measured.items = &nothing;
    measured.count = 1;
    memory_stream_open(&out);
    measured_json_measures(&out, &measured);
    expect(0, &out,
           "{\"entropy\": {\"basis\": \"none\", \"layers\": [], \"heads\": [], \"values\": []}}");
}
