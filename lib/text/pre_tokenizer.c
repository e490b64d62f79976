#include "text/pre_tokenizer.h"

#include <string.h>

#include "format/json.h"
#include "text/encoder.h"
#include "text/label.h"
#include "text/stages.h"
#include "text/word_table.h"

/* --- splitting -------------------------------------------------------------------------------- */

/* A piece that is being split. A part waits until it is known whether the next belongs to it. */
struct splitting {
    const struct pre_tokenizer *step;
    struct encoder *encoder;
    const struct aligned_text *text;
    struct text_range waiting;
    bool has_waiting, waiting_is_match;
};

static int pass_waiting(const struct splitting *s, struct err *err)
{
    struct text_piece part = {s->text, s->waiting};
    bool removed = s->step->behavior == SPLIT_REMOVED && s->waiting_is_match;
    if (!s->has_waiting || removed || part.range.start == part.range.end)
        return 0;
    return encoder_pass(s->encoder, s->step->next, &part, err);
}

static int add_part(struct splitting *s, size_t start, size_t end, bool found, struct err *err)
{
    enum split_behavior behavior = s->step->behavior;
    bool is_match = found != s->step->inverted;
    bool after_match = s->waiting_is_match;
    bool joins =
        s->has_waiting && (behavior == SPLIT_MERGED_WITH_PREVIOUS ? is_match && !after_match
                           : behavior == SPLIT_MERGED_WITH_NEXT
                               ? !is_match && after_match
                               : behavior == SPLIT_CONTIGUOUS && is_match == after_match);
    if (!joins && pass_waiting(s, err))
        return -1;
    s->waiting = (struct text_range){joins ? s->waiting.start : start, end};
    s->waiting_is_match = is_match;
    s->has_waiting = true;
    return 0;
}

static int split(const struct pre_tokenizer *step, struct encoder *encoder,
                 const struct text_piece *piece, struct err *err)
{
    struct splitting splitting = {.step = step, .encoder = encoder, .text = piece->text};
    size_t start = piece->range.start; /* from which matches are counted */
    size_t size = piece->range.end - start;
    struct matcher_walk walk =
        matcher_walk(&step->matcher, piece->text->bytes + start, size, &encoder->limits);
    struct text_range match;
    size_t at = 0;
    int found;
    while ((found = matcher_next(&walk, &match, err)) > 0) {
        if ((at < match.start &&
             add_part(&splitting, start + at, start + match.start, false, err)) ||
            add_part(&splitting, start + match.start, start + match.end, true, err)) {
            found = -1;
            break;
        }
        at = match.end;
    }
    if (!found && ((at < size && add_part(&splitting, start + at, start + size, false, err)) ||
                   pass_waiting(&splitting, err)))
        found = -1;
    matcher_walk_release(&walk);
    return found;
}

/* --- changing --------------------------------------------------------------------------------- */

enum { SIGN_BYTES = 2, SIGNS_BYTES = 512 }; /* of a character of GPT-2's alphabet; of a block */

/* Begin a changed text in the memory of the previous one. */
static struct text_rewriter begin(struct encoder *encoder, const struct text_piece *piece)
{
    struct text_rewriter rewriter = encoder->spare;
    encoder->spare = (struct text_rewriter){0};
    text_rewriter_restart(&rewriter, piece->text, &encoder->limits);
    return rewriter;
}

static int pass_changed(const struct pre_tokenizer *step, struct encoder *encoder,
                        struct text_rewriter *rewriter, struct err *err)
{
    struct aligned_text text;
    int failed = text_rewriter_finish(rewriter, &text, err);
    if (failed)
        err_prefix(err, "pre_tokenizer: %s",
                   step->run == pre_tokenizer_encode_bytes ? "ByteLevel" : "Metaspace");
    if (!failed && text.size) {
        struct text_piece piece = {&text, {0, text.size}};
        failed = encoder_pass(encoder, step->next, &piece, err);
    }
    text_rewriter_release(&encoder->spare); /* of a later step */
    encoder->spare = *rewriter;
    return failed;
}

