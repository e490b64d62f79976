/* positions.c: positions by name. @verb is the column `verb` of the item, which contains indices,
 * or a word or phrase that occurs once in the text (are/2: the second `are`). Without such a
 * column, or if it is a column of --regions, @verb is the region `verb`; otherwise it is the word
 * `verb` of the text. Without @, `verb` is a token or a word that occurs once, and are/2 the second
 * `are`. */
#include <string.h>

#include "base/names.h"
#include "base/num.h"
#include "base/utf8.h"
#include "items.h"
#include "measure/score_attribution.h"
#include "session.h"
#include "stimuli.h"
#include "text/aligned_text.h"

/* The item and text in which names are looked up, and what a name may be. */
struct scope {
    const struct item *item;
    const struct tokenized *text;
    const char *option; /* the option's name in messages */
    bool one;           /* a name of several tokens means the last of its tokens */
    bool plain;         /* the name has no @ before it */
    bool all;           /* the option also accepts `all` */
    struct arena *arena;
    struct err *err;
};

/* True if no word continues across the byte offset `at`, because one of the characters next to it
 * cannot be in a word, or is from a script that is written without spaces. */
static bool is_edge(const char *text, size_t size, size_t at)
{
    uint32_t before = 0, after = 0;
    if (at == 0 || at == size)
        return true;
    size_t start = utf8_before(text, at);
    utf8_decode(&before, text + start, at - start);
    utf8_decode(&after, text + at, size - at);
    return !unicode_is_word(unicode_kind(before)) || !unicode_is_word(unicode_kind(after)) ||
           unicode_is_unspaced(before) || unicode_is_unspaced(after);
}

/* The tokens or words that share bytes with a range of the text or, with `second`, of the second
 * text of a pair. */
static struct word_span span_of(const struct tokenized *text, struct text_range range, bool second)
{
    struct word_span span = {0};
    size_t end = text->words ? text->word_count : text->count;
    for (size_t i = 0; i < end; i++) {
        size_t token = text->words ? text->words[i].first : i;
        struct text_range own = {0};
        if (text->words)
            own = word_range(text, i);
        else
            own = (struct text_range){text->tokens[token].start, text->tokens[token].end};
        bool is_here = (text->second && token >= text->second) == second;
        if (!is_here || tokenized_is_added(text, token) || own.start >= range.end ||
            own.end <= range.start)
            continue;
        span.first = span.count ? span.first : i - text->words_before;
        span.count++;
    }
    return span;
}

/* Refuse a word that is not in the text, and guess which word, or column, was meant. */
static int refuse_word(const struct scope *scope, const char *column, const char *word, size_t size)
{
    const struct tokenized *text = scope->text;
    char guess[NAMES_GUESS_BYTES];
    struct nearest nearest;
    nearest_begin(&nearest, word, size);
    for (size_t i = 0; i < scope->item->column_count && !column; i++)
        nearest_offer(&nearest, scope->item->columns[i].name);
    for (size_t i = 0; i < scope->item->region_count && !column; i++)
        nearest_offer(&nearest, scope->item->regions[i].name);
    for (size_t start = 0, end = 1; text->raw && end <= text->size; end++)
        if (is_edge(text->raw, text->size, end)) {
            nearest_offer_bytes(&nearest, text->raw + start, end - start);
            start = end;
        }
    const char *name = nearest.name
                           ? arena_text(scope->arena, nearest.name, nearest.name_bytes, scope->err)
                           : NULL;
    names_guess(guess, name);
    if (scope->plain)
        return err_set(scope->err,
                       "%s: expected positions%s or a token of the text, found '%.*s'%s",
                       scope->option, scope->all ? ", all," : "", (int)size, word, guess);
    return column
               ? err_set(scope->err, "%s: column '%s': expected a word of the text, found '%.*s'%s",
                         scope->option, column, (int)size, word, guess)
               : err_set(scope->err,
                         "%s: expected a column%s or a word of the text, found '@%.*s', which is "
                         "neither%s",
                         scope->option, scope->item->region_count ? ", a region" : "", (int)size,
                         word, guess);
}

