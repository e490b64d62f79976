/* zip.c: reads the directory at the end of a zip archive, with 32 or 64 bits, and writes archives.
 *
 * Local headers, data descriptors and both end records must agree with the directory. Versions,
 * attributes, other extra fields and comments are ignored. */
#include <inttypes.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "base/buf.h"
#include "base/num.h"
#include "base/stream.h"
#include "format/pytorch.h"

enum {
    LOCAL_BYTES = 30,   /* a local header without its name */
    ENTRY_BYTES = 46,   /* an entry of the directory without its name */
    EXTRA_BYTES = 4,    /* kind and size of an extra field */
    END_BYTES = 22,     /* the end record without its comment */
    LOCATOR_BYTES = 20, /* the locator before the end record, which points to the zip64 end
                         * record */
    END64_BYTES = 56,
    HAS_DESCRIPTOR = 8, /* flag: CRC-32 and sizes follow the data */
};

/* Return a pointer to the `size` bytes at offset `at`; NULL if the file is too short, or the bytes
 * do not begin with `mark`. */
static const char *part(const struct file *file, uint64_t at, uint64_t size, const char *mark)
{
    if (at > file->size || size > file->size - at)
        return NULL;
    return memcmp(file->bytes + at, mark, strlen(mark)) == 0 ? file->bytes + at : NULL;
}

struct directory {
    uint64_t count, size, at;
};

/* True if a field has this value, or has all bits set, which means that a 64-bit field has the
 * value. */
static bool holds(const char *field, size_t size, uint64_t value)
{
    uint64_t found = num_of_bytes(field, size);
    return found == value || found == ((uint64_t)1 << 8 * size) - 1;
}

static int refuse_end(struct err *err)
{
    return err_set(err, "zip directory: expected the same counts and offsets in all fields of its "
                        "end record, found others: the file is damaged");
}

/* Read the zip64 end record, whose fields have 64 bits, if a locator before `*end` points to one,
 * and set `*end` to it. */
static int read_end64(struct directory *directory, const char **end, const struct file *file,
                      struct err *err)
{
    /* may wrap around: no locator is found then */
    uint64_t before = (uint64_t)(*end - file->bytes) - LOCATOR_BYTES;
    const char *locator = part(file, before, LOCATOR_BYTES, "PK\6\7");
    if (!locator)
        return 0;
    uint64_t at = num_of_bytes(locator + 8, 8);
    const char *end64 = part(file, at, END64_BYTES, "PK\6\6");
    if (!end64)
        return err_set(err, "zip directory: expected a zip64 end record, found none");
    *directory = (struct directory){num_of_bytes(end64 + 32, 8), num_of_bytes(end64 + 40, 8),
                                    num_of_bytes(end64 + 48, 8)};
    *end = end64;
    bool whole = num_of_bytes(locator + 4, 4) == 0 && num_of_bytes(locator + 16, 4) == 1 &&
                 num_of_bytes(end64 + 4, 8) == before - at - 12 &&
                 num_of_bytes(end64 + 16, 8) == 0 &&
                 num_of_bytes(end64 + 24, 8) == directory->count;
    return whole ? 0 : refuse_end(err);
}

static int find_directory(struct directory *directory, const struct file *file, const char *writer,
                          struct err *err)
{
    const char *end32 = NULL;
    size_t comment = 0; /* bytes of the comment after the end record */
    for (; !end32 && comment <= UINT16_MAX && comment + END_BYTES <= file->size; comment++) {
        end32 = part(file, file->size - comment - END_BYTES, END_BYTES, "PK\5\6");
        if (end32 && num_of_bytes(end32 + 20, 2) != comment)
            end32 = NULL;
    }
    const char *end = end32;
    if (!end32)
        return err_set(err,
                       "expected a zip archive of %s, found no directory at its end: it may be "
                       "truncated",
                       writer);
    *directory = (struct directory){num_of_bytes(end + 10, 2), num_of_bytes(end + 12, 4),
                                    num_of_bytes(end + 16, 4)};
    if (read_end64(directory, &end, file, err))
        return -1;
    if (!part(file, directory->at, directory->size, "") ||
        directory->count > directory->size / ENTRY_BYTES)
        return err_set(err,
                       "zip directory: expected %" PRIu64 " entries in %" PRIu64
                       " bytes from byte %" PRIu64 ", found less",
                       directory->count, directory->size, directory->at);
    bool whole = holds(end32 + 4, 2, 0) && holds(end32 + 6, 2, 0) &&
                 holds(end32 + 8, 2, directory->count) && holds(end32 + 10, 2, directory->count) &&
                 holds(end32 + 12, 4, directory->size) && holds(end32 + 16, 4, directory->at) &&
                 file->bytes + directory->at + directory->size == end;
    return whole ? 0 : refuse_end(err);
}

