#include <string.h>

#include "../unit.h"
#include "../rigs/report_fixture.h"

/* The header, which begins after its length of 8 bytes and ends at the last brace before `size`.
 */
static const char *header_of(const struct report *report, size_t data_size)
{
    static char header[4096];
    const char *bytes = fixture_written(tensors_report_write, report, &fixture_alone);
    size_t size = fixture_size() - 8 - data_size;
    ck_assert_uint_lt(size, sizeof header);
    memcpy(header, bytes + 8, size);
    while (size > 0 && header[size - 1] == ' ')
        size--;
    header[size] = '\0';
    return header;
}

TEST(every_tensor_stands_under_its_name)
{
    const struct kept *last = &fixture_layers.tensors[4];
    size_t floats = 6 + 12 + 18 + 18 + 18;
    ck_assert_str_eq(
        header_of(&fixture_layers, floats * sizeof(float)),
        "{\"__metadata__\":{\"format\":\"pt\",\"model\":\"life\",\"sentence\":\"Life is Life\","
        "\"ids\":\"[0, 1, 0]\",\"tokens\":\"[\\\"Life\\\", \\\"is\\\", \\\"Life\\\"]\"},"
        "\"embedding\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[0,24]},"
        "\"h.0.k\":{\"dtype\":\"F32\",\"shape\":[2,3,2],\"data_offsets\":[24,72]},"
        "\"h.0.weights\":{\"dtype\":\"F32\",\"shape\":[2,3,3],\"data_offsets\":[72,144]},"
        "\"h.1.masked\":{\"dtype\":\"F32\",\"shape\":[2,3,3],\"data_offsets\":[144,216]},"
        "\"h.1.weights\":{\"dtype\":\"F32\",\"shape\":[2,3,3],\"data_offsets\":[216,288]}}");
    const char *bytes = fixture_written(tensors_report_write, &fixture_layers, &fixture_alone);
    ck_assert_mem_eq(bytes + fixture_size() - 72, last->data, 72);
}

TEST(selected_heads_are_in_the_metadata)
{
    const char *header = header_of(&fixture_selected, 9 * sizeof(float));
    ck_assert_ptr_ne(strstr(header, "\"heads\":\"[1]\"}"), NULL);
}

TEST(ids_have_no_sentence_and_a_source_has_its_own_notes)
{
    ck_assert_str_eq(
        header_of(&fixture_cross, 9 * sizeof(float)),
        "{\"__metadata__\":{\"format\":\"pt\",\"model\":\"models/cross\",\"ids\":\"[3, 11]\","
        "\"tokens\":\"[\\\"3\\\", \\\"11\\\"]\",\"source\":\"Life is Life\","
        "\"source_ids\":\"[0, 1, 0]\","
        "\"source_tokens\":\"[\\\"Life\\\", \\\"is\\\", \\\"Life\\\"]\"},"
        "\"h.0.k\":{\"dtype\":\"F32\",\"shape\":[1,3,1],\"data_offsets\":[0,12]},"
        "\"h.0.weights\":{\"dtype\":\"F32\",\"shape\":[1,2,3],\"data_offsets\":[12,36]}}");
}

TEST(texts_are_escaped_once_as_a_list_and_once_as_a_note)
{
    const char *header = header_of(&fixture_odd, 81 * sizeof(float));
    ck_assert_ptr_ne(strstr(header, "\"model\":\"o\\\"dd\",\"sentence\":\"the,\\\"\\n爱🍰theé\","),
                     NULL);
    ck_assert_ptr_ne(strstr(header, "\"tokens\":\"[\\\"the\\\", \\\",\\\", \\\"\\\\\\\"\\\", "
                                    "\\\"\\\\n\\\", \\\"爱\\\", \\\"🍰\\\", \\\"the\\\", "
                                    "\\\"\xEF\xBF\xBD\\\", \\\"\xEF\xBF\xBD\\\"]\""),
                     NULL);
}

TEST(a_zero_byte_does_not_cut_the_sentence)
{
    struct report report = fixture_plain;
    report.sentence.text = "Life\0is\0";
    report.sentence.size = 8;
    const char *header = header_of(&report, 9 * sizeof(float));
    ck_assert_ptr_ne(strstr(header, "\"sentence\":\"Life\xEF\xBF\xBDis\xEF\xBF\xBD\","), NULL);
}

TEST(every_allocation_may_fail)
{
    fixture_starve(tensors_report_write, &fixture_odd);
}
