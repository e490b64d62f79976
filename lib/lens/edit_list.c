#include "lens/edit_places.h"

#include <float.h>
#include <limits.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "base/platform.h"

static const char *const options[] = {"--edit", "--ablate", "--knockout"};

/* --- what becomes of the values --------------------------------------------------------------- */

static int refuse_value(const struct edit_reader *reader, char sign, struct edit_piece value)
{
    const char *expected = sign == '*'   ? "a number"
                           : sign == '+' ? "a file of numpy (.npy)"
                                         : "a number, mean, resample:SEED, from or a file (.npy)";
    return err_usage(reader->err, "%s: expected %s after '%c', found '%.*s'", reader->words,
                     expected, sign, (int)value.size, value.at);
}

static int read_value(struct edit *edit, struct edit_wish *wish, const struct edit_reader *reader,
                      char sign, struct edit_piece value)
{
    static const char resample[] = "resample:";
    const char *text = arena_text(reader->list->arena, value.at, value.size, reader->err);
    double number = 0;
    long long seed = 0;
    if (!text)
        return -1;
    if (value.size > 4 && memcmp(value.at + value.size - 4, ".npy", 4) == 0 && sign != '*') {
        edit->op = sign == '+' ? EDIT_ADD : EDIT_TAKE;
        wish->file = text;
        return edit_list_open(reader->list, edit, text, reader->err)
                   ? err_prefix(reader->err, "%s", reader->words)
                   : 0;
    }
    edit->op = sign == '*' ? EDIT_SCALE : EDIT_SET;
    if (sign != '+' && num_parse_double(text, -(double)FLT_MAX, (double)FLT_MAX, &number)) {
        edit->number = (float)number;
        return 0;
    }
    if (sign != '=')
        return refuse_value(reader, sign, value);
    edit->op = EDIT_TAKE;
    if (strcmp(text, "mean") == 0)
        wish->origin = EDIT_MEAN;
    else if (strcmp(text, "from") == 0)
        wish->origin = EDIT_FROM;
    else if (strncmp(text, resample, sizeof resample - 1) == 0 &&
             num_parse_integer(text + sizeof resample - 1, 0, LLONG_MAX, &seed))
        *wish = (struct edit_wish){.origin = EDIT_RESAMPLE, .seed = (uint64_t)seed};
    else
        return refuse_value(reader, sign, value);
    return 0;
}

/* --- the three forms -------------------------------------------------------------------------- */

static int append(const struct edit_reader *reader, const struct edit *edit,
                  const struct edit_wish *wish)
{
    struct edit_list *list = reader->list;
    size_t count = list->edits.count;
    list->items = arena_grow(list->arena, list->items, count, sizeof *list->items, reader->err);
    list->wishes = list->items ? arena_grow(list->arena, list->wishes, count, sizeof *list->wishes,
                                            reader->err)
                               : NULL;
    if (!list->wishes)
        return -1;
    list->items[count] = *edit;
    list->items[count].words = reader->words;
    list->wishes[count] = *wish;
    list->origins |= 1u << wish->origin;
    list->edits.items = list->items;
    list->edits.count = count + 1;
    return 0;
}

/* `h.9.context`, `enc.0.weights`, or the site's name alone. */
static int read_site(struct edit *edit, const struct edit_reader *reader, struct edit_piece name)
{
    struct buf plain = {0};
    const char *layers = NULL;
    bool encoder = name.size > 4 && memcmp(name.at, "enc.", 4) == 0;
    size_t skip = encoder ? 4 : 2;
    const char *dot = name.size > skip && (encoder || memcmp(name.at, "h.", 2) == 0)
                          ? memchr(name.at + skip, '.', name.size - skip)
                          : NULL;
    if (dot) {
        layers = name.at + skip;
        buf_bytes(&plain, name.at, encoder ? skip : 0);
        buf_bytes(&plain, dot + 1, name.size - (size_t)(dot + 1 - name.at));
    } else {
        buf_bytes(&plain, name.at, name.size);
    }
    struct site_word word = {reader->words, plain.bytes, plain.size, false};
    int failed = buf_check(&plain, reader->err) ||
                 selection_site(&edit->site, &word, reader->list->config, reader->err);
    buf_release(&plain);
    const struct edit_axis axis = edit_layers(reader, edit->site);
    if (!failed && dot && !site_rows[edit->site].in_layer)
        failed = err_usage(reader->err, "%s: expected '%s' without a layer: it is in none",
                           reader->words, site_rows[edit->site].name);
    for (const char *at = layers; !failed && at && at <= dot;)
        failed = edit_add_range(&edit->layers, reader, &axis, edit_next_piece(&at, dot));
    return failed ? -1 : 0;
}

static int read_words(const struct edit_reader *reader, const char *text)
{
    const char *end = text + strlen(text);
    struct edit edit = {.op = EDIT_SET};
    struct edit_wish wish = {.origin = EDIT_NUMBER};
    const char *open = memchr(text, '[', (size_t)(end - text));
    const char *close = open ? memchr(open, ']', (size_t)(end - open)) : NULL;
    const char *sign = close ? close + 1 : text;
    sign += close ? strspn(sign, " ") : strcspn(sign, "=*+");
    if ((open && !close) || sign >= end || !strchr("=*+", *sign))
        return err_usage(reader->err,
                         "%s: expected SITE[PLACES] = VALUE, * NUMBER or + FILE, as "
                         "'h.0.context[head=1,token=-1] = 0'",
                         reader->words);
    return read_site(&edit, reader, edit_trim(text, open ? open : sign)) ||
                   (open && edit_read_places(&edit, reader, edit_trim(open + 1, close))) ||
                   read_value(&edit, &wish, reader, *sign, edit_trim(sign + 1, end)) ||
                   append(reader, &edit, &wish)
               ? -1
               : 0;
}

