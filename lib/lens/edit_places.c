#include "lens/edit_places.h"

#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "base/num.h"

struct edit_piece edit_trim(const char *at, const char *end)
{
    while (at < end && *at == ' ')
        at++;
    while (end > at && end[-1] == ' ')
        end--;
    return (struct edit_piece){at, (size_t)(end - at)};
}

static bool is_word(struct edit_piece piece, const char *word)
{
    return strlen(word) == piece.size && memcmp(piece.at, word, piece.size) == 0;
}

/* Up to a comma, or the end; `at` goes on after that. */
struct edit_piece edit_next_piece(const char **at, const char *end)
{
    const char *comma = memchr(*at, ',', (size_t)(end - *at));
    struct edit_piece piece = edit_trim(*at, comma ? comma : end);
    *at = comma ? comma + 1 : end + 1;
    return piece;
}

static bool read_number(ptrdiff_t *number, struct edit_piece piece)
{
    char digits[16];
    long long value = 0;
    if (!piece.size || piece.size >= sizeof digits)
        return false;
    memcpy(digits, piece.at, piece.size);
    digits[piece.size] = '\0';
    if (!num_parse_integer(digits, -(1LL << 40), 1LL << 40, &value))
        return false;
    *number = (ptrdiff_t)value;
    return true;
}

/* `3`, `-1`, `0-2`, `-3--1` */
static bool read_ends(struct edit_range *range, struct edit_piece piece)
{
    const char *dash = piece.size > 1 ? memchr(piece.at + 1, '-', piece.size - 1) : NULL;
    size_t head = dash ? (size_t)(dash - piece.at) : piece.size;
    if (!read_number(&range->first, (struct edit_piece){piece.at, head}))
        return false;
    range->last = range->first;
    return !dash || read_number(&range->last, (struct edit_piece){dash + 1, piece.size - head - 1});
}

/* Those of axes whose length is known are counted from the beginning. */
static int read_range(struct edit_range *range, const struct edit_reader *reader,
                      const struct edit_axis *axis, struct edit_piece piece)
{
    ptrdiff_t count = (ptrdiff_t)axis->count;
    bool sound = read_ends(range, piece);
    if (sound && count) {
        sound = range->first >= -count && range->last >= -count;
        range->first += range->first < 0 ? count : 0;
        range->last += range->last < 0 ? count : 0;
        sound = sound && range->last < count;
    }
    bool one_way = (range->first < 0) == (range->last < 0);
    if (sound && (!one_way || range->first <= range->last))
        return 0;
    if (!count)
        return err_usage(reader->err, "%s: %s: expected places such as 2, -1 or 0-3, found '%.*s'",
                         reader->words, axis->thing, (int)piece.size, piece.at);
    return err_usage(reader->err,
                     "%s: %s: expected numbers from 0 to %td (or -%td to -1 from the end) or "
                     "ranges such as 0-%td, found '%.*s': there are %td",
                     reader->words, axis->thing, count - 1, count, count - 1, (int)piece.size,
                     piece.at, count);
}

int edit_add_range(struct edit_places *places, const struct edit_reader *reader,
                   const struct edit_axis *axis, struct edit_piece piece)
{
    struct edit_range range = {0, 0};
    if (read_range(&range, reader, axis, piece))
        return -1;
    struct edit_range *items = arena_grow(reader->list->arena, (void *)places->items, places->count,
                                          sizeof *items, reader->err);
    if (!items)
        return -1;
    items[places->count++] = range;
    places->items = items;
    return 0;
}

struct edit_axis edit_layers(const struct edit_reader *reader, enum site site)
{
    const struct config *c = reader->list->config;
    bool encoder = site_rows[site].part == PART_SOURCE;
    return (struct edit_axis){"layer", encoder ? c->n_encoder_layer : c->n_layer};
}

/* Where the places of a name go, and which there are; 0: the site has no such axis. */
static struct edit_places *choose_axis(struct edit_axis *axis, struct edit *edit,
                                       const struct edit_reader *reader, struct edit_piece name)
{
    const struct config *c = reader->list->config;
    enum site_axes axes = site_rows[edit->site].axes;
    bool is_map = axes == AXES_HEAD_QUERY_KEY;
    size_t columns = 0;
    site_size(&columns, c, edit->site, 1, 1, 1);
    *axis = (struct edit_axis){"token", 0};
    if (is_word(name, "token") || (is_word(name, "query") && is_map))
        return &edit->tokens;
    *axis = edit_layers(reader, edit->site);
    if (is_word(name, "layer") && site_rows[edit->site].in_layer)
        return &edit->layers;
    *axis = (struct edit_axis){"head", axes == AXES_GROUP_TOKEN_DIM ? c->n_kv_head : c->n_head};
    if (is_word(name, "head") && site_has_heads(edit->site))
        return &edit->heads;
    *axis = (struct edit_axis){is_map ? "key" : "channel", is_map ? 0 : columns};
    return is_word(name, axis->thing) ? &edit->columns : NULL;
}

static int refuse_axis(const struct edit *edit, const struct edit_reader *reader,
                       struct edit_piece name)
{
    const char *known[4];
    struct names names = {known, 0, sizeof *known};
    char option[ERR_TEXT_BYTES / 2];
    bool is_map = site_rows[edit->site].axes == AXES_HEAD_QUERY_KEY;
    if (site_rows[edit->site].in_layer)
        known[names.count++] = "layer";
    if (site_has_heads(edit->site))
        known[names.count++] = "head";
    known[names.count++] = is_map ? "query" : "token";
    known[names.count++] = is_map ? "key" : "channel";
    snprintf(option, sizeof option, "%s: places", reader->words);
    return names_refuse(names, option, name.at, name.size, reader->err);
}

/* head=6,token=-1,3: a name holds until the next one. */
int edit_read_places(struct edit *edit, const struct edit_reader *reader, struct edit_piece text)
{
    struct edit_places *places = NULL;
    struct edit_axis axis = {NULL, 0};
    const char *end = text.at + text.size;
    for (const char *at = text.at; at <= end;) {
        struct edit_piece piece = edit_next_piece(&at, end);
        const char *sign = memchr(piece.at, '=', piece.size);
        struct edit_piece name = edit_trim(piece.at, sign ? sign : piece.at + piece.size);
        if (sign || !places)
            places = choose_axis(&axis, edit, reader, name);
        if (!places)
            return refuse_axis(edit, reader, name);
        if (sign && places->count)
            return err_usage(reader->err, "%s: expected each %s once, found it again: %.*s",
                             reader->words, axis.thing, (int)piece.size, piece.at);
        if (sign)
            piece = edit_trim(sign + 1, piece.at + piece.size);
        if (edit_add_range(places, reader, &axis, piece))
            return -1;
    }
    return 0;
}