/* Find a word that occurs once (`nth` is 0), or its occurrence number `nth` from 1. The word is
 * from `column` or, if `column` is NULL, from the option. Returns 1 if the text lacks the word. */
static int find_word(struct word_span *found, const struct scope *scope, const char *column,
                     const char *word, size_t size, size_t nth)
{
    const struct tokenized *text = scope->text;
    const struct token_bytes texts[] = {{text->raw, text->size}, text->pair};
    struct buf places = {0};
    size_t count = 0;
    for (size_t k = 0; k < 2; k++) {
        const char *bytes = texts[k].bytes;
        for (size_t at = 0; bytes && at + size <= texts[k].size; at++) {
            if (memcmp(bytes + at, word, size) != 0 || !is_edge(bytes, texts[k].size, at) ||
                !is_edge(bytes, texts[k].size, at + size))
                continue;
            struct word_span span = span_of(text, (struct text_range){at, at + size}, k);
            if (!span.count)
                continue;
            if (++count == (nth ? nth : 1))
                *found = span;
            buf_format(&places, "%s%zu", count > 1 ? ", " : "", span.first + span.count - 1);
        }
    }
    int failed = buf_check(&places, scope->err);
    if (!failed && count == 0)
        failed = 1;
    else if (!failed && nth > count)
        failed = err_set(scope->err, "%s: expected occurrence 1 to %zu of '%.*s', found %zu",
                         scope->option, count, (int)size, word, nth);
    else if (!failed && !nth && count > 1)
        failed = err_set(scope->err,
                         "%s: expected a word that occurs once, found '%.*s' at %s: '%s%.*s/2' is "
                         "the second",
                         scope->option, (int)size, word, places.bytes,
                         column || scope->plain ? "" : "@", (int)size, word);
    buf_release(&places);
    return failed;
}

static void put_span(struct buf *out, const struct scope *scope, struct word_span span)
{
    size_t last = span.first + span.count - 1;
    if (scope->one || span.count == 1)
        buf_format(out, "%zu", last);
    else
        buf_format(out, "%zu-%zu", span.first, last);
}

/* Append the positions of all regions called `name` or, if `nth` is not 0, only of the nth of these
 * regions, counted from 1. Returns 1 if no region has this name. Regions without tokens in this
 * text are an error. */
static int put_regions(struct buf *out, const struct scope *scope, const char *name, size_t size,
                       size_t nth)
{
    const struct item *item = scope->item;
    const struct tokenized *text = scope->text;
    struct word_span span = {0};
    size_t found = 0, put = out->size;
    bool is_here = item->region_count && text->raw && text->raw == item->text;
    const struct score_region *parts =
        is_here ? regions_find(text, item, scope->arena, scope->err) : NULL;
    for (size_t i = 0; parts && i < item->region_count; i++) {
        const struct score_region *part = &parts[i];
        if (strlen(part->name) != size || memcmp(part->name, name, size) != 0 ||
            (++found != nth && nth))
            continue;
        size_t end = text->words ? text->word_count : text->count;
        for (size_t at = text->words_before; at < end; at++) {
            size_t token = text->words ? text->words[at].first : at;
            bool is_empty = text->words && !text->words[at].count;
            if (is_empty || token - part->first >= part->count)
                continue;
            size_t row = at - text->words_before;
            if (span.count && row == span.first + span.count) {
                span.count++;
                continue;
            }
            if (span.count && !scope->one) {
                put_span(out, scope, span);
                buf_char(out, ',');
            }
            span = (struct word_span){row, 1};
        }
    }
    if (!found || scope->err->kind)
        return found ? -1 : 1;
    if (span.count)
        put_span(out, scope, span);
    return span.count || out->size > put
               ? 0
               : err_set(scope->err, "%s: region '%.*s': expected tokens in this text, found none",
                         scope->option, (int)size, name);
}

