#include "format/gguf.h"

#include <string.h>

#include "../unit.h"
#include "base/buf.h"

/* W and D extend a byte to 32 or 64 bits. HEAD: numbers of tensors and keys. KEY: a key and its
 * kind. ROW: name, rank and size of a tensor, before its type, such as F32, and its offset, AT. */
#define W "\0\0\0"
#define D W W "\0"
#define HEAD(tensors, keys) "GGUF\3" W tensors D keys D
#define KEY(name, kind) "\1" D name kind W
#define ROW(name, size) "\1" D name "\1" W size D
#define F32 "\0" W
#define AT(place) place D
#define ALIGNMENT "\21" D "general.alignment\4" W

static struct err err;
static struct gguf gguf;
static struct buf bytes;

static void forget(void)
{
    gguf_release(&gguf);
    buf_release(&bytes);
}

FIXTURE(NULL, forget)

/* Read a file with a header, padded to a multiple of 32, and `data` bytes. */
static int read_bytes(const char *header, size_t size, size_t data)
{
    buf_bytes(&bytes, header, size);
    if (data) {
        buf_repeat(&bytes, "", 1, (0 - size) % 32);
        buf_repeat(&bytes, "x", 1, data);
    }
    struct file file = file_borrow(bytes.bytes, bytes.size);
    return gguf_read(&gguf, &file, &err);
}

#define READ(header, data) \
    ck_assert_msg(!read_bytes(header, sizeof(header) - 1, data), "%s", err.text)

TEST(numbers_of_all_kinds_are_read)
{
    static const struct {
        const char *bytes;
        size_t size;
        long long number;
    } rows[] = {
#define NUMBER(bytes, number) {bytes, sizeof(bytes) - 1, number}
        NUMBER("\0" W "\377", 255),
        NUMBER("\1" W "\377", -1),
        NUMBER("\2" W "\377\377", 65535),
        NUMBER("\3" W "\376\377", -2),
        NUMBER("\4" W "\377\377\377\377", 4294967295),
        NUMBER("\5" W "\375\377\377\377", -3),
        NUMBER("\12" W "\5" D, 5),
        NUMBER("\13" W "\373\377\377\377\377\377\377\377", -5),
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        static const char front[] = HEAD("\0", "\1") "\1" D "k";
        long long found = 0;
        double real = 0;
        buf_bytes(&bytes, front, sizeof front - 1);
        buf_bytes(&bytes, rows[i].bytes, rows[i].size);
        struct file file = file_borrow(bytes.bytes, bytes.size);
        ck_assert_msg(!gguf_read(&gguf, &file, &err), "%zu: %s", i, err.text);
        ck_assert_int_eq(gguf_integer(&gguf, "k", -5, UINT32_MAX, &found, &err), 0);
        ck_assert_int_eq(gguf_double(&gguf, "k", -5, UINT32_MAX, &real, &err), 0);
        ck_assert_int_eq(found, rows[i].number);
        ck_assert_double_eq(real, (double)rows[i].number);
        ck_assert_int_ne(gguf_integer(&gguf, "k", 1000, 1000, &found, &err), 0);
        memset(&err, 0, sizeof err);
        forget();
    }
}

TEST(tensors_are_aligned)
{
    READ(HEAD("\2", "\0") ROW("b", "\1") F32 AT("\40") ROW("a", "\2") F32 AT("\0"), 36);
    const struct gguf_tensor *a = gguf_find(&gguf, "a");
    const struct gguf_tensor *b = gguf_find(&gguf, "b");
    ck_assert_uint_eq(a->begin % 32, 0);
    ck_assert_uint_eq(a->end, a->begin + 8);
    ck_assert_uint_eq(b->begin, a->begin + 32);
    ck_assert_uint_eq(b->end, bytes.size);
}

