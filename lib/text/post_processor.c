#include "text/post_processor.h"

#include <stdio.h>
#include <string.h>

#include "format/json.h"
#include "text/label.h"
#include "text/stages.h"
#include "text/word_table.h"

enum { DESCRIPTION_BYTES = 80 };

/* Refuse the value of a field; NULL, a missing one, is "nothing". */
static int refuse(const char *field, const char *expected, const struct json *found,
                  struct err *err)
{
    char text[DESCRIPTION_BYTES];
    return err_set(err, "field '%s': expected %s, found %s", field, expected,
                   json_describe(found, text, sizeof text));
}

static int read_id(uint32_t *id, const char *field, const struct json *value, struct err *err)
{
    char expected[DESCRIPTION_BYTES];
    long long number = 0;
    snprintf(expected, sizeof expected, "an id from 0 to %d", WORD_ID_MAX);
    if (!json_get_integer(value, 0, WORD_ID_MAX, &number))
        return refuse(field, expected, value, err);
    *id = (uint32_t)number;
    return 0;
}

/* Flags change positions of tokens, which are known here anyway. */
static int read_flags(struct special_ids *ids, const struct json *value, struct err *err)
{
    bool flag;
    (void)ids;
    return err_if(json_bool(value, "add_prefix_space", &flag, err) ||
                  json_bool(value, "trim_offsets", &flag, err) ||
                  json_bool(value, "use_regex", &flag, err));
}

/* "cls": ["<s>", 0] */
static int read_token(uint32_t *id, const struct json *value, const char *field, struct err *err)
{
    const struct json *pair = json_member(value, field);
    const char *text;
    if (!json_is_array(pair) || json_count(pair) != 2 || !json_get_text(json_first(pair), &text))
        return refuse(field, "[\"token\", id]", pair, err);
    return read_id(id, field, json_next(json_first(pair)), err);
}

const struct special_ids special_ids_none = {
    .pair = {.parts = {{PAIR_FIRST, 0, 0}, {PAIR_SECOND, 0, 1}}, .count = 2}};

struct special_ids special_ids_without(const struct special_ids *ids)
{
    struct special_ids without = {.pair = {.count = 0}};
    for (size_t i = 0; i < ids->pair.count; i++)
        if (ids->pair.parts[i].kind != PAIR_SPECIAL)
            without.pair.parts[without.pair.count++] = ids->pair.parts[i];
    return without;
}

static int read_around(struct special_ids *ids, const struct json *value, struct err *err)
{
    ids->before_count = ids->after_count = 1;
    return err_if(read_token(ids->before, value, "cls", err) ||
                  read_token(ids->after, value, "sep", err));
}

/* [CLS] A [SEP] B [SEP] */
static int read_bert(struct special_ids *ids, const struct json *value, struct err *err)
{
    if (read_around(ids, value, err))
        return -1;
    ids->pair = (struct pair_template){.parts = {{PAIR_SPECIAL, ids->before[0], 0},
                                                 {PAIR_FIRST, 0, 0},
                                                 {PAIR_SPECIAL, ids->after[0], 0},
                                                 {PAIR_SECOND, 0, 1},
                                                 {PAIR_SPECIAL, ids->after[0], 1}},
                                       .count = 5};
    return 0;
}

/* <s> A </s></s> B </s>, all in segment 0 */
static int read_roberta(struct special_ids *ids, const struct json *value, struct err *err)
{
    if (read_around(ids, value, err) || read_flags(ids, value, err))
        return -1;
    ids->pair = (struct pair_template){.parts = {{PAIR_SPECIAL, ids->before[0], 0},
                                                 {PAIR_FIRST, 0, 0},
                                                 {PAIR_SPECIAL, ids->after[0], 0},
                                                 {PAIR_SPECIAL, ids->after[0], 0},
                                                 {PAIR_SECOND, 0, 0},
                                                 {PAIR_SPECIAL, ids->after[0], 0}},
                                       .count = 6};
    return 0;
}

/* --- TemplateProcessing ----------------------------------------------------------------------- */

