/* doubling_test.c: time is linear in the number of items of a file. 32 times as many items take 32
 * times as long, or twice that because of the processor's caches, but 1,024 times if something is
 * quadratic. Measures processor time, the least of several tries, at a size that takes long enough.
 */
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "../unit.h"
#include "../rigs/patience.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/memory.h"
#include "format/safetensors.h"
#include "model/weights.h"
#include "lens/tokenized.h"
#include "text/jinja.h"
#include "text/tokenizer.h"

enum { FIRST_COUNT = 500, TIMES = 32, ROUNDS = 5 }; /* repeat on a busy machine */
#define LONG_ENOUGH (one_of(2) == 1 ? 0.002 : 0.001)
#define TRIES (one_of(2) == 1 ? 3 : 1)
#define MOST_TIMES 180.0

/* Generated files; some rows need a second one, `other`. */
static struct buf file, other;

/* --- words ------------------------------------------------------------------------------------ */

static void fill_words(size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_format(&file, "%s\"word%zu\": %zu", i ? ", " : "{", i, i);
    buf_text(&file, "}");
}

/* The hash of an earlier version, without a key: words of two blocks can have the same one. */
static uint64_t unkeyed(uint64_t a, uint64_t b)
{
    uint64_t hash = (a ^ (b << 32 | b >> 32)) * 0x9E3779B97F4A7C15u;
    return (hash ^ hash >> 32) * 0xD6E8FEB86659FD93u;
}

static bool is_ascii(const unsigned char bytes[8])
{
    for (size_t i = 0; i < 8; i++)
        if (bytes[i] == 0 || bytes[i] >= 0x7f)
            return false;
    return true;
}

static void add_escaped(const unsigned char bytes[8])
{
    for (size_t i = 0; i < 8; i++) {
        bool plain = bytes[i] >= ' ' && bytes[i] != '"' && bytes[i] != '\\';
        buf_format(&file, plain ? "%c" : "\\u%04x", bytes[i]);
    }
}

static void fill_colliding(size_t count)
{
    unsigned char words[2][8] = {"aaaaaaaa"};
    for (size_t i = 0; i < count;) {
        for (size_t k = 0; ++words[0][k] > 'z'; k++)
            words[0][k] = 'a';
        uint64_t first;
        memcpy(&first, words[0], 8);
        uint64_t wanted = unkeyed(16, first) ^ 0x0123456789abcdefu;
        wanted = wanted << 32 | wanted >> 32;
        memcpy(words[1], &wanted, 8);
        if (!is_ascii(words[1]))
            continue;
        buf_text(&file, i ? ", \"" : "{\"");
        add_escaped(words[0]);
        add_escaped(words[1]);
        buf_format(&file, "\": %zu", i++);
    }
    buf_text(&file, "}");
}

/* a to z, then aa, ab, …: each is an earlier word and a letter. */
static void add_word(struct buf *out, size_t number)
{
    if (number >= 26)
        add_word(out, number / 26 - 1);
    buf_char(out, (char)('a' + number % 26));
}

static void fill_merges(size_t count)
{
    for (size_t i = 0; i < 26 + count; i++) {
        buf_text(&other, i ? ", \"" : "{\"");
        add_word(&other, i);
        buf_format(&other, "\": %zu", i);
        if (i < 26)
            continue;
        add_word(&file, i / 26 - 1);
        buf_char(&file, ' ');
        add_word(&file, i % 26);
        buf_char(&file, '\n');
    }
    buf_text(&other, "}");
}

static void fill_added(size_t count)
{
    buf_text(&file, "{\"added_tokens\": [");
    for (size_t i = 0; i < count; i++)
        buf_format(&file, "%s{\"id\": %zu, \"content\": \"<%zu>\", \"special\": true}",
                   i ? ", " : "", i + 1, i);
    buf_text(&file, "], \"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": 0}, "
                    "\"unk_token\": \"a\"}}");
}

static int open_tokenizer(const struct folder_file *files, size_t count, struct err *err)
{
    const struct folder folder = {"filled", files, count};
    struct tokenizer *tokenizer = NULL;
    int failed = tokenizer_open(&tokenizer, &folder, err);
    tokenizer_free(tokenizer);
    return failed;
}

static int open_vocab(struct err *err)
{
    return open_tokenizer(&(struct folder_file){"vocab.json", file.bytes, file.size}, 1, err);
}

