#include "text/post_processor.h"

#include <stdio.h>
#include <string.h>

#include "format/json.h"
#include "text/label.h"
#include "text/stages.h"
#include "text/word_table.h"

enum { DESCRIPTION_BYTES = 80 };

static int read_id(uint32_t *id, const char *field, const struct json *value, struct err *err)
{
    char expected[DESCRIPTION_BYTES];
    long long number = 0;
    snprintf(expected, sizeof expected, "an id from 0 to %d", WORD_ID_MAX);
    if (!json_get_integer(value, 0, WORD_ID_MAX, &number))
        return json_refuse(field, value, expected, err);
    *id = (uint32_t)number;
    return 0;
}

/* Read the id of a token such as "cls": ["<s>", 0]. */
static int read_token(uint32_t *id, const struct json *value, const char *field, struct err *err)
{
    const struct json *pair = json_member(value, field);
    const char *text;
    if (!json_is_array(pair) || json_count(pair) != 2 || !json_get_text(json_first(pair), &text))
        return json_refuse(field, pair, "[\"token\", id]", err);
    return read_id(id, field, json_next(json_first(pair)), err);
}

const struct text_templates text_templates_plain = {
    .single = {.parts = {{TEMPLATE_FIRST, 0, 0}}, .count = 1},
    .pair = {.parts = {{TEMPLATE_FIRST, 0, 0}, {TEMPLATE_SECOND, 0, 1}}, .count = 2}};

size_t text_template_before(const struct text_template *single)
{
    size_t before = 0;
    while (before + 1 < single->count && single->parts[before].kind == TEMPLATE_SPECIAL)
        before++;
    return before;
}

/* Check the types of flags that have no effect on ids: they only change offsets of tokens. */
static int read_flags(struct stage_list *list, struct stage *step, const struct json *value,
                      struct err *err)
{
    bool flag;
    (void)list, (void)step;
    return err_if(json_bool(value, "add_prefix_space", &flag, err) ||
                  json_bool(value, "trim_offsets", &flag, err) ||
                  json_bool(value, "use_regex", &flag, err));
}

/* Set the templates of a step; a second step that adds tokens is refused. */
static int set_templates(struct stage_list *list, const struct text_templates *one, struct err *err)
{
    struct text_templates *templates = list->templates;
    bool adds = one->single.count > 1;
    if (adds && templates->single.count > 1)
        return err_unsupported(err, "a second step that adds tokens is not supported");
    if (adds)
        templates->single = one->single;
    if (one->pair.count)
        templates->pair = one->pair;
    return 0;
}

/* Make a template of letters: c and s are the tokens cls and sep, a and b the texts; capitals are
 * in segment 1. */
static void set_template(struct text_template *template, const char *letters, uint32_t cls,
                         uint32_t sep)
{
    for (; *letters; letters++) {
        bool second = *letters < 'a';
        char c = (char)(second ? *letters - 'A' + 'a' : *letters);
        template->parts[template->count++] = (struct template_part){c == 'a'   ? TEMPLATE_FIRST
                                                                    : c == 'b' ? TEMPLATE_SECOND
                                                                               : TEMPLATE_SPECIAL,
                                                                    c == 'c' ? cls : sep, second};
    }
}

/* Read a stage BertProcessing or RobertaProcessing. */
static int read_around(struct stage_list *list, struct stage *step, const struct json *value,
                       struct err *err)
{
    struct text_templates one = {0};
    const char *type = "";
    uint32_t cls, sep;
    if (read_token(&cls, value, "cls", err) || read_token(&sep, value, "sep", err))
        return -1;
    json_get_text(json_member(value, "type"), &type);
    set_template(&one.single, "cas", cls, sep);
    set_template(&one.pair, strcmp(type, "BertProcessing") == 0 ? "casBS" : "cassbs", cls, sep);
    return err_if(read_flags(list, step, value, err) || set_templates(list, &one, err));
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
            return json_refuse("tokens", at, "texts", err);
    return 0;
}

/* Read a part of a template: {"SpecialToken": {"id": "<s>", "type_id": 0}}, or {"Sequence": {"id":
 * "A", "type_id": 0}} for a text. `*special` is set to the name of the token, or to NULL for a
 * text. */
static int read_part(struct template_part *out, const char **special, const struct json *part,
                     struct err *err)
{
    const struct json *token = json_member(part, "SpecialToken");
    const struct json *inner = token ? token : json_member(part, "Sequence");
    const char *id = NULL;
    long long type_id = 0;
    if (!inner)
        return err_set(err, "expected {\"SpecialToken\": …} or {\"Sequence\": …}");
    if (!json_is_object(inner))
        return json_refuse(json_key(inner), inner, "an object", err);
    if (json_text(inner, "id", &id, err) ||
        json_integer(inner, "type_id", 0, UINT8_MAX, &type_id, err))
        return -1;
    if (!id || (!token && strcmp(id, "A") != 0 && strcmp(id, "B") != 0))
        return json_refuse("id", json_member(inner, "id"), token ? "a text" : "\"A\" or \"B\"",
                           err);
    *special = token ? id : NULL;
    *out = (struct template_part){.kind = token                  ? TEMPLATE_SPECIAL
                                          : strcmp(id, "A") == 0 ? TEMPLATE_FIRST
                                                                 : TEMPLATE_SECOND,
                                  .id = TEMPLATE_UNLISTED,
                                  .segment = (unsigned char)type_id};
    return 0;
}

