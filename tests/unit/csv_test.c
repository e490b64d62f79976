#include <check.h>

#include "report_fixture.h"

Suite *csv_suite(void);

START_TEST(one_matrix_stands_alone)
{
    ck_assert_str_eq(fixture_written(csv_write, &fixture_plain, &fixture_alone),
                     "query\\key,0:Life,1:is,2:Life\n"
                     "0:Life,1,0,0\n"
                     "1:is,0.25,0.75,0\n"
                     "2:Life,0.1,0.2,0.7\n");
}
END_TEST

START_TEST(labels_are_quoted_and_their_blanks_visible)
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
END_TEST

START_TEST(several_matrices_are_blocks_two_blank_lines_apart)
{
    ck_assert_str_eq(fixture_written(csv_write, &fixture_layers, &fixture_alone),
                     "# embedding\n"
                     "token\\channel,0,1\n"
                     "0:Life,0.5,-0.5\n"
                     "1:is,12345678,0.25\n"
                     "2:Life,0.5,-0.5\n"
                     "\n\n"
                     "# k layer 0 head 0\n"
                     "token\\dim,0,1\n"
                     "0:Life,1,2\n"
                     "1:is,3,4\n"
                     "2:Life,1,2\n"
                     "\n\n"
                     "# k layer 0 head 1\n"
                     "token\\dim,0,1\n"
                     "0:Life,-5,6\n"
                     "1:is,7,8\n"
                     "2:Life,-5,6\n"
                     "\n\n"
                     "# weights layer 0 head 0\n"
                     "query\\key,0:Life,1:is,2:Life\n"
                     "0:Life,1,0,0\n"
                     "1:is,0.25,0.75,0\n"
                     "2:Life,0.1,0.2,0.7\n"
                     "\n\n"
                     "# weights layer 0 head 1\n"
                     "query\\key,0:Life,1:is,2:Life\n"
                     "0:Life,1,0,0\n"
                     "1:is,0.5,0.5,0\n"
                     "2:Life,0.3,0.3,0.4\n"
                     "\n\n"
                     "# masked layer 1 head 0\n"
                     "query\\key,0:Life,1:is,2:Life\n"
                     "0:Life,0.5,-inf,-inf\n"
                     "1:is,-1,2,-inf\n"
                     "2:Life,1e-07,3,-12.5\n"
                     "\n\n"
                     "# masked layer 1 head 1\n"
                     "query\\key,0:Life,1:is,2:Life\n"
                     "0:Life,1,-inf,-inf\n"
                     "1:is,2,3,-inf\n"
                     "2:Life,4,5,6\n"
                     "\n\n"
                     "# weights layer 1 head 0\n"
                     "query\\key,0:Life,1:is,2:Life\n"
                     "0:Life,1,0,0\n"
                     "1:is,0,1,0\n"
                     "2:Life,0.125,0.25,0.625\n"
                     "\n\n"
                     "# weights layer 1 head 1\n"
                     "query\\key,0:Life,1:is,2:Life\n"
                     "0:Life,1,0,0\n"
                     "1:is,1,0,0\n"
                     "2:Life,1,0,0\n");
}
END_TEST

START_TEST(several_sentences_are_named_on_a_line_each)
{
    struct report tokens_only = fixture_odd;
    tokens_only.tensor_count = 0;
    const struct report *reports[] = {&fixture_selected, &tokens_only};
    ck_assert_str_eq(fixture_several(csv_write, reports, 2), "# sentence 0: Life is Life\n"
                                                             "# weights layer 0 head 1\n"
                                                             "query\\key,0:Life,1:is,2:Life\n"
                                                             "0:Life,1,0,0\n"
                                                             "1:is,0.5,0.5,0\n"
                                                             "2:Life,0.3,0.3,0.4\n"
                                                             "\n\n"
                                                             "# sentence 1: the,\"↵爱🍰theé\n");
}
END_TEST

START_TEST(keys_may_be_those_of_a_source)
{
    ck_assert_str_eq(fixture_written(csv_write, &fixture_cross, &fixture_alone),
                     "# k layer 0 head 0\n"
                     "token\\dim,0\n"
                     "0:Life,1\n"
                     "1:is,-2\n"
                     "2:Life,1\n"
                     "\n\n"
                     "# weights layer 0 head 0\n"
                     "query\\key,0:Life,1:is,2:Life\n"
                     "0:3,0.5,0.25,0.25\n"
                     "1:11,0,0,1\n");
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    fixture_starve(csv_write, &fixture_odd);
    struct report report = fixture_cross; /* a header of keys, which are those of the source */
    struct label labels[16];
    for (size_t i = 0; i < report.sentence.count; i++) {
        labels[i] = report.sentence.labels[i];
        labels[i].exact = i ? "a label that needs more room than all that stands above it, in a "
                              "header of words as short as those of this sentence, and then some"
                            : labels[i].exact;
    }
    report.sentence.labels = labels;
    fixture_starve(csv_write, &report);
}
END_TEST

Suite *csv_suite(void)
{
    Suite *suite = suite_create("csv");
    TCase *tests = tcase_create("csv");
    tcase_add_test(tests, one_matrix_stands_alone);
    tcase_add_test(tests, labels_are_quoted_and_their_blanks_visible);
    tcase_add_test(tests, several_matrices_are_blocks_two_blank_lines_apart);
    tcase_add_test(tests, several_sentences_are_named_on_a_line_each);
    tcase_add_test(tests, keys_may_be_those_of_a_source);
    tcase_add_test(tests, every_allocation_may_fail);
    suite_add_tcase(suite, tests);
    return suite;
}
