#include "text/pre_tokenizer/pre_tokenizer.h"

#include <string.h>

#include "format/json.h"
#include "text/label.h"
#include "text/stages.h"

struct reading {
    struct pre_tokenizer **end;
    struct arena *arena;
    struct err *err;
};

static struct pre_tokenizer *add_step(struct reading *reading)
{
    struct pre_tokenizer *step = arena_alloc(reading->arena, 1, sizeof *step, reading->err);
    if (!step)
        return NULL;
    step->cut = pre_tokenizer_split;
    *reading->end = step;
    reading->end = &step->next;
    return step;
}

static int add_search(struct reading *reading, bool (*is)(uint32_t), enum split_behavior behavior)
{
    struct pre_tokenizer *step = add_step(reading);
    if (!step)
        return -1;
    matcher_set_kind(&step->matcher, is);
    step->behavior = behavior;
    return 0;
}

/* --- kinds of characters ---------------------------------------------------------------------- */

static bool is_space(uint32_t c)
{
    return unicode_kind(c) == UNICODE_SPACE;
}

static bool is_number(uint32_t c)
{
    enum unicode_kind kind = unicode_kind(c);
    return kind == UNICODE_DIGIT || kind == UNICODE_LETTER_NUMBER || kind == UNICODE_OTHER_NUMBER;
}

/* Every sign of ASCII, and what Unicode calls punctuation. */
static bool is_punctuation(uint32_t c)
{
    if (c < 0x80)
        return c > ' ' && c < 0x7F && unicode_kind(c) != UNICODE_LETTER && !is_number(c);
    return utf8_is_punctuation(c);
}

static bool is_word(uint32_t c)
{
    return unicode_is_word(unicode_kind(c));
}

/* --- steps ------------------------------------------------------------------------------------ */

static int read_behavior(enum split_behavior *behavior, const struct json *value, struct err *err)
{
    static const char *const names[] = {
        [SPLIT_REMOVED] = "Removed",
        [SPLIT_ISOLATED] = "Isolated",
        [SPLIT_MERGED_WITH_PREVIOUS] = "MergedWithPrevious",
        [SPLIT_MERGED_WITH_NEXT] = "MergedWithNext",
        [SPLIT_CONTIGUOUS] = "Contiguous",
    };
    const char *text = NULL;
    size_t index = 0;
    if (json_text(value, "behavior", &text, err))
        return -1;
    if (text && !names_find(&index, NAMES_LIST(names), text, strlen(text)))
        return err_unsupported(err, "behavior '%s' is not supported", text);
    *behavior = text ? (enum split_behavior)index : *behavior;
    return 0;
}

static int add_split(struct reading *reading, const struct json *value)
{
    struct pre_tokenizer *step = add_step(reading);
    if (!step)
        return -1;
    step->behavior = SPLIT_ISOLATED;
    if (read_behavior(&step->behavior, value, reading->err) ||
        json_bool(value, "invert", &step->inverted, reading->err))
        return -1;
    return matcher_read(&step->matcher, json_member(value, "pattern"), reading->arena,
                        reading->err);
}

static int add_digits(struct reading *reading, const struct json *value)
{
    bool single = false;
    if (json_bool(value, "individual_digits", &single, reading->err))
        return -1;
    return add_search(reading, is_number, single ? SPLIT_ISOLATED : SPLIT_CONTIGUOUS);
}

static int add_punctuation(struct reading *reading, const struct json *value)
{
    enum split_behavior behavior = SPLIT_ISOLATED;
    if (read_behavior(&behavior, value, reading->err))
        return -1;
    return add_search(reading, is_punctuation, behavior);
}

static int add_blanks(struct reading *reading, const struct json *value)
{
    (void)value;
    return add_search(reading, is_space, SPLIT_REMOVED);
}

/* \w+|[^\w\s]+ */
static int add_words(struct reading *reading, const struct json *value)
{
    return add_blanks(reading, value) || add_search(reading, is_word, SPLIT_CONTIGUOUS) ? -1 : 0;
}

static int add_bert(struct reading *reading, const struct json *value)
{
    return add_blanks(reading, value) || add_search(reading, is_punctuation, SPLIT_ISOLATED) ? -1
                                                                                             : 0;
}

static int add_delimiter(struct reading *reading, const struct json *value)
{
    const char *delimiter = NULL;
    struct pre_tokenizer *step = add_step(reading);
    if (!step || json_text(value, "delimiter", &delimiter, reading->err))
        return -1;
    if (!delimiter || !*delimiter)
        return err_set(reading->err, "expected a field 'delimiter'");
    step->behavior = SPLIT_REMOVED;
    step->matcher.literal_size = strlen(delimiter);
    step->matcher.literal =
        arena_text(reading->arena, delimiter, step->matcher.literal_size, reading->err);
    return step->matcher.literal ? 0 : -1;
}

static void set_blank_before(struct pre_tokenizer *step)
{
    step->cut = pre_tokenizer_sign;
    step->prepend = PREPEND_ALWAYS;
    step->sign = " ";
    step->sign_size = 1;
}

/* A blank before a piece; a pattern, which may be NULL; bytes as characters. */
static int add_byte_level_steps(struct reading *reading, bool prefix, const char *pattern)
{
    struct pre_tokenizer *step = prefix ? add_step(reading) : NULL;
    if (prefix && !step)
        return -1;
    if (step)
        set_blank_before(step);
    step = pattern ? add_step(reading) : NULL;
    if (pattern && (!step || matcher_set_pattern(&step->matcher, pattern, reading->err)))
        return -1;
    if (step)
        step->behavior = SPLIT_ISOLATED;
    step = add_step(reading);
    if (step)
        step->cut = pre_tokenizer_spell;
    return step ? 0 : -1;
}