/* Append the positions of a name, such as "4" or "4-5". Indices in a column are copied. */
static int put_name(struct buf *out, const struct scope *scope, const char *name, size_t size,
                    size_t nth)
{
    const struct item *item = scope->item;
    struct word_span span = {0};
    const char *word = name, *found = NULL;
    size_t index = 0;
    bool is_column = names_find(&index, item_columns(item), name, size);
    int failed = is_column && !item->is_joined ? 1 : put_regions(out, scope, name, size, nth);
    if (failed <= 0)
        return failed;
    if (is_column) {
        word = item->columns[index].value;
        if (!word)
            return err_set(scope->err, "%s: '@%.*s': expected a value in this column, found none",
                           scope->option, (int)size, name);
        found = item->columns[index].name;
        size = strlen(word);
        const char *slash = strrchr(word, '/');
        long long number = 0;
        const struct tokenized *text = scope->text;
        bool in_text = text->raw && memmem(text->raw, text->size, word, size);
        size_t digits = strspn(word, "0123456789");
        if (digits && !in_text && strcmp(word + digits, ".0") == 0)
            size = digits; /* pandas writes 2.0 in a column that lacks values */
        if (slash && !nth && !in_text &&
            num_parse_part(slash + 1, strlen(slash + 1), 1, 1 << 20, &number)) {
            size = (size_t)(slash - word);
            nth = (size_t)number;
        }
        if (strspn(word, "0123456789,-") == size) {
            buf_bytes(out, word, size);
            return 0;
        }
    }
    failed = find_word(&span, scope, found, word, size, nth);
    if (failed)
        return failed < 0 ? -1 : refuse_word(scope, found, word, size);
    put_span(out, scope, span);
    return 0;
}

/* The size in bytes of a name after @: up to one of `signs`, or the size of a column's or region's
 * name that begins here, if that is longer. */
static size_t name_size(const char *name, const struct item *item)
{
    static const char signs[] = ":,]/;";
    size_t size = strcspn(name, signs);
    while (size && name[size - 1] == ' ')
        size--;
    for (size_t i = 0; i < item->column_count + item->text_count; i++) {
        size_t own = strlen(item->columns[i].name);
        if (own > size && strncmp(name, item->columns[i].name, own) == 0 &&
            strchr(signs, name[own]))
            size = own;
    }
    for (size_t i = 0; i < item->region_count; i++) {
        size_t own = strlen(item->regions[i].name);
        if (own > size && strncmp(name, item->regions[i].name, own) == 0 &&
            strchr(signs, name[own]))
            size = own;
    }
    return size;
}

/* Find `the/2`, the second `the`. Returns 1 if a word does not end in a slash and a number, or if
 * the text lacks what is before the slash. */
static int find_nth_word(struct word_span *span, const struct scope *scope, const char *word)
{
    const char *slash = strrchr(word, '/');
    long long nth = 0;
    if (!slash || slash == word || !num_parse_part(slash + 1, strlen(slash + 1), 1, 1 << 20, &nth))
        return 1;
    return find_word(span, scope, NULL, word, (size_t)(slash - word), (size_t)nth);
}

/* Replace words and tokens in a list by positions: `it`, the second `it` (`it/2`), or `8:it`, which
 * is token 8 if its text is `it`. Positions, `all` and @NAME stay as they are. */
static int resolve_words(const char **value, const struct scope *scope)
{
    struct buf out = {0};
    int failed = 0;
    for (const char *at = *value; at && *at && !failed; at += *at == ',') {
        size_t size = *at == '@' ? 1 + name_size(at + 1, scope->item) : 0;
        size += strcspn(at + size, ",");
        const char *word = arena_text(scope->arena, at, size, scope->err);
        struct word_span span = {.count = 1};
        struct token_match match;
        buf_text(&out, at > *value ? "," : "");
        at += size;
        if (!word || *word == '@' || (strspn(word, "0123456789-") && !strchr(word, ':')) || !size ||
            strcmp(word, "all") == 0) {
            failed = err_if(!word);
            buf_text(&out, word ? word : "");
            continue;
        }
        failed = find_word(&span, scope, NULL, word, size, 0);
        if (failed > 0 && !scope->text->words && tokenized_find_token(&match, scope->text, word) &&
            !match.alike && match.index < scope->text->words_before) {
            failed = err_usage(scope->err,
                               "%s: expected a token of the text, found its beginning token '%s', "
                               "which has no number: with --special bos, it is token 0",
                               scope->option, word);
            break;
        }
        if (failed > 0 && !scope->text->words && tokenized_find_token(&match, scope->text, word) &&
            !match.alike) {
            span = (struct word_span){match.index - scope->text->words_before, 1};
            failed = 0;
        }
        if (failed > 0)
            failed = find_nth_word(&span, scope, word);
        if (failed > 0)
            refuse_word(scope, NULL, word, size);
        if (failed)
            err_about(scope->err, ERR_ABOUT_POSITION);
        else
            put_span(&out, scope, span);
    }
    const char *found = failed || !*value ? NULL : buf_keep(&out, scope->arena, scope->err);
    buf_release(&out);
    if (found)
        *value = found;
    return err_if(failed || (*value && !found));
}

