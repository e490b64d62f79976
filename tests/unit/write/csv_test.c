#include <string.h>
#include <unistd.h>

#include "../unit.h"
#include "../rigs/memory_stream.h"
#include "../rigs/report_fixture.h"

TEST(one_matrix_stands_alone)
{
    ck_assert_str_eq(fixture_written(csv_write, &fixture_plain, &fixture_alone),
                     "query\\key,0:Life,1:is,2:Life\n"
                     "0:Life,1,0,0\n"
                     "1:is,0.25,0.75,0\n"
                     "2:Life,0.1,0.2,0.7\n");
}

TEST(labels_are_quoted_and_their_blanks_visible)
{
    ck_assert_str_eq(fixture_written(csv_write, &fixture_odd, &fixture_alone),
                     "query\\key,0:the,\"1:,\",\"2:\"\"\",3:↵,4:爱,5:🍰,6:the,7:\\xc3,8:\\xa9\n"
                     "0:the,1,0,0,0,0,0,0,0,0\n"
                     "\"1:,\",0.5,0.5,0,0,0,0,0,0,0\n"
                     "\"2:\"\"\",0.5,0,0.5,0,0,0,0,0,0\n"
                     "3:↵,0.5,0,0,0.5,0,0,0,0,0\n"
                     "4:爱,0.5,0,0,0,0.5,0,0,0,0\n"
                     "5:🍰,0.5,0,0,0,0,0.5,0,0,0\n"
                     "6:the,0.5,0,0,0,0,0,0.5,0,0\n"
                     "7:\\xc3,0.5,0,0,0,0,0,0,0.5,0\n"
                     "8:\\xa9,0.5,0,0,0,0,0,0,0,0.5\n");
}

/* So many of the tensors of fixture_layers, from one on: embedding, k, weights; masked, weights. */
static struct report part_of_layers(size_t first, size_t count)
{
    struct report report = fixture_layers;
    report.tensors += first;
    report.tensor_count = count;
    return report;
}

TEST(several_matrices_of_the_same_columns_are_one_table)
{
    struct report report = part_of_layers(2, 2);
    ck_assert_str_eq(fixture_written(csv_write, &report, &fixture_alone),
                     "tensor,layer,head,row,0:Life,1:is,2:Life\n"
                     "weights,0,0,0:Life,1,0,0\n"
                     "weights,0,0,1:is,0.25,0.75,0\n"
                     "weights,0,0,2:Life,0.1,0.2,0.7\n"
                     "weights,0,1,0:Life,1,0,0\n"
                     "weights,0,1,1:is,0.5,0.5,0\n"
                     "weights,0,1,2:Life,0.3,0.3,0.4\n"
                     "masked,1,0,0:Life,0.5,-inf,-inf\n"
                     "masked,1,0,1:is,-1,2,-inf\n"
                     "masked,1,0,2:Life,1e-07,3,-12.5\n"
                     "masked,1,1,0:Life,1,-inf,-inf\n"
                     "masked,1,1,1:is,2,3,-inf\n"
                     "masked,1,1,2:Life,4,5,6\n");
    report = part_of_layers(0, 2);
    ck_assert_str_eq(fixture_written(csv_write, &report, &fixture_alone),
                     "tensor,layer,head,row,0,1\n"
                     "embedding,,,0:Life,0.5,-0.5\n"
                     "embedding,,,1:is,12345678,0.25\n"
                     "embedding,,,2:Life,0.5,-0.5\n"
                     "k,0,0,0:Life,1,2\n"
                     "k,0,0,1:is,3,4\n"
                     "k,0,0,2:Life,1,2\n"
                     "k,0,1,0:Life,-5,6\n"
                     "k,0,1,1:is,7,8\n"
                     "k,0,1,2:Life,-5,6\n");
}

TEST(several_sentences_are_one_table)
{
    struct report report = part_of_layers(0, 1);
    const struct report *reports[] = {&report, &report};
    ck_assert_str_eq(fixture_several(csv_write, reports, 2), "sentence,tensor,layer,head,row,0,1\n"
                                                             "0,embedding,,,0:Life,0.5,-0.5\n"
                                                             "0,embedding,,,1:is,12345678,0.25\n"
                                                             "0,embedding,,,2:Life,0.5,-0.5\n"
                                                             "1,embedding,,,0:Life,0.5,-0.5\n"
                                                             "1,embedding,,,1:is,12345678,0.25\n"
                                                             "1,embedding,,,2:Life,0.5,-0.5\n");
}

static void expect_refusal(const struct report *report, size_t count, const char *found)
{
    struct stream out = {0};
    struct err err = {0};
    struct place place = {.count = count};
    memory_stream_open(&out);
    ck_assert_int_eq(csv_write(&out, report, &place, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, found));
    ck_assert_ptr_nonnull(strstr(err.text, "--format tidy, or a folder"));
    ck_assert_uint_eq(out.written_bytes + out.used, 0);
    int descriptor = out.descriptor;
    stream_discard(&out);
    close(descriptor);
}

TEST(matrices_of_other_columns_are_no_table)
{
    expect_refusal(&fixture_layers, 1, "2 channels of 'embedding', 3 keys of 'weights'");
    expect_refusal(&fixture_selected, 2, "keys of 'weights' in 2 sentences");
}

/* All sentences look at the same source. */
TEST(keys_may_be_those_of_a_source)
{
    struct report report = fixture_cross;
    report.tensors += 1;
    report.tensor_count = 1;
    ck_assert_str_eq(fixture_written(csv_write, &report, &fixture_alone),
                     "query\\key,0:Life,1:is,2:Life\n"
                     "0:3,0.5,0.25,0.25\n"
                     "1:11,0,0,1\n");
    const struct report *reports[] = {&report, &report};
    ck_assert_str_eq(fixture_several(csv_write, reports, 2),
                     "sentence,tensor,layer,head,row,0:Life,1:is,2:Life\n"
                     "0,weights,0,0,0:3,0.5,0.25,0.25\n"
                     "0,weights,0,0,1:11,0,0,1\n"
                     "1,weights,0,0,0:3,0.5,0.25,0.25\n"
                     "1,weights,0,0,1:11,0,0,1\n");
}

/* Keys of several sentences are refused. */
static int write_alone(struct stream *out, const struct report *report, const struct place *place,
                       struct err *err)
{
    struct place alone = *place;
    alone.count = 1;
    return csv_write(out, report, &alone, err);
}

TEST(every_allocation_may_fail)
{
    fixture_starve(write_alone, &fixture_odd);
    struct report report = part_of_layers(0, 2); /* then with rows that need more room than that */
    struct label labels[16];
    fixture_starve(csv_write, &report);
    for (size_t i = 0; i < report.sentence.count; i++) {
        labels[i] = report.sentence.labels[i];
        labels[i].exact = i ? "a label that needs more room than all that stands above it, in a "
                              "header of words as short as those of this sentence, and then some"
                            : labels[i].exact;
    }
    report.sentence.labels = labels;
    fixture_starve(csv_write, &report);
}