/* Prepend the sign, and replace spaces by it if the step has a matcher. */
static int put_signs(const struct pre_tokenizer *step, struct encoder *encoder,
                     const struct text_piece *piece, struct err *err)
{
    const char *bytes = piece->text->bytes;
    size_t at = piece->range.start;
    size_t end = piece->range.end;
    size_t hint = 0;
    bool replaces = step->matcher.literal;
    const char *space = replaces ? memchr(bytes + at, ' ', end - at) : NULL;
    bool has_sign =
        (end - at >= step->sign_size && memcmp(bytes + at, step->sign, step->sign_size) == 0) ||
        (replaces && bytes[at] == ' ');
    bool prepends = step->prepend != PREPEND_NEVER && !has_sign &&
                    (step->prepend == PREPEND_ALWAYS ||
                     aligned_text_origin(piece->text, piece->range, &hint).start == 0);
    if (!space && !prepends)
        return encoder_pass(encoder, step->next, piece, err);
    struct text_rewriter rewriter = begin(encoder, piece);
    if (prepends)
        text_rewriter_replace(&rewriter, at, at, step->sign, step->sign_size);
    for (; space; space = memchr(bytes + at, ' ', end - at)) {
        size_t found = (size_t)(space - bytes);
        text_rewriter_keep(&rewriter, at, found);
        at = found + 1;
        text_rewriter_replace(&rewriter, found, at, step->sign, step->sign_size);
    }
    text_rewriter_keep(&rewriter, at, end);
    return pass_changed(step, encoder, &rewriter, err);
}