/* Replace each @NAME in the value of an option by positions. */
static int resolve(const char **value, const struct scope *scope)
{
    struct buf out = {0};
    int failed = 0;
    if (!*value || !strchr(*value, '@'))
        return 0;
    for (const char *at = *value; *at && !failed;) {
        const char *name = at + 1;
        size_t size = name_size(name, scope->item);
        long long nth = 0;
        /* copy each character that is not an @ at the start of a name */
        if (*at != '@' || (at > *value && !strchr(",:=", at[-1]))) {
            buf_char(&out, *at++);
            continue;
        }
        at = name + size;
        if (*at == '/') {
            size_t digits = strspn(++at, "0123456789");
            if (!num_parse_part(at, digits, 1, 1 << 20, &nth))
                failed = err_usage(scope->err, "%s: expected a number after '@%.*s/', such as 2",
                                   scope->option, (int)size, name);
            at += digits;
        }
        if (!size)
            failed =
                err_usage(scope->err, "%s: expected a column or a word after '@'", scope->option);
        failed = failed || (put_name(&out, scope, name, size, (size_t)nth) &&
                            err_about(scope->err, ERR_ABOUT_POSITION));
    }
    const char *found = failed ? NULL : buf_keep(&out, scope->arena, scope->err);
    buf_release(&out);
    *value = found;
    return found ? 0 : -1;
}

/* If some position in a list is given by a name, keep all positions of the list with their names.
 * "-1" counts as a name, since it is another number in each text. */
static int read_named(struct named_positions *named, const char *list, struct scope scope)
{
    const size_t most = list ? strlen(list) : 0;
    struct label *labels = arena_alloc(scope.arena, most, sizeof *labels, scope.err);
    bool has_name = false;
    *named = (struct named_positions){
        labels, arena_alloc(scope.arena, most, sizeof *named->positions, scope.err), 0};
    for (const char *at = list; at && *at && named->positions; at += *at == ',') {
        size_t size = *at == '@' ? 1 + name_size(at + 1, scope.item) : 0;
        size += strcspn(at + size, ",");
        const char *item = arena_text(scope.arena, at, size, scope.err), *found = item;
        scope.plain = *at != '@';
        if (!item || (*at == '@' ? resolve : resolve_words)(&found, &scope))
            return -1;
        has_name |= strcmp(found, item) != 0 ||
                    (*item == '-' && strspn(item + 1, "0123456789") + 1 == size);
        item += *item == '@';
        labels[named->count] = (struct label){item, item, item};
        named->positions[named->count++] = found;
        at += size;
    }
    named->count = has_name ? named->count : 0;
    return err_if(scope.err->kind);
}

/* Replace a continuation @NAME of the options by the item's value in the column NAME. With
 * `is_after`, the continuation follows the text: put a blank before it where normal spelling has
 * one. */
static int name_continuations(struct item *item, bool is_after, struct arena *arena,
                              struct err *err)
{
    struct buf before = {.bytes = (char *)item->input.text, .size = item->input.size};
    struct texts *texts = &item->options.score.continuations;
    const char **items = arena_alloc(arena, texts->count, sizeof *items, err);
    struct names columns = item_columns(item);
    for (size_t i = 0, index = 0; items && i < texts->count; i++) {
        const char *text = items[i] = texts->items[i], *name = text + 1;
        if (*text != '@' || item->fields[ITEM_CONTINUE])
            continue;
        if (column_choose(&index, columns, "--continue", name, strlen(name), err))
            return -1;
        items[i] = item->columns[index].value;
        if (!items[i]) {
            err_set(err, "--continue: '%s': expected a value in this column, found none", text);
            return err_about(err, ERR_ABOUT_POSITION);
        }
        if (is_after && before.size && wording_needs_blank(&before, items[i], strlen(items[i])))
            items[i] = arena_format(arena, err, " %s", items[i]);
    }
    texts->items = items;
    return err_if(err->kind);
}