static int open_merges(struct err *err)
{
    const struct folder_file files[] = {{"vocab.json", other.bytes, other.size},
                                        {"merges.txt", file.bytes, file.size}};
    return open_tokenizer(files, 2, err);
}

static int open_json(struct err *err)
{
    return open_tokenizer(&(struct folder_file){"tokenizer.json", file.bytes, file.size}, 1, err);
}

/* --- the rest --------------------------------------------------------------------------------- */

static void fill_ids(size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_format(&file, "%s%zu", i ? "," : "", i);
}

static int read_ids(struct err *err)
{
    struct arena arena = {0};
    struct tokens tokens = {0};
    struct tokenized tokenized = {0};
    int failed = tokens_from_ids(&tokens, file.bytes, UINT32_MAX, &arena, err) ||
                 tokenized_label(&tokenized, &tokens, NULL, &arena, err);
    arena_release(&arena);
    return failed;
}

static void fill_labels(size_t count)
{
    fill_words(count);
    buf_format(&other, "%zu", count);
}

static int make_labels(struct err *err)
{
    const struct folder_file words = {"vocab.json", file.bytes, file.size};
    const struct folder folder = {"filled", &words, 1};
    struct tokenizer *tokenizer = NULL;
    struct arena arena = {0};
    int failed = tokenizer_open(&tokenizer, &folder, err);
    failed = failed || !labels_of_words(tokenizer, tokenizer_size(tokenizer), &arena, err);
    tokenizer_free(tokenizer);
    arena_release(&arena);
    return failed;
}

static void fill_tensors(size_t count)
{
    struct buf header = {0};
    for (size_t i = 0; i < count; i++)
        buf_format(&header,
                   "%s\"tensor%zu\": {\"dtype\": \"F32\", \"shape\": [1], \"data_offsets\": [%zu, "
                   "%zu]}",
                   i ? ", " : "{", i, 4 * i, 4 * i + 4);
    buf_text(&header, "}");
    uint64_t size = header.size;
    buf_bytes(&file, &size, sizeof size);
    buf_bytes(&file, header.bytes, header.size);
    buf_repeat(&file, "", 1, 4 * count);
    buf_release(&header);
}

static int open_tensors(struct err *err)
{
    const struct folder_file weights = {"model.safetensors", file.bytes, file.size};
    const struct folder folder = {"filled", &weights, 1};
    struct safetensors tensors = {0};
    int failed = safetensors_open(&tensors, &folder, "model.safetensors", err);
    safetensors_release(&tensors);
    return failed;
}

static void fill_template(size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_format(&file, "{%% set x%zu = [%zu] %%}{{ x%zu[0] }}", i, i, i);
}

static int render_template(struct err *err)
{
    struct arena arena = {0};
    struct buf out = {0};
    const struct jinja_dict variables = {0};
    const struct jinja *template = jinja_parse(file.bytes, file.size, &arena, err);
    int failed = !template || jinja_render(&out, template, &variables, &arena, err);
    buf_release(&out);
    arena_release(&arena);
    return failed;
}

/* --- texts without a split -------------------------------------------------------------------- */

#define MODEL(stages, model) "{" stages "\"model\": {" model "}}"
#define LETTERS "\"vocab\": {\"a\": 0, \"b\": 1, \"aa\": 2, \"ab\": 3, \"aaaa\": 4, \"c\": 5}"
#define BPE "\"type\": \"BPE\", " LETTERS ", \"unk_token\": \"c\", "
#define NORMAL(type) "\"normalizer\": {\"type\": \"" type "\"}, "

/* Tokenize the text in `file` with a tokenizer.json. */
static int cut_text(const char *json, struct err *err)
{
    const struct folder_file tokenizer_json = {"tokenizer.json", json, strlen(json)};
    const struct folder folder = {"filled", &tokenizer_json, 1};
    struct tokenizer *tokenizer = NULL;
    struct arena arena = {0};
    struct tokens tokens = {0};
    int failed = tokenizer_open(&tokenizer, &folder, err) ||
                 tokenizer_encode(tokenizer, &tokens, file.bytes, file.size, &arena, err);
    tokenizer_free(tokenizer);
    arena_release(&arena);
    return failed;
}

static void fill_letters(size_t count)
{
    buf_repeat(&file, "a", 1, count);
}

