#include "weights_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "draw/page.h"
#include "format/dump.h"
#include "format/json.h"
#include "measure/head_scores.h"
#include "model/head_name.h"
#include "model/layer.h"
#include "output.h"
#include "sweep.h"

enum { WEIGHTS_AXES = 5 /* maximum number of axes: layers, texts, heads, queries, keys */ };

struct weights_file {
    const char *path;
    size_t layers, heads, tokens;
    float *numbers;     /* [layers, heads, tokens, tokens] attention weights */
    struct texts names; /* names of tokens; empty: not given */
    bool causal;
    struct arena arena;
    struct err *err;
};

/* --- arrays ----------------------------------------------------------------------------------- */

static int compare_items(const void *a, const void *b)
{
    const struct dumped *one = a, *other = b;
    return compare_by_numbers(&one->entry.name, &other->entry.name);
}

/* Check the shape of an array. With five axes, or with four if it is the only array, it has several
 * layers; otherwise one. Set file->heads and file->tokens, and add the layers to file->layers. */
static int read_shape(struct weights_file *file, const char *name, const size_t *shape, size_t rank,
                      bool is_only)
{
    const size_t *end = shape + rank;
    const bool many = rank == WEIGHTS_AXES || (rank == 4 && is_only);
    const size_t layers = many ? shape[0] : 1;
    const bool is_map = rank >= 3 && rank <= WEIGHTS_AXES && end[-1] && end[-1] == end[-2];
    const size_t texts = rank == WEIGHTS_AXES ? shape[1] : rank == 4 && !is_only ? shape[0] : 1;
    if (!is_map || !end[-3] || !layers)
        return err_set(file->err,
                       "'%s': expected attention weights [layers, heads, tokens, tokens] or "
                       "[heads, tokens, tokens] of each layer, found another shape in '%s'",
                       file->path, name);
    if (texts != 1)
        return err_set(file->err,
                       "'%s': expected one text, found %zu in '%s': save those of one, such as "
                       "attention[:, 0]",
                       file->path, texts, name);
    if (file->layers && (end[-3] != file->heads || end[-1] != file->tokens))
        return err_set(file->err,
                       "'%s': expected %zu heads and %zu tokens in each array, found %zu and %zu "
                       "in '%s'",
                       file->path, file->heads, file->tokens, end[-3], end[-1], name);
    file->heads = end[-3];
    file->tokens = end[-1];
    file->layers += layers;
    return 0;
}