/* True if positions count tokens, except the first words_before tokens, which have no number. */
static bool counts_rows(const struct tokenized *text)
{
    return text->words_before && !text->words;
}

/* Convert an index or a range to a range of indices among all tokens. The given index counts words
 * or, without words, the tokens after the first words_before tokens. */
static const char *tokens_of_rows(const char *range, const struct scope *scope)
{
    const struct tokenized *text = scope->text;
    size_t before = text->words_before;
    size_t count = (text->words ? text->word_count : text->count) - before;
    ptrdiff_t first = 0, last = 0;
    if (!selection_range(&first, &last, range, strlen(range), count)) {
        err_set(scope->err, "%s: expected %s from 0 to %zu, or ranges such as 0-1, found '%s'",
                scope->option, text->words ? "words" : "tokens", count - 1, range);
        return NULL;
    }
    if (text->words) {
        const struct word_span *words = text->words + before;
        return arena_format(scope->arena, scope->err, "%zu-%zu", words[first].first,
                            words[last].first + words[last].count - 1);
    }
    /* with the count 0, selection_range keeps negative indices as they are */
    selection_range(&first, &last, range, strlen(range), 0);
    first += first < 0 ? 0 : (ptrdiff_t)before;
    last += last < 0 ? 0 : (ptrdiff_t)before;
    return first == last ? arena_format(scope->arena, scope->err, "%td", first)
                         : arena_format(scope->arena, scope->err, "%td-%td", first, last);
}

/* Convert each part of a list to tokens. NULL and "all" are not lists and stay as they are. */
static int list_to_tokens(const char **value, const struct scope *scope)
{
    struct buf out = {0};
    if (!*value || strcmp(*value, "all") == 0)
        return 0;
    for (const char *at = *value; *at && !scope->err->kind;) {
        size_t part = strcspn(at, ",");
        const char *range = arena_text(scope->arena, at, part, scope->err);
        const char *tokens = range ? tokens_of_rows(range, scope) : NULL;
        buf_format(&out, "%s%s", at > *value ? "," : "", tokens ? tokens : "");
        at += part + (at[part] == ',');
    }
    *value = scope->err->kind ? NULL : buf_keep(&out, scope->arena, scope->err);
    buf_release(&out);
    return *value ? 0 : -1;
}

const char *positions_tokens(void *context, bool of_source, const char *position, size_t size)
{
    const struct item_positions *own = context;
    struct scope scope = {
        own->item, &own->texts[of_source], own->option, false, true, false, own->arena, own->err};
    const char *value = arena_text(own->arena, position, size, own->err);
    if (!value || resolve_words(&value, &scope))
        return NULL;
    scope.plain = false;
    if (resolve(&value, &scope) || !(scope.text->words || scope.text->words_before))
        return value;
    return list_to_tokens(&value, &scope) ? NULL : value;
}

/* Replace the words in --key by positions of tokens: the key and, after a colon, another key, as in
 * `it:they`. In `it:mean` and `it:weights`, what follows the colon stays as it is. */