static const struct refusal {
    const char *bytes;
    size_t size, data;
    const char *message;
} refusals[] = {
#define REFUSED(bytes, data, message)           \
    {                                           \
        bytes, sizeof(bytes) - 1, data, message \
    }
    REFUSED("", 0, "expected a GGUF file, found one that does not begin with GGUF"),
    REFUSED("GGUX", 0, "found one that does not begin with GGUF"),
    REFUSED("<html>", 0, "expected a GGUF file, found an HTML page"),
    REFUSED("GGUF", 0, "expected 4 bytes, found 0 to the end of the file"),
    REFUSED("GGUF\1" W, 0, "expected version 2 or 3, found 1"),
    REFUSED("GGUF\0\0\0\3", 0, "expected a little-endian file, found a big-endian one"),
    REFUSED("GGUF\3" W "\0" D, 0, "expected 8 bytes, found 0 to the end of the file"),
    REFUSED(HEAD("\1", "\0"), 0, "expected at most 0 tensors in a file of this size, found 1"),
    REFUSED("GGUF\3" W "\0" D "\377\377\377\377\377\377\377\377", 0,
            "expected at most 0 keys in a file of this size, found 18446744073709551615"),
    REFUSED(HEAD("\0", "\1") KEY("a", "\15") "\0", 0,
            "key 'a': expected a kind of value from 0 to 12, found 13"),
    REFUSED(HEAD("\0", "\1") "\0" D "\7" W "\1\1", 0,
            "key 0 of 1: expected a name of 1 to 65535 bytes, found 0"),
    REFUSED(HEAD("\0", "\1") "\1" D "\377\7" W "\1", 0, "key 0 of 1: expected a name in UTF-8"),
    REFUSED(HEAD("\0", "\1") "\2" D "a\0\7" W "\1", 0, "key 0 of 1: expected a name in UTF-8"),
    REFUSED(HEAD("\0", "\1") "\377\377\377\377\377\377\377\377aaaaaa", 0,
            "key 0 of 1: expected 18446744073709551615 bytes, found 6 to the end of the file"),
    REFUSED(HEAD("\0", "\2") KEY("a", "\7") "\1" KEY("a", "\7") "\1", 0,
            "key 'a': expected once, found twice"),
    REFUSED(HEAD("\0", "\1") KEY("a", "\10") "\3" D "ab", 0,
            "key 'a': expected 3 bytes, found 2 to the end of the file"),
    REFUSED(HEAD("\0", "\1") KEY("a", "\11") "\11" W "\0" D, 0,
            "key 'a': an array of arrays is not supported"),
    REFUSED(HEAD("\0", "\1") KEY("a", "\11") "\12" W "\0\0\0\0\0\0\0\40", 0,
            "key 'a': expected 2305843009213693952 items of 8 bytes, found 0 to the end"),
    REFUSED(HEAD("\0", "\1") KEY("a", "\11") "\10" W "\2" D "\0" D, 0,
            "key 'a': item 1: expected 8 bytes, found 0 to the end of the file"),
    REFUSED(HEAD("\0", "\1") ALIGNMENT "\30" W, 0,
            "key 'general.alignment': expected a power of 2, found 24"),
    REFUSED(HEAD("\0", "\1") ALIGNMENT "\0" W, 0,
            "key 'general.alignment': expected a number from 1 to 1048576, found 0"),
    REFUSED(HEAD("\1", "\0") "\1" D "t\0" W F32 AT("\0") "\0" D, 0,
            "tensor 't': expected 1 to 4 dimensions, found 0"),
    REFUSED(HEAD("\1", "\0") "\1" D "t\5" W F32 AT("\0") "\0" D, 0,
            "tensor 't': expected 1 to 4 dimensions, found 5"),
    REFUSED(HEAD("\1", "\0") ROW("t", "\0") F32 AT("\0"), 0,
            "tensor 't': dimension 0: expected sizes whose product fits in 64 bits, found 0"),
    REFUSED(HEAD("\1", "\0") "\1" D "t\2" W "\0\0\0\0\1\0\0\0"
                             "\0\0\0\0\1\0\0\0" F32 AT("\0"),
            0, "tensor 't': dimension 1: expected sizes whose product fits in 64 bits"),
    REFUSED(HEAD("\1", "\0") "\1" D "t\1" W "\0\0\0\0\0\0\0\100" F32 AT("\0"), 0,
            "tensor 't': expected an end that fits in 64 bits, found offset 0"),
    REFUSED(HEAD("\1", "\0") ROW("t", "\2") "\4" W AT("\0"), 8,
            "tensor 't': expected a type such as 0 (F32), 1 (F16), 8 (Q8_0) or 30 (BF16), found 4"),
    REFUSED(HEAD("\1", "\0") ROW("t", "\2") "\10" W AT("\0"), 8,
            "tensor 't': expected rows of a multiple of 32 numbers for Q8_0, found 2"),
    REFUSED(HEAD("\1", "\0") ROW("t", "\2") F32 AT("\1"), 9,
            "tensor 't': expected an offset that is a multiple of 32, found 1"),
    REFUSED(HEAD("\1", "\0") ROW("t", "\2") F32 AT("\0"), 7,
            "tensor 't': expected data up to byte 8 of 7, found the end of the file"),
    REFUSED(HEAD("\1", "\0") ROW("t", "\2") F32 "\340\377\377\377\377\377\377\377", 8,
            "tensor 't': expected data up to byte 18446744073709551592 of 8"),
    REFUSED(HEAD("\2", "\0") ROW("t", "\2") F32 AT("\0") ROW("t", "\2") F32 AT("\40"), 40,
            "tensor 't': expected once, found twice"),
    REFUSED(HEAD("\2", "\0") ROW("t", "\2") F32 AT("\0") ROW("u", "\2") F32 AT("\0"), 40,
            "tensor 'u': expected an offset from 8 on, where another ends, found 0"),
};

TEST_LOOP(invalid_files_are_refused_with_the_reason, COUNT(refusals))
{
    const struct refusal *refusal = &refusals[_i];
    ck_assert_int_ne(read_bytes(refusal->bytes, refusal->size, refusal->data), 0);
    ck_assert_msg(strstr(err.text, refusal->message), "%s", err.text);
    ck_assert_ptr_null(gguf.file.bytes);
}