/* Read the parts of a template. In a pair, a token without ids (TEMPLATE_UNLISTED) is refused only
 * when the pair is encoded. */
static int read_parts(struct text_template *template, bool is_pair, const struct json *list,
                      const struct json *specials, struct err *err)
{
    for (const struct json *at = json_first(list); at; at = json_next(at)) {
        struct template_part part;
        const char *name = NULL;
        if (read_part(&part, &name, at, err))
            return -1;
        const struct json *ids = name ? json_given(json_member(specials, name), "ids") : NULL;
        const struct json *id = json_first(ids);
        if (name && !ids && !is_pair)
            return err_set(err, "special_tokens: expected '%s' with its ids",
                           label_excerpt(name, strlen(name)));
        size_t count = ids ? json_count(ids) : 1;
        if (template->count + count > TEMPLATE_PARTS_MAX)
            return err_set(err, "expected at most %d parts, found more", TEMPLATE_PARTS_MAX);
        for (; count; count--, id = id ? json_next(id) : NULL) {
            if (id && read_id(&part.id, "ids", id, err))
                return -1;
            template->parts[template->count++] = part;
        }
    }
    return 0;
}

static int read_template(struct stage_list *list, struct stage *step, const struct json *value,
                         struct err *err)
{
    struct text_templates one = {0};
    const struct json *single, *pair;
    const struct json *specials = json_given(value, "special_tokens");
    size_t texts = 0;
    (void)step;
    if (specials && !json_is_object(specials))
        return json_refuse("special_tokens", specials, "an object", err);
    for (const struct json *at = json_first(specials); at; at = json_next(at))
        if (check_special(at, err))
            return err_prefix(err, "special_tokens: '%s'",
                              label_excerpt(json_key(at), strlen(json_key(at))));
    if (json_list(value, "single", &single, err) || json_list(value, "pair", &pair, err))
        return -1;
    if (!single)
        return err_set(err, "expected a field 'single'");
    if (read_parts(&one.single, false, single, specials, err))
        return err_prefix(err, "single");
    for (size_t i = 0; i < one.single.count; i++) {
        bool is_text = one.single.parts[i].kind != TEMPLATE_SPECIAL;
        one.single.parts[i].kind = is_text ? TEMPLATE_FIRST : TEMPLATE_SPECIAL;
        texts += is_text;
    }
    if (texts != 1)
        return err_unsupported(err, "single: expected the text once, found it %zu times", texts);
    if (read_parts(&one.pair, true, pair, specials, err))
        return err_prefix(err, "pair");
    return set_templates(list, &one, err);
}

static const struct stage_row rows[] = {
    {"TemplateProcessing", .read = read_template, .adds_steps = true},
    {"ByteLevel", .read = read_flags, .adds_steps = true},
    {"BertProcessing", .read = read_around, .adds_steps = true},
    {"RobertaProcessing", .read = read_around, .adds_steps = true},
};

const struct stage_kind post_processors = {"processors", rows, sizeof rows / sizeof *rows, NULL};

/* --- add_bos_token and add_eos_token ---------------------------------------------------------- */

/* If `wanted`, insert a token at index `at`, unless it is at index `present` already or there is no
 * room. Otherwise remove the token from index `present`, if it is there. */
static void set_token(struct text_template *template, size_t at, size_t present,
                      struct template_part token, bool wanted)
{
    struct template_part *parts = template->parts;
    bool there = present < template->count && parts[present].kind == TEMPLATE_SPECIAL &&
                 parts[present].id == token.id;
    if (there == wanted || (wanted && template->count == TEMPLATE_PARTS_MAX))
        return;
    at = wanted ? at : present;
    memmove(parts + at + wanted, parts + at + there,
            (template->count - at - there) * sizeof *parts);
    if (wanted)
        parts[at] = token;
    template->count = template->count + wanted - there;
}

void text_templates_set(struct text_templates *templates, uint32_t id, bool wanted, bool last)
{
    struct text_template *single = &templates->single, *pair = &templates->pair;
    struct template_part token = {TEMPLATE_SPECIAL, id, 0};
    set_token(single, last ? single->count : 0, last ? single->count - 1 : 0, token, wanted);
    for (size_t i = pair->count; i-- > 0;) {
        token.segment = pair->parts[i].segment;
        if (pair->parts[i].kind != TEMPLATE_SPECIAL) /* for i = 0, i - 1 is the index of no part */
            set_token(pair, i + last, last ? i + 1 : i - 1, token, wanted);
    }
}
