#include <string.h>

#include "../unit.h"
#include "base/buf.h"
#include "format/gguf.h"

static struct err err;
static struct gguf made, found;
static struct buf bytes;

static void forget(void)
{
    gguf_release(&made);
    gguf_release(&found);
    buf_release(&bytes);
}

FIXTURE(NULL, forget)

#define DO(what) ck_assert_msg(!(what), "%s", err.text)

static void read_again(void)
{
    DO(gguf_write_header(&bytes, &made, &err));
    size_t last = made.tensor_count ? made.tensors[made.tensor_count - 1].end : 0;
    ck_assert_uint_eq(bytes.size % 32, 0);
    buf_fill(&bytes, 'x', last);
    struct file file = file_borrow(bytes.bytes, bytes.size);
    DO(gguf_read(&found, &file, &err));
    ck_assert_uint_eq(found.pair_count, made.pair_count);
    ck_assert_uint_eq(found.tensor_count, made.tensor_count);
}

static void check_values(const struct gguf *gguf)
{
    long long integer = 0;
    double real = 0;
    bool flag = false;
    struct gguf_text text = {0};
    const struct gguf_value *array = NULL;
    DO(gguf_integer(gguf, "size", 0, UINT32_MAX, &integer, &err));
    DO(gguf_double(gguf, "real", 0, 1, &real, &err));
    DO(gguf_bool(gguf, "flag", &flag, &err));
    DO(gguf_text(gguf, "text", &text, &err));
    DO(gguf_array(gguf, "list", GGUF_TEXT, &array, &err));
    ck_assert(integer == 4000000000 && real == 0.25 && flag && gguf_is(text, "two words"));
    struct gguf_value rest = *array;
    ck_assert(rest.count == 2 && gguf_take_text(&rest, &text) && gguf_is(text, "a"));
    ck_assert(gguf_take_text(&rest, &text) && gguf_is(text, "") && !gguf_take_text(&rest, &text));
}

TEST(values_are_read_while_they_are_put_and_from_the_file)
{
    struct buf items = {0};
    gguf_add_text(&items, "a", 1);
    gguf_add_text(&items, "", 0);
    DO(gguf_put_integer(&made, "size", 4000000000, &err));
    DO(gguf_put_float(&made, "real", 0.25f, &err));
    DO(gguf_put_bool(&made, "flag", true, &err));
    DO(gguf_put_text(&made, "text", "two words", &err));
    DO(gguf_put_array(&made, "list", GGUF_TEXT, 2, &items, &err));
    buf_release(&items);
    check_values(&made);
    read_again();
    check_values(&found);
}

TEST(tensors_begin_at_multiples_of_32)
{
    DO(gguf_add_tensor(&made, "one", "F32", 1, (size_t[]){3}, &err));
    DO(gguf_add_tensor(&made, "two", "Q4_K", 2, (size_t[]){2, 256}, &err));
    DO(gguf_add_tensor(&made, "three", "BF16", 2, (size_t[]){5, 1}, &err));
    read_again();
    const struct gguf_tensor *two = gguf_find(&found, "two");
    const struct gguf_tensor *three = gguf_find(&found, "three");
    ck_assert(two->rank == 2 && two->sizes[0] == 256 && two->sizes[1] == 2 && two->count == 512);
    ck_assert_uint_eq(two->begin, gguf_find(&found, "one")->begin + 32);
    ck_assert_uint_eq(two->end - two->begin, 288);
    ck_assert_uint_eq(three->begin, two->end);
    ck_assert_uint_eq(three->end - three->begin, 10);
    ck_assert_uint_eq(gguf_gap(&made, 10), 22);
}

TEST(numbers_and_types_that_gguf_does_not_have_are_refused)
{
    ck_assert_int_ne(gguf_put_integer(&made, "size", 1ull << 32, &err), 0);
    ck_assert_str_eq(err.text, "key 'size': expected a number of 32 bits, found 4294967296");
    ck_assert_int_eq(err.kind, ERR_UNSUPPORTED);
    err_clear(&err);
    ck_assert_int_ne(gguf_add_tensor(&made, "t", "U8", 1, (size_t[]){3}, &err), 0);
    ck_assert_str_eq(err.text, "tensor 't': expected a type that GGUF has, found U8");
}