static int resolve_key(const char **value, struct scope scope)
{
    const char *colon = *value ? strchr(*value, ':') : NULL;
    const char *key =
        colon ? arena_text(scope.arena, *value, (size_t)(colon - *value), scope.err) : *value;
    const char *other = colon ? colon + 1 : NULL;
    bool is_word = score_against_read(other) == AGAINST_KEY;
    if (!*value)
        return 0;
    if (!key || resolve_words(&key, &scope) || (is_word && resolve_words(&other, &scope)))
        return -1;
    *value = other ? arena_format(scope.arena, scope.err, "%s:%s", key, other) : key;
    scope.plain = false;
    if (!*value || resolve(value, &scope))
        return -1;
    if (!scope.text->words_before)
        return 0;
    colon = strchr(*value, ':');
    other = colon ? colon + 1 : NULL;
    key = colon ? arena_text(scope.arena, *value, (size_t)(colon - *value), scope.err) : *value;
    if (!key || list_to_tokens(&key, &scope) || (is_word && list_to_tokens(&other, &scope)))
        return -1;
    *value = other ? arena_format(scope.arena, scope.err, "%s:%s", key, other) : key;
    return err_if(!*value);
}

/* Replace words in --query and --key of `explain` by positions, unless they are tokens: `explain`
 * itself finds tokens, of equal ones the first. */
static int resolve_explain(struct options *options, const struct item_positions *own,
                           const struct viewer *viewer)
{
    const char *part = options->explain.part;
    const bool of_source = part && has_encoder(&viewer->model.config) && strcmp(part, "self") != 0;
    const bool is_encoder = of_source && strcmp(part, "encoder") == 0;
    const char **values[] = {&options->explain.token, &options->explain.key};
    struct token_match match;
    for (size_t i = 0; i < 2; i++) {
        const struct tokenized *text = &own->texts[i ? of_source : is_encoder];
        struct scope scope = {own->item,  text,    i ? "--key" : "--query", true, true, i == 0,
                              own->arena, own->err};
        if (!*values[i] || tokenized_find_token(&match, text, *values[i]))
            continue;
        if (resolve_words(values[i], &scope))
            return -1;
        scope.plain = false;
        if (resolve(values[i], &scope))
            return -1;
    }
    return 0;
}

int positions_resolve(struct item_positions *own, struct item *item, struct text_with_source *pair,
                      const struct viewer *viewer, struct arena *arena, struct err *err)
{
    struct options *options = &item->options;
    const struct tokenizer *tokenizer = viewer->tokenizer;
    struct select_options *select = &options->select;
    struct tokenized *text = &pair->text, *keys = pair->source.count ? &pair->source : text;
    *own = (struct item_positions){item, {*text, *keys}, NULL, arena, err};
    for (size_t i = 0; i < 2 && select->words && tokenizer; i++)
        if (word_spans_find(&own->texts[i],
                            i && pair->source.count ? tokenizer_of_source(tokenizer) : tokenizer,
                            arena, err))
            return -1;
    struct scope scopes[] = {
        {item, own->texts, "--query", false, true, true, arena, err},
        {item, &own->texts[1], "--key", false, true, true, arena, err},
        {item, text, "--query", true, true, true, arena, err},
    };
    const char **values[] = {&select->query, &select->key, &options->attribute.position};
    for (size_t i = 0; i < 2 && select->mean; i++) {
        struct named_positions *named = i ? &keys->named_keys : &text->named_queries;
        if (read_named(named, *values[i], scopes[i]))
            return -1;
        for (size_t k = 0; k < named->count; k++)
            if (counts_rows(scopes[i].text) && list_to_tokens(&named->positions[k], &scopes[i]))
                return -1;
    }
    for (size_t i = 0; i < 3; i++) {
        if (resolve_words(values[i], &scopes[i]))
            return -1;
        scopes[i].plain = false;
        if (resolve(values[i], &scopes[i]) ||
            (counts_rows(scopes[i].text) && list_to_tokens(values[i], &scopes[i])))
            return -1;
    }
    const char *part = options->attribute.part, *against = options->attribute.against;
    const char **key = &options->attribute.key;
    if (*key && against && !strchr(*key, ':') &&
        !(*key = arena_format(arena, err, "%s:%s", *key, against)))
        return -1;
    bool of_source = part && strcmp(part, "self") != 0;
    if (resolve_key(key, (struct scope){item, of_source ? keys : text, "--key", true, true, true,
                                        arena, err}) ||
        resolve_explain(options, own, viewer) ||
        (options->score.continuations.count &&
         name_continuations(item, viewer->mask < 0, arena, err)))
        return -1;
    text->queries = select->query;
    keys->keys = select->key;
    return 0;
}