/* Check a member of special_tokens: {"id": "<s>", "ids": [0], "tokens": ["<s>"]}. */
static int check_special(const struct json *token, struct err *err)
{
    const struct json *ids, *texts;
    const char *text;
    uint32_t id;
    if (!json_is_object(token))
        return err_set(err, "expected an object");
    if (json_text(token, "id", &text, err) || json_list(token, "ids", &ids, err) ||
        json_list(token, "tokens", &texts, err))
        return -1;
    for (const struct json *at = json_first(ids); at; at = json_next(at))
        if (read_id(&id, "ids", at, err))
            return -1;
    for (const struct json *at = json_first(texts); at; at = json_next(at))
        if (!json_get_text(at, &text))
            return refuse("tokens", "texts", at, err);
    return 0;
}

static int check_specials(const struct json *specials, struct err *err)
{
    char shown[LABEL_EXCERPT_BYTES];
    if (specials && !json_is_object(specials))
        return json_refuse(specials, "an object", err);
    for (const struct json *at = json_first(specials); at; at = json_next(at))
        if (check_special(at, err))
            return err_prefix(err, "special_tokens: '%s'",
                              label_excerpt(shown, json_key(at), strlen(json_key(at))));
    return 0;
}

/* Append the ids of a token in special_tokens. */
static int add_special(uint32_t *ids, size_t *count, const char *name, const struct json *specials,
                       struct err *err)
{
    char shown[LABEL_EXCERPT_BYTES];
    const struct json *list = json_given(json_member(specials, name), "ids");
    if (!list)
        return err_set(err, "special_tokens: expected '%s' with its ids",
                       label_excerpt(shown, name, strlen(name)));
    if (*count + json_count(list) > SPECIAL_IDS_MAX)
        return err_set(err, "expected at most %d tokens on each side of a text, found more",
                       SPECIAL_IDS_MAX);
    for (const struct json *at = json_first(list); at; at = json_next(at))
        if (read_id(&ids[(*count)++], "ids", at, err))
            return -1;
    return 0;
}

/* A part of a template: {"SpecialToken": {"id": "<s>", "type_id": 0}}, or {"Sequence": {"id": "A",
 * "type_id": 0}} for a text, whose `*special` is NULL. */
static int read_part(struct pair_part *out, const char **special, const struct json *part,
                     struct err *err)
{
    const struct json *token = json_member(part, "SpecialToken");
    const struct json *inner = token ? token : json_member(part, "Sequence");
    const char *id = NULL;
    long long type_id = 0;
    if (!inner)
        return err_set(err, "expected {\"SpecialToken\": …} or {\"Sequence\": …}");
    if (!json_is_object(inner))
        return json_refuse(inner, "an object", err);
    if (json_text(inner, "id", &id, err) ||
        json_integer(inner, "type_id", 0, UINT8_MAX, &type_id, err))
        return -1;
    if (!id || (!token && strcmp(id, "A") != 0 && strcmp(id, "B") != 0))
        return refuse("id", token ? "a text" : "\"A\" or \"B\"", json_member(inner, "id"), err);
    *special = token ? id : NULL;
    *out = (struct pair_part){.kind = token                  ? PAIR_SPECIAL
                                      : strcmp(id, "A") == 0 ? PAIR_FIRST
                                                             : PAIR_SECOND,
                              .segment = (unsigned char)type_id};
    return 0;
}

static int read_single(struct special_ids *ids, const struct json *list,
                       const struct json *specials, struct err *err)
{
    struct pair_part part;
    const char *special = NULL;
    size_t texts = 0;
    for (const struct json *at = json_first(list); at; at = json_next(at)) {
        if (read_part(&part, &special, at, err))
            return -1;
        texts += !special;
        if (special &&
            (texts ? add_special(ids->after, &ids->after_count, special, specials, err)
                   : add_special(ids->before, &ids->before_count, special, specials, err)))
            return -1;
    }
    return texts == 1 ? 0
                      : err_unsupported(err, "expected the text once, found it %zu times", texts);
}

