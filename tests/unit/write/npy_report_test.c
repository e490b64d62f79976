#include <string.h>

#include "../unit.h"
#include "../rigs/report_fixture.h"

TEST(the_one_tensor_is_written_with_its_shape)
{
    const char *bytes = fixture_written(npy_report_write, &fixture_plain, &fixture_alone);
    size_t data_size = 9 * sizeof(float);
    ck_assert_mem_eq(bytes, "\x93NUMPY\x01\x00", 8);
    ck_assert_ptr_ne(strstr(bytes + 10, "'shape': (1, 3, 3)"), NULL);
    ck_assert_uint_eq(fixture_size() % 64, data_size);
    ck_assert_mem_eq(bytes + fixture_size() - data_size, fixture_plain.tensors[0].data, data_size);
}

TEST(any_other_number_of_tensors_is_refused_with_the_number)
{
    static const struct {
        size_t count;
        const char *message;
    } cases[] = {
        {0, "--format npy: one file holds one tensor, found 0: name one by --show and --layer, or "
            "give a folder (-o DIR/)"},
        {5, "--format npy: one file holds one tensor, found 5: name one by --show and --layer, or "
            "give a folder (-o DIR/)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct report report = fixture_layers;
        struct stream out = {0};
        struct err err = {0};
        report.tensor_count = cases[i].count;
        ck_assert_int_eq(npy_report_write(&out, &report, &fixture_alone, &err), -1);
        ck_assert_int_eq(err.kind, ERR_USAGE);
        ck_assert_str_eq(err.text, cases[i].message);
    }
}