/* Marks of three combining classes, which are not sorted. */
static void fill_marks(size_t count)
{
    static const char *const marks[] = {"\xCC\x81", "\xCC\xA3", "\xCC\x95"};
    buf_text(&file, "a");
    for (size_t i = 0; i < count; i++)
        buf_text(&file, marks[i * 7 % 11 % 3]);
}

static int join_letters(struct err *err)
{
    return cut_text(MODEL("", BPE "\"merges\": [\"a a\", \"aa aa\", \"a b\"]"), err);
}

static int sort_marks(struct err *err)
{
    return cut_text(MODEL(NORMAL("NFC"), BPE "\"merges\": []"), err);
}

static int sort_compatible(struct err *err)
{
    return cut_text(MODEL(NORMAL("NFKD"), BPE "\"merges\": []"), err);
}

static int find_likeliest(struct err *err)
{
    return cut_text(MODEL("", "\"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": [[\"b\", 0], "
                              "[\"a\", -1], [\"aa\", -1.5], [\"aaaa\", -2.5]]"),
                    err);
}

static int cut_pieces(struct err *err)
{
    return cut_text(MODEL("", "\"type\": \"WordPiece\", \"unk_token\": \"b\", "
                              "\"max_input_chars_per_word\": 2000000000, \"vocab\": {\"a\": 0, "
                              "\"b\": 1, \"##aa\": 2, \"##a\": 3}"),
                    err);
}

static int match_letters(struct err *err)
{
    return cut_text(MODEL("\"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"Regex\": "
                          "\"a{1,3}\"}, \"behavior\": \"Contiguous\"}, ",
                          BPE "\"merges\": []"),
                    err);
}

/* --- time ------------------------------------------------------------------------------------- */

static const struct row {
    const char *name;
    void (*fill)(size_t count);
    int (*take)(struct err *err);
    size_t most; /* most items that the format allows; 0: no limit */
} rows[] = {
    {"words", fill_words, open_vocab, 0},
    {"words with one hash", fill_colliding, open_vocab, 0},
    {"merges", fill_merges, open_merges, 0},
    {"added tokens", fill_added, open_json, 64000},
    {"ids", fill_ids, read_ids, 0},
    {"labels", fill_labels, make_labels, 0},
    {"tensors", fill_tensors, open_tensors, 32000},
    {"names and expressions of a template", fill_template, render_template, 32000},
    {"letters of one BPE word", fill_letters, join_letters, 0},
    {"letters of one Unigram word", fill_letters, find_likeliest, 0},
    {"letters of one WordPiece word", fill_letters, cut_pieces, 0},
    {"matches in a row", fill_letters, match_letters, 0},
    {"marks on one letter", fill_marks, sort_marks, 0},
    {"marks on one letter, compatible", fill_marks, sort_compatible, 0},
};

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The least time of `tries`. */
static double seconds_of(const struct row *row, size_t count, int tries)
{
    double least = 1e9;
    buf_clear(&file);
    buf_clear(&other);
    row->fill(count);
    ck_assert_int_eq(buf_check(&file, NULL) || buf_check(&other, NULL), 0);
    for (int i = 0; i < tries; i++) {
        struct err err = {0};
        double begin = seconds_now();
        ck_assert_msg(row->take(&err) == 0, "%s: %s", row->name, err.text);
        double seconds = seconds_now() - begin;
        least = seconds < least ? seconds : least;
    }
    return least;
}

TEST_LOOP(time_is_linear_in_the_number_of_items, COUNT(rows))
{
    const struct row *row = &rows[_i];
    size_t count = FIRST_COUNT;
    size_t most = row->most ? row->most / TIMES : SIZE_MAX;
    while (count < most && seconds_of(row, count, 1) < LONG_ENOUGH)
        count *= 2;
    double seconds = 0;
    double longer = 1;
    for (int round = 0; round < ROUNDS && longer >= MOST_TIMES * seconds; round++) {
        seconds = seconds_of(row, count, TRIES);
        longer = seconds_of(row, TIMES * count, TRIES);
    }
    ck_assert_msg(longer < MOST_TIMES * seconds, "%s: %zu take %.3f s, %zu take %.3f s", row->name,
                  count, seconds, TIMES * count, longer);
    buf_release(&file);
    buf_release(&other);
}