/* Tokens of a pair that are not listed are refused when one is encoded. */
static int read_pair(struct special_ids *ids, const struct json *list, const struct json *specials,
                     struct err *err)
{
    for (const struct json *at = json_first(list); at; at = json_next(at)) {
        struct pair_part part;
        const char *special = NULL;
        uint32_t found[SPECIAL_IDS_MAX] = {PAIR_UNLISTED};
        size_t count = 0;
        if (read_part(&part, &special, at, err))
            return -1;
        if (!special || !json_given(json_member(specials, special), "ids"))
            count = 1;
        else if (add_special(found, &count, special, specials, err))
            return -1;
        if (ids->pair.count + count > PAIR_PARTS_MAX)
            return err_set(err, "expected at most %d parts, found more", PAIR_PARTS_MAX);
        for (size_t i = 0; i < count; i++) {
            part.id = found[i];
            ids->pair.parts[ids->pair.count++] = part;
        }
    }
    return 0;
}

static int read_template(struct special_ids *ids, const struct json *value, struct err *err)
{
    const struct json *single, *pair;
    const struct json *specials = json_given(value, "special_tokens");
    if (check_specials(specials, err) || json_list(value, "single", &single, err) ||
        json_list(value, "pair", &pair, err))
        return -1;
    if (!single)
        return err_set(err, "expected a field 'single'");
    if (read_single(ids, single, specials, err))
        return err_prefix(err, "single");
    return read_pair(ids, pair, specials, err) ? err_prefix(err, "pair") : 0;
}

static const struct row {
    const char *name;
    int (*read)(struct special_ids *ids, const struct json *value, struct err *err);
} rows[] = {
    {"TemplateProcessing", read_template},
    {"ByteLevel", read_flags},
    {"BertProcessing", read_bert},
    {"RobertaProcessing", read_roberta},
};

enum { ROW_COUNT = sizeof rows / sizeof *rows };

static int add(void *context, size_t type, const struct json *value, struct err *err)
{
    struct special_ids one = {0}, *ids = context;
    if (rows[type].read(&one, value, err))
        return -1;
    bool adds = one.before_count || one.after_count;
    if (adds && (ids->before_count || ids->after_count))
        return err_unsupported(err, "a second step that adds tokens is not supported");
    if (!one.pair.count)
        one.pair = ids->pair;
    if (adds)
        *ids = one;
    else
        ids->pair = one.pair;
    return 0;
}

int post_processor_read(struct special_ids *ids, const struct json *value, struct err *err)
{
    struct stage_list list = {"processors", NAMES(rows, ROW_COUNT), add, ids};
    *ids = special_ids_none;
    return stages_read(&list, value, err);
}

/* Put a token next to each text of a pair, or take it away: before it, or after it. */
static void set_beside(struct special_ids *ids, uint32_t id, bool wanted, bool after)
{
    struct pair_part *parts = ids->pair.parts;
    for (size_t i = ids->pair.count; i-- > 0;) {
        size_t beside = after ? i + 1 : i - 1; /* SIZE_MAX before the first */
        size_t count = ids->pair.count;
        if (parts[i].kind == PAIR_SPECIAL)
            continue;
        bool there = beside < count && parts[beside].kind == PAIR_SPECIAL && parts[beside].id == id;
        if (there == wanted || (wanted && count == PAIR_PARTS_MAX))
            continue;
        size_t at = wanted ? i + after : beside;
        struct pair_part part = {PAIR_SPECIAL, id, parts[i].segment};
        memmove(parts + at + wanted, parts + at + there, (count - at - there) * sizeof *parts);
        if (wanted)
            parts[at] = part;
        ids->pair.count = count + wanted - there;
    }
}

void special_ids_set_first(struct special_ids *ids, uint32_t id, bool wanted)
{
    bool there = ids->before_count && ids->before[0] == id;
    set_beside(ids, id, wanted, false);
    if (there == wanted || (wanted && ids->before_count == SPECIAL_IDS_MAX))
        return;
    size_t rest = there ? ids->before_count - 1 : ids->before_count;
    memmove(ids->before + wanted, ids->before + there, rest * sizeof *ids->before);
    ids->before[0] = wanted ? id : ids->before[0];
    ids->before_count = rest + wanted;
}

void special_ids_set_last(struct special_ids *ids, uint32_t id, bool wanted)
{
    bool there = ids->after_count && ids->after[ids->after_count - 1] == id;
    set_beside(ids, id, wanted, true);
    if (there == wanted || (wanted && ids->after_count == SPECIAL_IDS_MAX))
        return;
    ids->after_count -= there;
    if (wanted)
        ids->after[ids->after_count++] = id;
}