/* Replace numbers that have all 32 bits set with 64-bit numbers from the extra field of kind 1. */
static void read_large(uint64_t *numbers, size_t count, const char *extra, const char *end)
{
    while (end - extra >= EXTRA_BYTES) {
        uint64_t kind = num_of_bytes(extra, 2), size = num_of_bytes(extra + 2, 2);
        extra += EXTRA_BYTES;
        if (size > (size_t)(end - extra))
            return;
        const char *at = extra;
        extra += size;
        for (size_t i = 0; kind == 1 && i < count; i++) {
            if (numbers[i] == UINT32_MAX && extra - at >= 8) {
                numbers[i] = num_of_bytes(at, 8);
                at += 8;
            }
        }
    }
}

/* True if a descriptor after an entry's data has the entry's CRC-32 and sizes, in 32 or 64 bits. */
static bool is_described(const struct zip_entry *entry, const struct file *file)
{
    uint64_t at = (uint64_t)(entry->data + entry->size - file->bytes);
    for (size_t bytes = 4; bytes <= 8; bytes += 4) {
        const char *found = part(file, at, 8 + 2 * bytes, "PK\7\10");
        if (found && num_of_bytes(found + 4, 4) == entry->crc &&
            num_of_bytes(found + 8, bytes) == entry->size &&
            num_of_bytes(found + 8 + bytes, bytes) == entry->size)
            return true;
    }
    return false;
}

/* True if a local header agrees with the directory. CRC-32 and sizes may be 0 if a descriptor
 * follows the data. */
static bool is_confirmed(const struct zip_entry *entry, const char *local, const char *from,
                         const struct file *file)
{
    bool described = num_of_bytes(from + 8, 2) & HAS_DESCRIPTOR;
    uint64_t crc = num_of_bytes(local + 14, 4);
    bool same =
        memcmp(local + 6, from + 8, 8) == 0 && /* same flags, method, time and date */
        memcmp(local + 26, from + 28, 2) == 0 &&
        memcmp(local + LOCAL_BYTES, entry->name, entry->name_size) == 0 && holds(from + 34, 2, 0) &&
        (crc == entry->crc || (described && !crc)) &&
        memcmp(local + 18, local + 22, 4) == 0 && /* equal sizes: not compressed */
        (holds(local + 18, 4, entry->size) || (described && num_of_bytes(local + 18, 4) == 0));
    return same && (!described || is_described(entry, file));
}

/* Read an entry of the directory. Returns the bytes of the entry in the directory, or 0 with
 * `err`. */
