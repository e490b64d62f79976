#include "format/conllu.h"

#include <string.h>

#include "base/num.h"

enum { FIELDS = 10, ID = 0, FORM = 1, HEAD = 6, RELATION = 7, MISC = 9 };
enum { NUMBER_BYTES = 20, WORDS_MAX = 1 << 20 };

struct field {
    const char *bytes;
    size_t size;
};

/* The next line without its end. */
static struct field next_line(struct conllu_reader *reader)
{
    size_t rest = (size_t)(reader->end - reader->at);
    const char *newline = memchr(reader->at, '\n', rest);
    struct field line = {reader->at, newline ? (size_t)(newline - reader->at) : rest};
    reader->at += line.size + (newline ? 1 : 0);
    reader->line++;
    if (line.size && line.bytes[line.size - 1] == '\r')
        line.size--;
    return line;
}

static int cut(struct field fields[FIELDS], struct field line, size_t number, struct err *err)
{
    const char *end = line.bytes + line.size;
    size_t count = 0;
    for (const char *at = line.bytes; at <= end; count++) {
        const char *tab = memchr(at, '\t', (size_t)(end - at));
        const char *stop = tab ? tab : end;
        if (count < FIELDS)
            fields[count] = (struct field){at, (size_t)(stop - at)};
        at = stop + 1;
    }
    if (count == FIELDS)
        return 0;
    return err_set(err, "line %zu: expected %d fields with tabs between them, found %zu", number,
                   FIELDS, count);
}

static bool read_number(struct field field, size_t *number)
{
    char text[NUMBER_BYTES];
    long long value = 0;
    if (field.size >= sizeof text)
        return false;
    memcpy(text, field.bytes, field.size);
    text[field.size] = '\0';
    if (!num_parse_integer(text, 0, WORDS_MAX, &value))
        return false;
    *number = (size_t)value;
    return true;
}

static bool is_text(struct field field)
{
    return field.size && !memchr(field.bytes, '\0', field.size);
}

/* A line's word, which should have that number. */
static int read_word(struct conllu_word *word, const struct field fields[FIELDS], size_t expected,
                     size_t line, struct arena *arena, struct err *err)
{
    static const char no_space[] = "SpaceAfter=No";
    size_t number = 0;
    if (!read_number(fields[ID], &number) || number != expected)
        return err_set(err, "line %zu: ID: expected %zu, found '%.*s'", line, expected,
                       (int)(fields[ID].size < 40 ? fields[ID].size : 40), fields[ID].bytes);
    if (!is_text(fields[FORM]) || !is_text(fields[RELATION]))
        return err_set(err, "line %zu: %s: expected a text, found none", line,
                       is_text(fields[FORM]) ? "DEPREL" : "FORM");
    if (!read_number(fields[HEAD], &word->head))
        return err_set(err, "line %zu: HEAD: expected the number of a word, found '%.*s'", line,
                       (int)(fields[HEAD].size < 40 ? fields[HEAD].size : 40), fields[HEAD].bytes);
    word->form = fields[FORM].bytes;
    word->size = fields[FORM].size;
    word->relation = arena_text(arena, fields[RELATION].bytes, fields[RELATION].size, err);
    word->space_after = !memmem(fields[MISC].bytes, fields[MISC].size, no_space, strlen(no_space));
    return word->relation ? 0 : -1;
}

static int check_heads(const struct conllu_sentence *sentence, struct err *err)
{
    for (size_t i = 1; i <= sentence->count; i++)
        if (sentence->words[i].head > sentence->count || sentence->words[i].head == i)
            return err_set(err,
                           "sentence of line %zu: HEAD of word %zu: expected another word from 1 "
                           "to %zu, or 0, found %zu",
                           sentence->line, i, sentence->count, sentence->words[i].head);
    return 0;
}

/* Lines up to the next empty one, at most: no sentence has more words. */
static size_t count_lines(const struct conllu_reader *reader)
{
    struct conllu_reader ahead = *reader;
    size_t count = 0;
    while (ahead.at < ahead.end && next_line(&ahead).size)
        count++;
    return count;
}

int conllu_read(struct conllu_reader *reader, struct conllu_sentence *sentence, struct arena *arena,
                struct err *err)
{
    struct conllu_word *words = NULL;
    *sentence = (struct conllu_sentence){0};
    while (reader->at < reader->end) {
        size_t number = reader->line;
        struct field fields[FIELDS];
        struct field line = next_line(reader);
        if (!line.size && sentence->count)
            break;
        if (!line.size || line.bytes[0] == '#')
            continue;
        if (cut(fields, line, number, err))
            return -1;
        if (memchr(fields[ID].bytes, '-', fields[ID].size) ||
            memchr(fields[ID].bytes, '.', fields[ID].size))
            continue;
        if (!words) {
            sentence->line = number;
            words = arena_alloc(arena, count_lines(reader) + 2, sizeof *words, err); /* from 1 */
        }
        if (!words ||
            read_word(&words[sentence->count + 1], fields, sentence->count + 1, number, arena, err))
            return -1;
        sentence->count++;
    }
    sentence->words = words;
    return check_heads(sentence, err);
}