static int read_arrays(struct weights_file *file)
{
    struct dump dump;
    size_t at = 0;
    if (dump_open(&dump, file->path, file->err))
        return -1;
    qsort(dump.items, dump.count, sizeof *dump.items, compare_items);
    int failed = 0;
    for (size_t i = 0; i < dump.count && !failed; i++) {
        const struct safetensors_entry *entry = &dump.items[i].entry;
        failed = read_shape(file, entry->name, entry->shape, entry->rank, dump.count == 1);
    }
    if (!failed)
        file->numbers = arena_room(&file->arena, file->layers * file->heads,
                                   file->tokens * file->tokens * sizeof(float), file->err);
    for (size_t i = 0; i < dump.count && file->numbers && !failed; i++) {
        failed = dump_floats(file->numbers + at, &dump.items[i], file->err);
        at += dump.items[i].entry.count;
    }
    dump_release(&dump);
    return err_if(failed || !file->numbers);
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* Find the first member `attn`, within objects and lists, and the tokens in the same object; skip
 * values without `attn`. The cursor continues through nested lists: each byte is read once. */
static bool find_attention(struct json_span *attention, struct json_span *tokens,
                           struct json_cursor *cursor)
{
    const bool is_object = json_cursor_kind(cursor) == '{';
    bool found = false;
    if (!is_object && json_cursor_kind(cursor) != '[') {
        json_cursor_value(cursor);
        return false;
    }
    json_cursor_enter(cursor);
    while (json_cursor_next(cursor)) {
        struct json_span name = is_object ? json_cursor_name(cursor) : (struct json_span){"", 0};
        if (json_span_is(name, "left_text"))
            *tokens = json_cursor_value(cursor);
        else if (json_span_is(name, "attn"))
            *attention = json_cursor_value(cursor), found = true;
        else if (found)
            json_cursor_value(cursor);
        else if (find_attention(attention, tokens, cursor))
            return true;
    }
    return found;
}

/* Read nested lists, which were checked to be JSON. Lists of one axis must have equal sizes. */
static int read_lists(struct weights_file *file, struct json_span lists)
{
    size_t shape[WEIGHTS_AXES] = {0}, counts[WEIGHTS_AXES] = {0}, depth = 0, rank = 0, count = 0;
    bool fits = true;
    for (size_t i = 0; i < lists.size && strchr("[ \n\r\t", lists.bytes[i]); i++)
        rank += lists.bytes[i] == '[';
    fits = rank && rank <= WEIGHTS_AXES;
    for (const char *c = lists.bytes; fits && c < lists.bytes + lists.size;) {
        if (*c == '[') {
            fits = depth < rank;
            counts[fits ? depth : 0] = 0;
            depth++, c++;
        } else if (*c == ']') {
            size_t axis = --depth;
            fits = !shape[axis] || shape[axis] == counts[axis];
            shape[axis] = counts[axis];
            counts[axis ? axis - 1 : 0] += axis > 0;
            c++;
        } else if (strchr(", \n\r\t", *c)) {
            c++;
        } else {
            char *after = NULL;
            const float number = strtof(c, &after);
            float *numbers =
                arena_grow(&file->arena, file->numbers, count, sizeof *numbers, file->err);
            fits = after != c && depth == rank && numbers;
            if (fits)
                numbers[count++] = number;
            counts[rank - 1]++;
            file->numbers = numbers;
            c = after;
        }
    }
    if (file->err->kind)
        return -1;
    return fits ? read_shape(file, "attn", shape, rank, true)
                : err_set(file->err,
                          "'%s': field 'attn': expected lists of equal size, with numbers",
                          file->path);
}

static int add_names(struct weights_file *file, struct json_cursor list)
{
    json_cursor_enter(&list);
    while (json_cursor_next(&list)) {
        if (json_cursor_kind(&list) != '"')
            return err_set(file->err, "expected a list of texts, found another value in it");
        struct json_cursor text = list;
        char *name = arena_alloc(&file->arena, json_cursor_text(&list).size + 1, 1, file->err);
        if (!name || texts_add(&file->names, name, &file->arena, file->err))
            return -1;
        json_cursor_read(&text, name);
    }
    return 0;
}

static int read_json(struct weights_file *file, const struct file *bytes)
{
    struct json_cursor cursor;
    struct json_span attention = {0}, tokens = {0};
    if (json_cursor_open(&cursor, NULL, bytes->bytes, bytes->size, file->err))
        return err_prefix(file->err, "'%s'", file->path);
    if (!find_attention(&attention, &tokens, &cursor))
        return err_set(file->err, "'%s': expected JSON of BertViz with a field 'attn', found none",
                       file->path);
    return err_if(read_lists(file, attention) || (tokens.bytes && *tokens.bytes == '[' &&
                                                  add_names(file, json_cursor_at(tokens))));
}

/* --- tokens ----------------------------------------------------------------------------------- */

/* Read the names of tokens from a file: a line for each token, or a list in JSON. */
static int read_tokens(struct weights_file *file, const char *path)
{
    struct file bytes;
    struct json_cursor list;
    if (file_map(&bytes, path, file->err))
        return -1;
    file->names = (struct texts){0};
    int failed = 0;
    if (bytes.size && *(const char *)bytes.bytes == '[') {
        failed = json_cursor_open(&list, NULL, bytes.bytes, bytes.size, file->err) ||
                 add_names(file, list);
    } else {
        const char *end = (const char *)bytes.bytes + bytes.size;
        for (const char *line = bytes.bytes; line < end && !failed;) {
            const char *stop = memchr(line, '\n', (size_t)(end - line));
            size_t size = (size_t)((stop ? stop : end) - line);
            size -= size && line[size - 1] == '\r';
            const char *name = arena_text(&file->arena, line, size, file->err);
            failed = !name || texts_add(&file->names, name, &file->arena, file->err);
            line = stop ? stop + 1 : end;
        }
    }
    file_release(&bytes);
    return failed ? err_prefix(file->err, "--tokens: '%s'", path) : 0;
}

/* Name all tokens, by numbers if the file gives no names. A Ġ or ▁ before a word stands for a
 * space, as in vocabularies. Returns true if some token begins with a space: no other spaces are
 * then put between the tokens. */
static bool find_spaces(struct weights_file *file)
{
    static const char *const signs[] = {"Ġ", "▁"};
    struct arena *arena = &file->arena;
    bool any = false;
    for (size_t i = file->names.count; i < file->tokens && !file->err->kind; i++)
        texts_add(&file->names, arena_format(arena, file->err, "%zu", i), arena, file->err);
    for (size_t i = 0; i < file->names.count && !file->err->kind; i++) {
        const char **name = &file->names.items[i];
        for (size_t k = 0; k < 2 && *name; k++)
            if (strncmp(*name, signs[k], strlen(signs[k])) == 0)
                *name = arena_format(arena, file->err, " %s", *name + strlen(signs[k]));
        any = any || (*name && **name == ' ');
    }
    return any;
}

static int make_text(struct tokenized *sentence, struct weights_file *file)
{
    struct arena *arena = &file->arena;
    const size_t count = file->tokens;
    struct token *tokens = arena_alloc(arena, count, sizeof *tokens, file->err);
    uint32_t *ids = arena_alloc(arena, count, sizeof *ids, file->err);
    struct label *labels = arena_alloc(arena, count, sizeof *labels, file->err);
    const bool has_spaces = find_spaces(file);
    struct buf text = {0};
    for (size_t i = 0; i < count && !file->err->kind; i++) {
        const char *name = file->names.items[i];
        if (i && !has_spaces)
            buf_char(&text, ' ');
        labels[i] = label_borrowed(name, true, arena, file->err);
        labels[i].exact = arena_format(arena, file->err, "%zu:%s", i, labels[i].text);
        tokens[i] = (struct token){(uint32_t)i, false, text.size, text.size + strlen(name)};
        ids[i] = (uint32_t)i;
        buf_text(&text, name);
    }
    *sentence = (struct tokenized){
        .size = text.size, .tokens = tokens, .ids = ids, .labels = labels, .count = count};
    sentence->raw = buf_keep(&text, arena, file->err);
    return err_if(file->err->kind);
}

/* --- the report ------------------------------------------------------------------------------- */

/* Refuse numbers that are not attention weights. Set file->causal if no query attends to a later
 * key. */
static int check_numbers(struct weights_file *file)
{
    const size_t tokens = file->tokens, maps = file->layers * file->heads;
    char name[HEAD_NAME_BYTES];
    file->causal = true;
    for (size_t i = 0; i < maps * tokens * tokens; i++) {
        const float x = file->numbers[i];
        if (!(x >= -1e-3f && x <= 1.001f))
            return err_set(file->err, "'%s': expected weights from 0 to 1, found %g in %s",
                           file->path, (double)x,
                           head_name(name, i / tokens / tokens / file->heads,
                                     i / tokens / tokens % file->heads));
        file->causal = file->causal && (x == 0 || i % tokens <= i / tokens % tokens);
    }
    return 0;
}

/* Make the config of a decoder with as many layers and heads as the file; it has no parameters. */
static int make_config(struct config *config, const struct weights_file *file)
{
    char text[300];
    int size = snprintf(text, sizeof text,
                        "{\"model_type\": \"gpt2\", \"n_layer\": %zu, \"n_head\": %zu, "
                        "\"n_embd\": %zu, \"n_positions\": %zu, \"vocab_size\": %zu, "
                        "\"is_causal\": %s}",
                        file->layers, file->heads, file->heads, file->tokens, file->tokens,
                        file->causal ? "true" : "false");
    return err_if(config_parse(config, text, (size_t)size, file->err) ||
                  config_describe(config, file->err));
}

/* Make a report of the selected heads of the selected layers. */
static int make_report(struct report *report, struct weights_file *file,
                       const struct config *config, const struct select_options *select)
{
    struct arena *arena = &file->arena;
    struct selection selection = {0};
    const char *slash = strrchr(file->path, '/');
    const size_t size = file->tokens * file->tokens;
    const char *layers = select->layer, *heads = select->head;
    site_set_add(&selection.sites, SITE_WEIGHTS);
    if (selection_split_heads(&layers, &heads, stack_of(config, BRANCH_TEXT), arena, file->err) ||
        selection_layers(&selection, layers, config, arena, file->err) ||
        selection_heads(&selection, heads, config, arena, file->err))
        return -1;
    *report = (struct report){.model = slash ? slash + 1 : file->path,
                              .layers = selection.layers,
                              .heads = selection.heads,
                              .head_count = selection.head_count,
                              .causal = file->causal};
    for (size_t i = 0; i < selection.layers.count; i++) {
        const size_t layer = selection.layers.items[i];
        const size_t count = selection.heads ? selection.head_count : file->heads;
        size_t *numbers = arena_alloc(arena, count, sizeof *numbers, file->err);
        float *data = arena_alloc(arena, count * size, sizeof *data, file->err);
        for (size_t k = 0; numbers && data && k < count; k++) {
            numbers[k] = selection.heads ? selection.heads[k] : k;
            memcpy(data + k * size, file->numbers + (layer * file->heads + numbers[k]) * size,
                   size * sizeof *data);
        }
        const struct array array = {.site = SITE_WEIGHTS,
                                    .layer = (int)layer,
                                    .heads = {"head", count, .numbers = numbers},
                                    .rows.size = file->tokens,
                                    .columns.size = file->tokens,
                                    .data = data};
        if (!data || !numbers || report_add_array(report, &array, arena, file->err))
            return -1;
    }
    struct derivation how = {.hide_first = select->hide_first};
    if (select->mean && derive_read_mean(&how, select->mean, MEAN_AXES, file->err))
        return -1;
    if (how.mean_of_texts)
        return err_usage(file->err, "--mean: expected heads or layers of --weights, found texts");
    return err_if(make_text(&report->text, file) || derive(report, &how, NULL, arena, file->err));
}

static int write_report(struct report *report, const struct config *config,
                        const struct options *options, bool page, struct err *err)
{
    struct output output = {.path = NULL};
    struct style style;
    const struct tokenized none = {0};
    const struct page_facts facts = {.config = config,
                                     .text = &report->text,
                                     .source = &none,
                                     .mask = -1,
                                     .roles = &head_roles,
                                     .weights = options->input.weights,
                                     .tokens = options->input.tokens};
    struct output_options how = options->output;
    how.format = page ? "html" : how.format;
    int failed = output_choose(&output, &how, err) || display_read(&style, options, err);
    struct layout layout = page_layout(options, &style);
    layout.page = output.format && format_is(output.format, "html") ? &facts : NULL;
    report->identity = identity_first(1);
    failed = failed || output_open(&output, err) || output_write(&output, report, &layout, err) ||
             output_commit(&output, err);
    output_discard(&output);
    return err_if(failed);
}

/* Refuse texts, and options that need a model: all options of a shared table, and some by name. */
static int check_options(const struct options *options, struct err *err)
{
    static const struct option_row *const tables[] = {text_options, model_options,
                                                      mechanism_options, edit_options};
    const char *other =
        options_are_given(options, "show query key words bits pool gradient "
                                   "cosines stack align stats normalize explain top lens "
                                   "scores unedited live");
    for (size_t i = 0; i < options->given.count && !other; i++)
        for (size_t k = 0; k < sizeof tables / sizeof *tables; k++)
            for (const struct option_row *row = tables[k]; row->name; row++)
                if (strcmp(row->name, options->given.items[i]) == 0)
                    other = row->name;
    if (other)
        return err_usage(err, "--%s: expected no --weights, which has no model, found both", other);
    if (options->input.operands.count)
        return err_usage(err, "--weights: expected no text, found '%s': --tokens FILE names tokens",
                         options->input.operands.items[0]);
    return 0;
}

int weights_file_show(const struct options *options, bool page, struct err *err)
{
    struct weights_file file = {.path = options->input.weights, .err = err};
    struct config config = {0};
    struct report report;
    struct file bytes = {0};
    const char *tokens = options->input.tokens;
    if (!file.path)
        return err_usage(err, "--tokens: expected --weights, found none");
    if (check_options(options, err))
        return -1;
    int failed = name_has_ending(file.path, ".json")
                     ? file_map(&bytes, file.path, err) || read_json(&file, &bytes)
                     : read_arrays(&file);
    failed = failed || check_numbers(&file) || (tokens && read_tokens(&file, tokens));
    if (!failed && file.names.count && file.names.count != file.tokens)
        failed = err_set(err, "'%s': expected %zu tokens, as the weights have, found %zu",
                         tokens ? tokens : file.path, file.tokens, file.names.count);
    failed = failed || make_config(&config, &file) ||
             make_report(&report, &file, &config, &options->select) ||
             write_report(&report, &config, options, page, err);
    config_release(&config);
    file_release(&bytes);
    arena_release(&file.arena);
    return err_if(failed);
}