static size_t read_entry(struct zip_entry *entry, const char *from, const char *end,
                         const struct file *file, const char *writer, struct err *err)
{
    bool whole = end - from >= ENTRY_BYTES && memcmp(from, "PK\1\2", 4) == 0;
    size_t name = whole ? num_of_bytes(from + 28, 2) : 0;
    size_t extra = whole ? num_of_bytes(from + 30, 2) : 0;
    size_t size = whole ? ENTRY_BYTES + name + extra + num_of_bytes(from + 32, 2) : 0;
    if (!whole || size > (size_t)(end - from)) {
        err_set(err, "zip directory: expected another entry, found none");
        return 0;
    }
    enum { SIZE, STORED, OFFSET, NUMBERS };
    uint64_t numbers[] = {num_of_bytes(from + 24, 4), num_of_bytes(from + 20, 4),
                          num_of_bytes(from + 42, 4)};
    const char *extras = from + ENTRY_BYTES + name;
    read_large(numbers, NUMBERS, extras, extras + extra);
    const char *local = part(file, numbers[OFFSET], LOCAL_BYTES, "PK\3\4");
    uint64_t gap =
        local ? LOCAL_BYTES + num_of_bytes(local + 26, 2) + num_of_bytes(local + 28, 2) : 0;
    *entry = (struct zip_entry){.name = from + ENTRY_BYTES,
                                .data = local ? local + gap : NULL,
                                .name_size = name,
                                .size = numbers[SIZE],
                                .crc = (uint32_t)num_of_bytes(from + 16, 4)};
    if (num_of_bytes(from + 8, 2) & 1)
        err_unsupported(err, "expected an entry as %s writes it, found an encrypted one", writer);
    else if (num_of_bytes(from + 10, 2) || numbers[STORED] != numbers[SIZE])
        err_unsupported(err,
                        "expected an entry that is not compressed, found a compressed one: write "
                        "the file with %s",
                        writer);
    else if (!local || !part(file, numbers[OFFSET] + gap, numbers[SIZE], ""))
        err_set(err, "expected %zu bytes of data, found the end of the file", entry->size);
    else if (!is_confirmed(entry, local, from, file))
        err_set(err, "expected the same fields in its local header as in the directory, found "
                     "others: the file is damaged");
    else
        return size;
    err_prefix(err, "entry '%.*s'", (int)name, entry->name);
    return 0;
}

int zip_read(struct zip *zip, const struct file *file, const char *writer, struct arena *arena,
             struct err *err)
{
    struct directory directory = {0};
    size_t left = file->size; /* bytes of the file that are left for further entries */
    if (find_directory(&directory, file, writer, err) ||
        hash_table_reserve(&zip->names, directory.count, err))
        return -1;
    zip->entries = arena_alloc(arena, directory.count, sizeof *zip->entries, err);
    if (!zip->entries)
        return -1;
    const char *at = file->bytes + directory.at, *end = at + directory.size;
    for (; zip->count < directory.count; zip->count++) {
        struct zip_entry *entry = &zip->entries[zip->count];
        size_t size = read_entry(entry, at, end, file, writer, err);
        if (!size || hash_table_add(&zip->names, "entry", entry->name, entry->name_size,
                                    (uint32_t)zip->count, err))
            return -1;
        if (entry->size > left)
            return err_set(err,
                           "entry '%.*s': expected entries of at most %zu bytes in all, the size "
                           "of the file, found more: entries overlap",
                           (int)entry->name_size, entry->name, file->size);
        left -= entry->size;
        at += size;
    }
    return at == end ? 0 : refuse_end(err);
}

/* --- the checksum -------------------------------------------------------------------------------
 *
 * The CRC-32 is computed with tables, eight bytes at a time, or with carry-less products if the
 * processor has them. Carry-less products are about as fast as memory. */

enum { SLICES = 8, BYTE_VALUES = 256 };

static uint32_t add_bytes(uint32_t crc, const char *bytes, size_t size)
{
    uint32_t sums[SLICES][BYTE_VALUES]; /* sums[n]: the CRC of each byte followed by n zero bytes */
    for (uint32_t byte = 0; byte < BYTE_VALUES; byte++) {
        uint32_t sum = byte;
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (sum & 1 ? 0xedb88320 : 0);
        sums[0][byte] = sum;
    }
    for (int n = 1; n < SLICES; n++)
        for (uint32_t byte = 0; byte < BYTE_VALUES; byte++)
            sums[n][byte] = sums[n - 1][byte] >> 8 ^ sums[0][sums[n - 1][byte] & 0xff];

    for (; size >= SLICES; size -= SLICES, bytes += SLICES) {
        uint32_t low = crc ^ (uint32_t)num_of_bytes(bytes, 4);
        uint32_t high = (uint32_t)num_of_bytes(bytes + 4, 4);
        crc = sums[7][low & 0xff] ^ sums[6][low >> 8 & 0xff] ^ sums[5][low >> 16 & 0xff] ^
              sums[4][low >> 24] ^ sums[3][high & 0xff] ^ sums[2][high >> 8 & 0xff] ^
              sums[1][high >> 16 & 0xff] ^ sums[0][high >> 24];
    }
    for (; size; size--, bytes++)
        crc = crc >> 8 ^ sums[0][(crc ^ (unsigned char)*bytes) & 0xff];
    return crc;
}