int pre_tokenizer_encode_bytes(const struct pre_tokenizer *step, struct encoder *encoder,
                               const struct text_piece *piece, struct err *err)
{
    if (!step->next) /* the model's words are bytes already */
        return encoder_pass(encoder, NULL, piece, err);
    const char *bytes = piece->text->bytes;
    struct text_rewriter rewriter = begin(encoder, piece);
    for (size_t at = piece->range.start, next; at < piece->range.end; at = next) {
        char signs[SIGNS_BYTES];
        size_t size = 0;
        next = at;
        while (next < piece->range.end && bytes[next] > ' ' && bytes[next] < 0x7F)
            next++; /* these are not changed */
        if (next > at)
            text_rewriter_keep(&rewriter, at, next);
        for (at = next; next < piece->range.end && size + SIGN_BYTES <= sizeof signs; next++) {
            uint32_t c = byte_alphabet_sign((unsigned char)bytes[next]);
            if (c < 0x80)
                break;
            size += utf8_encode(signs + size, c);
        }
        text_rewriter_replace_bytes(&rewriter, at, signs, size, SIGN_BYTES);
    }
    return pass_changed(step, encoder, &rewriter, err);
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

/* True for all symbols of ASCII and for Unicode's punctuation. */
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

/* --- reading ---------------------------------------------------------------------------------- */

static struct pre_tokenizer *add_step(struct stage_list *list, struct err *err)
{
    struct pre_tokenizer *step = stages_add(list, err);
    if (!step)
        return NULL;
    step->run = split;
    step->behavior = SPLIT_ISOLATED;
    return step;
}

/* Read one of some names; an absent field leaves the index. */
static int read_name(unsigned *index, const struct json *value, const char *field,
                     struct names names, struct err *err)
{
    const char *text = NULL;
    size_t found = *index;
    if (json_text(value, field, &text, err))
        return -1;
    if (text && !names_find(&found, names, text, strlen(text)))
        return err_unsupported(err, "%s '%s' is not supported", field, text);
    *index = (unsigned)found;
    return 0;
}

static int read_behavior(struct stage_list *list, struct pre_tokenizer *step,
                         const struct json *value, struct err *err)
{
    static const char *const names[] = {
        [SPLIT_REMOVED] = "Removed",
        [SPLIT_ISOLATED] = "Isolated",
        [SPLIT_MERGED_WITH_PREVIOUS] = "MergedWithPrevious",
        [SPLIT_MERGED_WITH_NEXT] = "MergedWithNext",
        [SPLIT_CONTIGUOUS] = "Contiguous",
    };
    unsigned index = step->behavior;
    (void)list;
    if (read_name(&index, value, "behavior", NAMES_LIST(names), err))
        return -1;
    step->behavior = (enum split_behavior)index;
    return 0;
}

static int read_split(struct stage_list *list, struct pre_tokenizer *step, const struct json *value,
                      struct err *err)
{
    if (read_behavior(list, step, value, err) || json_bool(value, "invert", &step->inverted, err))
        return -1;
    return matcher_read(&step->matcher, json_member(value, "pattern"), list->arena, err);
}

static int read_digits(struct stage_list *list, struct pre_tokenizer *step,
                       const struct json *value, struct err *err)
{
    bool single = false;
    (void)list;
    if (json_bool(value, "individual_digits", &single, err))
        return -1;
    step->behavior = single ? SPLIT_ISOLATED : SPLIT_CONTIGUOUS;
    return 0;
}

static int read_delimiter(struct stage_list *list, struct pre_tokenizer *step,
                          const struct json *value, struct err *err)
{
    struct matcher *matcher = &step->matcher;
    step->behavior = SPLIT_REMOVED;
    if (stage_text(&matcher->literal, &matcher->literal_size, value, "delimiter", list->arena, err))
        return -1;
    return matcher->literal_size ? 0 : err_set(err, "expected a field 'delimiter'");
}

static void set_space_before(struct pre_tokenizer *step)
{
    step->run = put_signs;
    step->prepend = PREPEND_ALWAYS;
    step->sign = " ";
    step->sign_size = 1;
}

/* Set the steps of ByteLevel from `step` on: a space before a piece if `prefix`, a split by the
 * pattern unless it is NULL, and bytes as characters. */
static int set_byte_level(struct stage_list *list, struct pre_tokenizer *step, bool prefix,
                          const char *pattern, struct err *err)
{
    if (prefix) {
        set_space_before(step);
        step = add_step(list, err);
    }
    if (step && pattern) {
        if (matcher_set_pattern(&step->matcher, pattern, err))
            return -1;
        step = add_step(list, err);
    }
    if (!step)
        return -1;
    step->run = pre_tokenizer_encode_bytes;
    return 0;
}

static int read_byte_level(struct stage_list *list, struct pre_tokenizer *step,
                           const struct json *value, struct err *err)
{
    bool prefix = true;
    bool splits = true;
    if (json_bool(value, "add_prefix_space", &prefix, err) ||
        json_bool(value, "use_regex", &splits, err))
        return -1;
    return set_byte_level(list, step, prefix,
                          splits ? splitter_patterns[PATTERN_GPT2].pattern : NULL, err);
}

static int read_metaspace(struct stage_list *list, struct pre_tokenizer *step,
                          const struct json *value, struct err *err)
{
    static const char *const schemes[] = {"never", "first", "always"}; /* by enum prepend_scheme */
    char shown[LABEL_EXCERPT_BYTES];
    const char *sign = "▁";
    bool prefix = true; /* of older files */
    bool splits = true;
    uint32_t c = 0;
    if (json_bool(value, "add_prefix_space", &prefix, err))
        return -1;
    unsigned scheme = prefix ? PREPEND_ALWAYS : PREPEND_NEVER;
    if (read_name(&scheme, value, "prepend_scheme", NAMES_LIST(schemes), err) ||
        json_text(value, "replacement", &sign, err))
        return -1;
    size_t size = strlen(sign);
    if (!size || utf8_decode(&c, sign, size) != size)
        return err_set(err, "field 'replacement': expected one character, found '%s'",
                       label_excerpt(shown, sign, size));
    sign = arena_text(list->arena, sign, size, err);
    if (!sign || json_bool(value, "split", &splits, err))
        return -1;
    step->run = put_signs;
    step->prepend = (enum prepend_scheme)scheme;
    step->sign = sign;
    step->sign_size = size;
    step->matcher = (struct matcher){.literal = " ", .literal_size = 1};
    if (!splits)
        return 0;
    if (!(step = add_step(list, err)))
        return -1;
    step->matcher = (struct matcher){.literal = sign, .literal_size = size};
    step->behavior = SPLIT_MERGED_WITH_NEXT;
    return 0;
}

/* A type: its steps that search for characters, and a function that reads fields into the last of
 * them, or into an empty step. */
static const struct row {
    const char *name;
    int (*read)(struct stage_list *list, struct pre_tokenizer *step, const struct json *value,
                struct err *err);
    struct {
        bool (*is)(uint32_t character);
        enum split_behavior behavior;
    } searches[2];
} rows[] = {
    {"ByteLevel", read_byte_level, {{0}}},
    {"Split", read_split, {{0}}},
    {"Digits", read_digits, {{is_number, 0}}},
    {"Metaspace", read_metaspace, {{0}}},
    {"Whitespace", NULL, {{is_space, SPLIT_REMOVED}, {is_word, SPLIT_CONTIGUOUS}}},
    {"WhitespaceSplit", NULL, {{is_space, SPLIT_REMOVED}}},
    {"Punctuation", read_behavior, {{is_punctuation, SPLIT_ISOLATED}}},
    {"BertPreTokenizer", NULL, {{is_space, SPLIT_REMOVED}, {is_punctuation, SPLIT_ISOLATED}}},
    {"CharDelimiterSplit", read_delimiter, {{0}}},
};

enum { ROW_COUNT = sizeof rows / sizeof *rows };

static int add(void *context, size_t type, const struct json *value, struct err *err)
{
    struct stage_list *list = context;
    const struct row *row = &rows[type];
    struct pre_tokenizer *step = NULL;
    for (size_t i = 0; i < 2 && (i == 0 || row->searches[i].is); i++) {
        if (!(step = add_step(list, err)))
            return -1;
        step->name = i == 0 ? row->name : NULL;
        if (!row->searches[i].is)
            continue;
        matcher_set_kind(&step->matcher, row->searches[i].is);
        step->behavior = row->searches[i].behavior;
    }
    return row->read ? row->read(list, step, value, err) : 0;
}

int pre_tokenizers_read(struct pre_tokenizer **steps, const struct json *value, struct arena *arena,
                        struct err *err)
{
    struct stage_list list = {"pretokenizers", NAMES(rows, ROW_COUNT), add,   &list, 0,
                              arena,           sizeof **steps,         steps, NULL};
    *steps = NULL;
    return stages_read(&list, value, err);
}

void pre_tokenizers_release(struct pre_tokenizer *steps)
{
    for (; steps; steps = steps->next)
        matcher_release(&steps->matcher);
}

int pre_tokenizers_set_prefix(struct pre_tokenizer **steps, bool wanted, struct arena *arena,
                              struct err *err)
{
    struct pre_tokenizer *first = *steps;
    bool there = first && first->run == put_signs && !first->matcher.literal;
    struct pre_tokenizer *rest = there ? first->next : first;
    bool splits = rest && rest->matcher.splitter == SPLITTER_GPT2;
    const struct pre_tokenizer *last = splits ? rest->next : rest;
    if (!last || last->run != pre_tokenizer_encode_bytes || last->next || there == wanted)
        return 0;
    rest->name = first->name;
    *steps = rest;
    if (!wanted)
        return 0;
    struct pre_tokenizer *space = arena_alloc(arena, 1, sizeof *space, err);
    if (!space)
        return -1;
    set_space_before(space);
    space->name = "prefix";
    space->next = rest;
    *steps = space;
    return 0;
}