static int add_byte_level(struct reading *reading, const struct json *value)
{
    const char *gpt2 = splitter_patterns[PATTERN_GPT2].pattern;
    bool prefix = true;
    bool cuts = true;
    return json_bool(value, "add_prefix_space", &prefix, reading->err) ||
                   json_bool(value, "use_regex", &cuts, reading->err) ||
                   add_byte_level_steps(reading, prefix, cuts ? gpt2 : NULL)
               ? -1
               : 0;
}

static int read_scheme(enum prepend_scheme *scheme, const struct json *value, struct err *err)
{
    static const char *const names[] = {"never", "first", "always"}; /* by enum prepend_scheme */
    const char *text = NULL;
    bool prefix = true; /* of older files */
    size_t index = 0;
    if (json_bool(value, "add_prefix_space", &prefix, err) ||
        json_text(value, "prepend_scheme", &text, err))
        return -1;
    if (text && !names_find(&index, NAMES_LIST(names), text, strlen(text)))
        return err_unsupported(err, "prepend_scheme '%s' is not supported", text);
    *scheme = text ? (enum prepend_scheme)index : prefix ? PREPEND_ALWAYS : PREPEND_NEVER;
    return 0;
}

/* Read the character that replaces a space. */
static int read_sign(struct pre_tokenizer *step, const struct json *value, struct arena *arena,
                     struct err *err)
{
    char shown[LABEL_EXCERPT_BYTES];
    const char *sign = "▁";
    uint32_t c = 0;
    if (json_text(value, "replacement", &sign, err))
        return -1;
    step->sign_size = strlen(sign);
    if (!step->sign_size || utf8_decode(&c, sign, step->sign_size) != step->sign_size)
        return err_set(err, "field 'replacement': expected one character, found '%s'",
                       label_excerpt(shown, sign, step->sign_size));
    step->sign = arena_text(arena, sign, step->sign_size, err);
    return step->sign ? 0 : -1;
}

static int add_metaspace(struct reading *reading, const struct json *value)
{
    bool splits = true;
    struct pre_tokenizer *step = add_step(reading);
    if (!step || read_scheme(&step->prepend, value, reading->err) ||
        read_sign(step, value, reading->arena, reading->err) ||
        json_bool(value, "split", &splits, reading->err))
        return -1;
    step->cut = pre_tokenizer_sign;
    step->matcher.literal = " ";
    step->matcher.literal_size = 1;
    if (!splits)
        return 0;
    struct pre_tokenizer *split = add_step(reading);
    if (!split)
        return -1;
    split->matcher.literal = step->sign;
    split->matcher.literal_size = step->sign_size;
    split->behavior = SPLIT_MERGED_WITH_NEXT;
    return 0;
}

static const struct row {
    const char *name;
    int (*add)(struct reading *reading, const struct json *value);
} rows[] = {
    {"ByteLevel", add_byte_level},
    {"Split", add_split},
    {"Digits", add_digits},
    {"Metaspace", add_metaspace},
    {"Whitespace", add_words},
    {"WhitespaceSplit", add_blanks},
    {"Punctuation", add_punctuation},
    {"BertPreTokenizer", add_bert},
    {"CharDelimiterSplit", add_delimiter},
};

enum { ROW_COUNT = sizeof rows / sizeof *rows };

static int add(void *context, size_t type, const struct json *value, struct err *err)
{
    struct reading *reading = context;
    struct pre_tokenizer **first = reading->end;
    reading->err = err;
    if (rows[type].add(reading, value))
        return -1;
    (*first)->name = rows[type].name;
    return 0;
}

int pre_tokenizers_read(struct pre_tokenizer **steps, const struct json *value, struct arena *arena,
                        struct err *err)
{
    struct reading reading = {steps, arena, err};
    struct stage_list list = {"pretokenizers", NAMES(rows, ROW_COUNT), add, &reading};
    *steps = NULL;
    return stages_read(&list, value, err);
}

void pre_tokenizers_release(struct pre_tokenizer *steps)
{
    for (; steps; steps = steps->next)
        matcher_release(&steps->matcher);
}

int pre_tokenizers_byte_level(struct pre_tokenizer **steps, const char *pattern,
                              struct arena *arena, struct err *err)
{
    struct reading reading = {steps, arena, err};
    *steps = NULL;
    if (add_byte_level_steps(&reading, false, pattern))
        return -1;
    (*steps)->name = "Split";
    (*steps)->next->name = "ByteLevel";
    return 0;
}

int pre_tokenizers_set_prefix(struct pre_tokenizer **steps, bool wanted, struct arena *arena,
                              struct err *err)
{
    struct pre_tokenizer *first = *steps;
    bool there = first && first->cut == pre_tokenizer_sign && !first->matcher.literal;
    struct pre_tokenizer *rest = there ? first->next : first;
    bool cuts = rest && rest->matcher.splitter == SPLITTER_GPT2;
    const struct pre_tokenizer *last = cuts ? rest->next : rest;
    if (!last || last->cut != pre_tokenizer_spell || last->next || there == wanted)
        return 0;
    rest->name = first->name;
    *steps = rest;
    if (!wanted)
        return 0;
    struct pre_tokenizer *blank = arena_alloc(arena, 1, sizeof *blank, err);
    if (!blank)
        return -1;
    set_blank_before(blank);
    blank->name = "prefix";
    blank->next = rest;
    *steps = blank;
    return 0;
}
