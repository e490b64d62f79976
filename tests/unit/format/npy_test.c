#include "format/npy.h"

#include <string.h>

#include "../unit.h"
#include "../rigs/memory_stream.h"
#include "format/safetensors.h"

static const float numbers[24] = {0, 1, -2.5f, 0.1f, 4, 5, 6, 7, 8, 9, 10, 11};

static struct file written(size_t rank, const size_t *shape)
{
    struct stream out = {0};
    memory_stream_open(&out);
    npy_begin(&out, rank, shape);
    stream_bytes(&out, numbers, dtype_float_bytes(rank, shape));
    return memory_stream_take(&out);
}

/* The file of np.save (numpy 1.24) for a matrix of 2 × 3. */
TEST(a_matrix_has_the_bytes_of_numpy)
{
    static const char expected[] = "\x93NUMPY\x01\x00\x76\x00"
                                   "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
                                   "                                                          \n"
                                   "\x00\x00\x00\x00\x00\x00\x80\x3f\x00\x00\x20\xc0"
                                   "\xcd\xcc\xcc\x3d\x00\x00\x80\x40\x00\x00\xa0\x40";
    struct file file = written(2, (size_t[]){2, 3});
    ck_assert_uint_eq(file.size, sizeof expected - 1);
    ck_assert_mem_eq(file.bytes, expected, file.size);
    file_release(&file);
}

/* The file of np.save (numpy 1.24) for the str 'aé🍰'. */
TEST(a_text_has_the_bytes_of_numpy)
{
    static const char expected[] = "\x93NUMPY\x01\x00\x76\x00"
                                   "{'descr': '<U3', 'fortran_order': False, 'shape': (), }    "
                                   "                                                          \n"
                                   "a\x00\x00\x00\xe9\x00\x00\x00\x70\xf3\x01\x00";
    struct buf npy = {0};
    npy_add_text(&npy, "aé🍰", strlen("aé🍰"));
    ck_assert_uint_eq(npy.size, sizeof expected - 1);
    ck_assert_mem_eq(npy.bytes, expected, npy.size);
    struct file file = file_borrow(npy.bytes, npy.size), matrix = written(1, (size_t[]){2});
    ck_assert(npy_has_texts(&file) && !npy_has_texts(&matrix));
    buf_release(&npy);
    file_release(&matrix);
}

TEST(every_shape_has_a_tuple_and_aligned_data)
{
    static const struct {
        size_t rank;
        size_t shape[8];
        size_t count;
        const char *tuple;
    } cases[] = {
        {0, {0}, 1, "'shape': (), }"},
        {1, {0}, 0, "'shape': (0,), }"},
        {1, {12}, 12, "'shape': (12,), }"},
        {2, {3, 4}, 12, "'shape': (3, 4), }"},
        {2, {3, 0}, 0, "'shape': (3, 0), }"},
        {3, {2, 3, 4}, 24, "'shape': (2, 3, 4), }"},
        {8, {1, 1, 1, 2, 1, 1, 1, 3}, 6, "'shape': (1, 1, 1, 2, 1, 1, 1, 3), }"},
        {2, {1152921504606846976, 0}, 0, "'shape': (1152921504606846976, 0), }"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct file file = written(cases[i].rank, cases[i].shape);
        const unsigned char *bytes = (const unsigned char *)file.bytes;
        size_t data_at = 10 + bytes[8] + 256 * bytes[9];
        ck_assert_uint_eq(data_at % 64, 0);
        ck_assert_ptr_nonnull(memmem(bytes, data_at, cases[i].tuple, strlen(cases[i].tuple)));
        ck_assert_int_eq(bytes[data_at - 1], '\n');
        ck_assert_uint_eq(file.size, data_at + cases[i].count * sizeof(float));
        ck_assert_mem_eq(bytes + data_at, numbers, cases[i].count * sizeof(float));
        file_release(&file);
    }
}

/* --- reading ---------------------------------------------------------------------------------- */

static struct npy array;
static struct arena arena;

static int read_bytes(const char *bytes, size_t size, struct err *err)
{
    struct file file = file_borrow(bytes, size);
    return npy_read_bytes(&array, &file, &arena, err);
}

TEST(written_files_can_be_read)
{
    static const size_t shape[] = {2, 3, 4};
    for (size_t rank = 0; rank <= COUNT(shape); rank++) {
        struct file file = written(rank, shape);
        ck_assert(!read_bytes(file.bytes, file.size, NULL));
        ck_assert_uint_eq(array.rank, rank);
        ck_assert_mem_eq(array.shape, shape, rank * sizeof *shape);
        ck_assert_mem_eq(array.data, numbers, dtype_float_bytes(rank, shape));
        file_release(&file);
    }
    arena_release(&arena);
}

#define HEADER(type, order, shape) \
    "{'descr': '" type "', 'fortran_order': " order ", 'shape': " shape "}"
#define FILE_OF(length, header, data) "\x93NUMPY\x01\x00" length "\x00" header data

TEST(float16_in_fortran_order_becomes_float32_in_c_order)
{
    static const char bytes[] = FILE_OF("\x3b", HEADER("<f2", "True", "(2, 1, 3)"),
                                        "\x00\x3c\x00\x40\x00\x42\x00\x44\x00\x45\x00\x46");
    static const float wanted[] = {1, 3, 5, 2, 4, 6};
    ck_assert(!read_bytes(bytes, sizeof bytes - 1, NULL));
    ck_assert_mem_eq(array.data, wanted, sizeof wanted);
    arena_release(&arena);
}

static const struct {
    const char *bytes;
    size_t size;
    const char *message;
} refused[] = {
#define ROW(bytes, message)               \
    {                                     \
        bytes, sizeof(bytes) - 1, message \
    }
    ROW("", "expected a NumPy array file (np.save), found something else"),
    ROW(FILE_OF("\xff", HEADER("<f4", "False", "(1,)"), "1234"),
        "expected a NumPy array file (np.save), found something else"),
    ROW(FILE_OF("\x37", HEADER("<i4", "False", "(1,)"), "1234"),
        "expected float16, float32 or float64 ('<f2', '<f4', '<f8'), found another type"),
    ROW(FILE_OF("\x42", HEADER("<f4", "False", "(1, 1, 1, 1, 1)"), "1234"),
        "expected a shape of at most 4 axes, found another"),
    ROW(FILE_OF("\x37", HEADER("<f4", "False", "(2,)"), "1234"),
        "expected as many numbers as its shape has, found 4 bytes"),
    ROW(FILE_OF("\x37", HEADER("<f4", "False", "(1,)"), "\x00\x00\xc0\x7f"),
        "expected finite numbers, found infinity or nan at 0"),
};

TEST_LOOP(unsupported_files_are_refused, COUNT(refused))
{
    struct err err = {0};
    ck_assert(read_bytes(refused[_i].bytes, refused[_i].size, &err));
    ck_assert_str_eq(err.text, refused[_i].message);
    arena_release(&arena);
}
