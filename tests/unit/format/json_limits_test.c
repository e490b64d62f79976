#include "base/buf.h"
#include "format/json.h"

#include "../unit.h"

/* "[1,1, ... 1]", or "xx ... x". */
static struct buf repeated(const char *open, const char *piece, size_t count, const char *close)
{
    struct buf text = {0};
    buf_text(&text, open);
    for (size_t i = 0; i < count; i++)
        buf_text(&text, piece);
    buf_text(&text, close);
    return text;
}

TEST(a_tree_is_bounded)
{
    static const struct {
        const char *open, *piece, *close;
        size_t most;
        const char *message;
    } cases[] = {
        {"[", "0,", "0]", JSON_VALUES_MAX - 2, "expected at most 262144 values, found 262145"},
        {"[\"", "x", "\"]", JSON_TEXT_BYTES_MAX,
         "expected at most 16777216 bytes of texts, found 16777217"},
        {"{\"", "x", "\":0}", JSON_TEXT_BYTES_MAX,
         "expected at most 16777216 bytes of texts, found 16777217"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct json *root = NULL;
        struct err err = {0};
        struct buf most = repeated(cases[i].open, cases[i].piece, cases[i].most, cases[i].close);
        struct buf more =
            repeated(cases[i].open, cases[i].piece, cases[i].most + 1, cases[i].close);
        ck_assert_msg(!json_parse(&root, most.bytes, most.size, &err), "%s", err.text);
        json_free(root);
        ck_assert_int_eq(json_parse(&root, more.bytes, more.size, &err), -1);
        ck_assert_str_eq(err.text, cases[i].message);
        buf_release(&most);
        buf_release(&more);
    }
}
