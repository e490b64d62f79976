/* Each key of config.json with values of other types, on each golden model: the keys that its file
 * has, at any depth, and those that any family reads: words in quotes in lib/model/family. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../rigs/patience.h"
#include "../unit.h"
#include "base/buf.h"
#include "format/json.h"
#include "model/model.h"

enum { PLACES_MAX = 512, WORDS_MAX = 2048, EVERY = 7, PARTS = 4 };

static const char *const values[] = {
    "null", "true", "\"a\"", "-1", "0",   "0.5",       "3",
    "1e30", "[]",   "{}",    "2",  "[2]", "[[1],[2]]", "{\"0\": [\"b\"]}",
};

/* A config.json and its places: values that are replaced, and ends of objects for new members. */
struct subject {
    char folder[300];
    struct json_span text, places[PLACES_MAX];
    size_t count;
};

static const char *words[WORDS_MAX];
static size_t word_count, step, turn;
static struct arena arena;
static struct err err;

static void add_places(struct subject *subject, struct json_span container)
{
    struct json_cursor cursor = json_cursor_at(container);
    const bool is_object = json_cursor_kind(&cursor) == '{';
    bool is_empty = true;
    json_cursor_enter(&cursor);
    for (; json_cursor_next(&cursor); is_empty = false) {
        if (is_object)
            json_cursor_name(&cursor);
        const char kind = json_cursor_kind(&cursor);
        const struct json_span value = json_cursor_value(&cursor);
        if (is_object)
            subject->places[subject->count++] = value;
        if (kind == '{' || kind == '[')
            add_places(subject, value);
    }
    if (is_object && !is_empty)
        subject->places[subject->count++] = (struct json_span){cursor.at - 1, 0};
    ck_assert_uint_lt(subject->count, PLACES_MAX);
}

/* A config with another text at a place is read, or refused by one line. If the value of its own
 * key has changed, the model is opened, too. */
static void try(const struct subject *subject, struct json_span place, const char *word,
                const char *value)
{
    struct buf text = {0};
    struct model model = {0};
    struct config config;
    char weights[400];
    if (turn++ % step)
        return;
    buf_bytes(&text, subject->text.bytes, (size_t)(place.bytes - subject->text.bytes));
    if (word)
        buf_format(&text, ", \"%s\": ", word);
    buf_text(&text, value);
    const char *rest = place.bytes + place.size, *end = subject->text.bytes + subject->text.size;
    buf_bytes(&text, rest, (size_t)(end - rest));
    snprintf(weights, sizeof weights, "%s/model.safetensors", subject->folder);
    const struct folder_file files[] = {
        {.name = "config.json", .bytes = text.bytes, .size = text.size},
        {.name = "model.safetensors", .path = weights}};
    err_clear(&err);
    if (!config_parse(&config, text.bytes, text.size, &err) && !word &&
        !model_open_folder(&model, &(struct folder){"changed", files, COUNT(files)}, &err))
        model_release(&model);
    if (err.kind)
        ck_assert_msg((err.kind == ERR_INPUT || err.kind == ERR_UNSUPPORTED) && *err.text &&
                          !strchr(err.text, '\n'),
                      "%.*s: %s", (int)text.size, text.bytes, err.text);
    buf_release(&text);
}

static void try_all(const char *folder)
{
    static struct subject subject;
    struct file file = {0};
    const struct folder read = {.path = folder};
    snprintf(subject.folder, sizeof subject.folder, "%s", folder);
    ck_assert_msg(!folder_open(&file, &read, "config.json", &err), "%s", err.text);
    subject.text = (struct json_span){file.bytes, file.size};
    subject.count = 0;
    add_places(&subject, subject.text);
    for (size_t place = 0; place < subject.count; place++) {
        const struct json_span at = subject.places[place];
        for (size_t word = 0; word < (at.size ? 1 : word_count); word++)
            for (size_t value = 0; value < COUNT(values); value++)
                try(&subject, at, at.size ? NULL : words[word], values[value]);
    }
    file_release(&file);
}

/* All words of small letters in quotes, each once. */
static void read_words(const char *path)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_0123456789";
    struct file file = {0};
    ck_assert_msg(!file_map(&file, path, &err), "%s", err.text);
    const char *text = arena_text(&arena, file.bytes, file.size, &err);
    for (const char *at = text; (at = strchr(at, '"')); at++) {
        const size_t size = strspn(at + 1, letters);
        size_t known = 0;
        if (size < 2 || at[1 + size] != '"')
            continue;
        const char *word = arena_text(&arena, at + 1, size, &err);
        while (known < word_count && strcmp(words[known], word) != 0)
            known++;
        words[known] = word;
        word_count += known == word_count;
        ck_assert_uint_lt(word_count, WORDS_MAX);
    }
    file_release(&file);
}

/* Each file of a folder, or each PARTSth of them, in the order of their names. */
static void each(const char *folder, int part, void (*use)(const char *path))
{
    char path[300];
    struct dirent **entries = NULL;
    const int count = scandir(folder, &entries, NULL, alphasort);
    ck_assert_msg(count > 2, "%s (run from the repository's root)", folder);
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && (part < 0 || i % PARTS == part))
            use(path);
        free(entries[i]);
    }
    free(entries);
}

TEST_LOOP(values_of_other_types_are_refused_or_read, PARTS)
{
    step = 7 * one_of(EVERY);
    each("lib/model/family", -1, read_words);
    ck_assert_uint_gt(word_count, 400);
    each("tests/references/golden-families", _i, try_all);
    ck_assert_uint_gt(turn, 1000);
    arena_release(&arena);
}