/* `9.6`, or where heads need not be named `9`. */
static int read_heads(struct edit *edit, const struct edit_reader *reader, struct edit_piece piece)
{
    const struct config *c = reader->list->config;
    const struct edit_axis layers = {"layer", c->n_layer};
    const struct edit_axis heads = {"head", c->n_head};
    const char *dot = memchr(piece.at, '.', piece.size);
    size_t size = dot ? (size_t)(dot - piece.at) : piece.size;
    if (edit_add_range(&edit->layers, reader, &layers, (struct edit_piece){piece.at, size}))
        return -1;
    return dot ? edit_add_range(&edit->heads, reader, &heads,
                                (struct edit_piece){dot + 1, piece.size - size - 1})
               : 0;
}

static int read_ablation(const struct edit_reader *reader, const char *text)
{
    struct edit_wish wish = {.origin = EDIT_NUMBER};
    struct edit edit = {.site = SITE_CONTEXT, .op = EDIT_SET};
    const char *sign = strchr(text, '=');
    const char *end = sign ? sign : text + strlen(text);
    if (sign && read_value(&edit, &wish, reader, '=', edit_trim(sign + 1, text + strlen(text))))
        return -1;
    for (const char *at = text; at <= end;) {
        struct edit_piece piece = edit_next_piece(&at, end);
        edit.layers = edit.heads = (struct edit_places){NULL, 0};
        if (!memchr(piece.at, '.', piece.size))
            return err_usage(reader->err, "%s: expected LAYER.HEAD as 9.6, found '%.*s'",
                             reader->words, (int)piece.size, piece.at);
        if (read_heads(&edit, reader, piece) || append(reader, &edit, &wish))
            return -1;
    }
    return 0;
}

/* Each with each, unless no key is seen by any of the queries. */
static int check_seen(const struct edit *edit, const struct edit_reader *reader,
                      struct edit_piece piece)
{
    ptrdiff_t query = edit->tokens.items->last;
    ptrdiff_t key = edit->columns.items->first;
    if (!reader->list->config->causal || (query < 0) != (key < 0) || key <= query)
        return 0;
    return err_usage(reader->err,
                     "%s: expected a key that the query sees, itself or one before it, found "
                     "'%.*s'",
                     reader->words, (int)piece.size, piece.at);
}

/* 4:2, or 9:4:2, or 9.6:4:2 */
static int read_knockout_of(struct edit *edit, const struct edit_reader *reader,
                            struct edit_piece piece)
{
    static const struct edit_axis query = {"query", 0};
    static const struct edit_axis key = {"key", 0};
    const char *end = piece.at + piece.size;
    const char *second = platform_last_byte(piece.at, ':', piece.size);
    const char *first =
        second ? platform_last_byte(piece.at, ':', (size_t)(second - piece.at)) : NULL;
    const char *at = first ? first + 1 : piece.at;
    if (!second)
        return err_usage(reader->err, "%s: expected QUERY:KEY as 4:2, found '%.*s'", reader->words,
                         (int)piece.size, piece.at);
    if (first && read_heads(edit, reader, edit_trim(piece.at, first)))
        return -1;
    return edit_add_range(&edit->tokens, reader, &query, edit_trim(at, second)) ||
                   edit_add_range(&edit->columns, reader, &key, edit_trim(second + 1, end)) ||
                   check_seen(edit, reader, piece)
               ? -1
               : 0;
}

static int read_knockout(const struct edit_reader *reader, const char *text)
{
    const struct edit_wish wish = {.origin = EDIT_NUMBER};
    const char *end = text + strlen(text);
    for (const char *at = text; at <= end;) {
        struct edit edit = {.site = SITE_MASKED, .op = EDIT_FORBID};
        if (read_knockout_of(&edit, reader, edit_next_piece(&at, end)) ||
            append(reader, &edit, &wish))
            return -1;
    }
    return 0;
}

static int read_one(struct edit_list *list, enum edit_form form, const char *text, size_t size,
                    struct err *err)
{
    static int (*const reads[])(const struct edit_reader *, const char *) = {
        [EDIT_WORDS] = read_words,
        [EDIT_ABLATION] = read_ablation,
        [EDIT_KNOCKOUT] = read_knockout,
    };
    const char *part = arena_text(list->arena, text, size, err);
    const char *words =
        part ? arena_format(list->arena, err, "%s '%s'", options[form], part) : NULL;
    struct edit_reader reader = {list, form, words, err};
    return words ? reads[form](&reader, part) : -1;
}

int edit_list_add(struct edit_list *list, enum edit_form form, const char *text, struct err *err)
{
    const char *end = form == EDIT_WORDS ? strchr(text, ';') : NULL;
    for (; end; text = end + 1, end = strchr(text, ';'))
        if (read_one(list, form, text, (size_t)(end - text), err))
            return -1;
    return read_one(list, form, text, strlen(text), err);
}