#ifdef __x86_64__

#define IN_CLMUL __attribute__((target("pclmul,sse4.1")))

/* Multiply `before` by the factors, which moves it on by a fixed number of bytes, and add
 * `next`. */
IN_CLMUL static __m128i fold(__m128i before, __m128i factors, __m128i next)
{
    __m128i low = _mm_clmulepi64_si128(before, factors, 0x00);
    __m128i high = _mm_clmulepi64_si128(before, factors, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

/* Fold all whole blocks of 64 bytes into 16 bytes with the same CRC. The factors are from Gopal and
 * others, "Fast CRC computation for generic polynomials using PCLMULQDQ", 2009. */
IN_CLMUL static uint32_t add_blocks(uint32_t crc, const char *bytes, size_t blocks)
{
    const __m128i by_64 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
    const __m128i by_16 = _mm_set_epi64x(0xccaa009e, 0x1751997d0);
    const __m128i *from = (const void *)bytes;
    __m128i lanes[4];
    char folded[16];
    for (int i = 0; i < 4; i++)
        lanes[i] = _mm_loadu_si128(from + i);
    lanes[0] = _mm_xor_si128(lanes[0], _mm_cvtsi32_si128((int)crc));
    while (--blocks) {
        from += 4;
        for (int i = 0; i < 4; i++)
            lanes[i] = fold(lanes[i], by_64, _mm_loadu_si128(from + i));
    }
    for (int i = 1; i < 4; i++)
        lanes[0] = fold(lanes[0], by_16, lanes[i]);
    _mm_storeu_si128((__m128i *)(void *)folded, lanes[0]);
    return add_bytes(0, folded, sizeof folded);
}

#endif

/* Continue a CRC-32 with more bytes. `crc` is the CRC-32 of the bytes before them; 0: there are
 * none. */
static uint32_t add_to_crc(uint32_t crc, const char *bytes, size_t size)
{
    size_t done = 0;
    crc = ~crc;
#ifdef __x86_64__
    if (size >= 64 && __builtin_cpu_supports("pclmul")) {
        crc = add_blocks(crc, bytes, size / 64);
        done = size / 64 * 64;
    }
#endif
    return ~add_bytes(crc, bytes + done, size - done);
}

uint32_t zip_crc32(const char *bytes, size_t size)
{
    return add_to_crc(0, bytes, size);
}

int zip_check(struct zip_entry *entry, struct err *err)
{
    uint32_t found = entry->checked || !entry->crc ? 0 : zip_crc32(entry->data, entry->size);
    bool whole = entry->checked || !entry->crc || found == entry->crc;
    entry->checked = true;
    return whole ? 0
                 : err_set(err,
                           "entry '%.*s': expected data with CRC-32 %08" PRIx32 ", found %08" PRIx32
                           ": the file is damaged",
                           (int)entry->name_size, entry->name, entry->crc, found);
}

/* --- an archive to write ---------------------------------------------------------------------- */

enum { VERSION = 45 }; /* version 4.5: archives with fields of 64 bits */

/* Fill 32-bit fields with ones, which means that an extra field has the number in 64 bits. */
static void put_all_ones(struct buf *out, size_t bytes)
{
    buf_repeat(out, "\xff", 1, bytes);
}

/* Write the fields that an entry's local header and its directory entry share, up to the length of
 * the name. */
static void put_fields(struct buf *out, const struct zip_writer *zip)
{
    buf_integer(out, VERSION, 2);
    buf_integer(out, HAS_DESCRIPTOR, 2);
    buf_repeat(out, "", 1, 6); /* all 0: method (stored), time, date */
    buf_integer(out, zip->crc, 4);
    put_all_ones(out, 8); /* both sizes: compressed and uncompressed */
    buf_integer(out, strlen(zip->name), 2);
}

static void put_sizes(struct buf *out, const struct zip_writer *zip)
{
    buf_integer(out, zip->size, 8);
    buf_integer(out, zip->size, 8);
}

/* Write the bytes of `zip->directory` after its first `size` bytes to the stream, and remove them
 * from the directory. */
static void send(struct zip_writer *zip, size_t size)
{
    struct buf *out = &zip->directory;
    if (!out->out_of_memory)
        stream_bytes(zip->out, out->bytes + size, out->size - size);
    out->size = size;
}

void zip_begin(struct zip_writer *zip, const char *name)
{
    struct buf *out = &zip->directory;
    const size_t before = out->size;
    zip->name = name;
    zip->at = zip->out->written_bytes;
    zip->size = 0;
    zip->crc = 0;
    buf_text(out, "PK\3\4");
    put_fields(out, zip);
    buf_integer(out, EXTRA_BYTES + 16, 2);
    buf_text(out, name);
    buf_bytes(out, "\1\0\20\0", EXTRA_BYTES);
    put_sizes(out, zip);
    send(zip, before);
}

void zip_put(struct zip_writer *zip, const void *bytes, size_t size)
{
    zip->crc = add_to_crc(zip->crc, bytes, size);
    zip->size += size;
    stream_bytes(zip->out, bytes, size);
}

void zip_close(struct zip_writer *zip)
{
    struct buf *out = &zip->directory;
    const size_t before = out->size;
    buf_text(out, "PK\7\10");
    buf_integer(out, zip->crc, 4);
    put_sizes(out, zip);
    send(zip, before);
    buf_text(out, "PK\1\2");
    buf_integer(out, VERSION, 2);
    put_fields(out, zip);
    buf_integer(out, EXTRA_BYTES + 24, 2);
    buf_repeat(out, "", 1, 10); /* all 0: length of the comment, disk number, attributes */
    put_all_ones(out, 4);       /* offset of the entry's local header */
    buf_text(out, zip->name);
    buf_bytes(out, "\1\0\30\0", EXTRA_BYTES);
    put_sizes(out, zip);
    buf_integer(out, zip->at, 8);
    zip->count++;
}

void zip_add(struct zip_writer *zip, const char *name, const void *bytes, size_t size)
{
    zip_begin(zip, name);
    zip_put(zip, bytes, size);
    zip_close(zip);
}

int zip_end(struct zip_writer *zip, struct err *err)
{
    struct buf *out = &zip->directory;
    const size_t at = zip->out->written_bytes, size = out->size;
    buf_text(out, "PK\6\6");
    buf_integer(out, END64_BYTES - 12, 8); /* bytes that follow in this record */
    buf_integer(out, VERSION, 2);
    buf_integer(out, VERSION, 2);
    buf_integer(out, 0, 8); /* two disk numbers, both 0 */
    buf_integer(out, zip->count, 8);
    buf_integer(out, zip->count, 8);
    buf_integer(out, size, 8);
    buf_integer(out, at, 8);
    buf_text(out, "PK\6\7");
    buf_integer(out, 0, 4);
    buf_integer(out, at + size, 8);
    buf_integer(out, 1, 4); /* number of disks */
    buf_text(out, "PK\5\6");
    buf_integer(out, 0, 4);
    put_all_ones(out, 12); /* counts, size and offset: see the 64-bit end record */
    buf_integer(out, 0, 2);
    int failed = buf_check(out, err);
    if (!failed)
        send(zip, 0);
    buf_release(out);
    return failed;
}
