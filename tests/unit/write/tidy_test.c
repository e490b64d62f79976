#include <string.h>

#include "../unit.h"
#include "../rigs/report_fixture.h"

#define HEADER "tensor,layer,head,row,row_token,column,column_token,value\n"

TEST(a_line_is_a_cell_and_the_future_is_left_out)
{
    ck_assert_str_eq(fixture_written(tidy_write, &fixture_plain, &fixture_alone),
                     HEADER "weights,0,0,0,Life,0,Life,1\n"
                            "weights,0,0,1,is,0,Life,0.25\n"
                            "weights,0,0,1,is,1,is,0.75\n"
                            "weights,0,0,2,Life,0,Life,0.1\n"
                            "weights,0,0,2,Life,1,is,0.2\n"
                            "weights,0,0,2,Life,2,Life,0.7\n");
}

TEST(what_a_tensor_does_not_have_is_empty)
{
    struct report report = fixture_layers;
    report.tensor_count = 2;
    ck_assert_str_eq(fixture_written(tidy_write, &report, &fixture_alone),
                     HEADER "embedding,,,0,Life,0,0,0.5\n"
                            "embedding,,,0,Life,1,1,-0.5\n"
                            "embedding,,,1,is,0,0,12345678\n"
                            "embedding,,,1,is,1,1,0.25\n"
                            "embedding,,,2,Life,0,0,0.5\n"
                            "embedding,,,2,Life,1,1,-0.5\n"
                            "k,0,0,0,Life,0,0,1\n"
                            "k,0,0,0,Life,1,1,2\n"
                            "k,0,0,1,is,0,0,3\n"
                            "k,0,0,1,is,1,1,4\n"
                            "k,0,0,2,Life,0,0,1\n"
                            "k,0,0,2,Life,1,1,2\n"
                            "k,0,1,0,Life,0,0,-5\n"
                            "k,0,1,0,Life,1,1,6\n"
                            "k,0,1,1,is,0,0,7\n"
                            "k,0,1,1,is,1,1,8\n"
                            "k,0,1,2,Life,0,0,-5\n"
                            "k,0,1,2,Life,1,1,6\n");
}

TEST(the_masked_future_is_left_out_too)
{
    struct report report = fixture_layers;
    report.tensors = &fixture_layers.tensors[3];
    report.tensor_count = 1;
    const char *text = fixture_written(tidy_write, &report, &fixture_alone);
    ck_assert_ptr_eq(strstr(text, "inf"), NULL);
    ck_assert_ptr_ne(strstr(text, "masked,1,0,2,Life,2,Life,-12.5\n"), NULL);
}

TEST(scores_beyond_the_mask_are_numbers_like_others)
{
    struct kept scores = fixture_plain.tensors[0];
    struct report report = fixture_plain;
    scores.site = SITE_SCORES;
    report.tensors = &scores;
    const char *text = fixture_written(tidy_write, &report, &fixture_alone);
    ck_assert_ptr_ne(strstr(text, "scores,0,0,0,Life,2,Life,0\n"), NULL);
}

TEST(tokens_are_their_own_bytes_quoted_where_needed)
{
    static const char *const lines[] = {
        "weights,0,0,1,\",\",1,\",\",0.5\n",
        "weights,0,0,2,\"\"\"\",2,\"\"\"\",0.5\n",
        "weights,0,0,3,\"\n\",3,\"\n\",0.5\n",
        "weights,0,0,4,爱,0,the,0.5\n",
        "weights,0,0,5,🍰,5,🍰,0.5\n",
        "weights,0,0,6,the,6,the,0.5\n",
        "weights,0,0,7,\xEF\xBF\xBD,7,\xEF\xBF\xBD,0.5\n",
    };
    const char *text = fixture_written(tidy_write, &fixture_odd, &fixture_alone);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        ck_assert_msg(strstr(text, lines[i]) != NULL, "no %s in\n%s", lines[i], text);
}

TEST(several_sentences_share_one_header_and_are_numbered)
{
    static const struct report *const reports[] = {&fixture_cross, &fixture_plain};
    ck_assert_str_eq(fixture_several(tidy_write, reports, 2),
                     "sentence," HEADER "0,k,0,0,0,Life,0,0,1\n"
                     "0,k,0,0,1,is,0,0,-2\n"
                     "0,k,0,0,2,Life,0,0,1\n"
                     "0,weights,0,0,0,3,0,Life,0.5\n"
                     "0,weights,0,0,0,3,1,is,0.25\n"
                     "0,weights,0,0,0,3,2,Life,0.25\n"
                     "0,weights,0,0,1,11,0,Life,0\n"
                     "0,weights,0,0,1,11,1,is,0\n"
                     "0,weights,0,0,1,11,2,Life,1\n"
                     "1,weights,0,0,0,Life,0,Life,1\n"
                     "1,weights,0,0,1,is,0,Life,0.25\n"
                     "1,weights,0,0,1,is,1,is,0.75\n"
                     "1,weights,0,0,2,Life,0,Life,0.1\n"
                     "1,weights,0,0,2,Life,1,is,0.2\n"
                     "1,weights,0,0,2,Life,2,Life,0.7\n");
}

TEST(every_allocation_may_fail)
{
    fixture_starve(tidy_write, &fixture_odd);
}
