#include "format/json.h"
#include "text/stages.h"

#include <string.h>

#include "text/encoder.h"
#include "text/label.h"

/* --- splitting -------------------------------------------------------------------------------- */

/* A piece that is being split. A part waits until it is known whether the next part belongs
 * to it. */
struct piece {
    const struct stage *step;
    struct encoder *encoder;
    const struct aligned_text *text;
    struct text_range waiting;
    bool has_waiting, waiting_is_match;
};

static int pass_waiting(const struct piece *s, struct err *err)
{
    struct text_piece part = {s->text, s->waiting};
    bool removed = s->step->behavior == SPLIT_REMOVED && s->waiting_is_match;
    if (!s->has_waiting || removed || part.range.start == part.range.end)
        return 0;
    return encoder_pass(s->encoder, s->step->next, &part, err);
}

static int add_part(struct piece *s, size_t start, size_t end, bool found, struct err *err)
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

static int split(const struct stage *step, struct encoder *encoder, const struct text_piece *piece,
                 struct err *err)
{
    struct piece splitting = {.step = step, .encoder = encoder, .text = piece->text};
    size_t start = piece->range.start; /* matches are relative to this position */
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

/* Begin a changed text, in the memory of an earlier changed text if there is any. */
static struct text_rewriter begin(struct encoder *encoder, const struct text_piece *piece)
{
    struct text_rewriter rewriter = encoder->spare;
    encoder->spare = (struct text_rewriter){0};
    text_rewriter_restart(&rewriter, piece->text, &encoder->limits);
    return rewriter;
}

static int pass_changed(const struct stage *step, struct encoder *encoder,
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
    text_rewriter_release(&encoder->spare); /* free memory that a later step has put there */
    encoder->spare = *rewriter;
    return failed;
}

/* Put `content` before a piece that lacks it, if step->prepend allows it here. If the step has a
 * matcher, also replace spaces by `content`. */
static int put_signs(const struct stage *step, struct encoder *encoder,
                     const struct text_piece *piece, struct err *err)
{
    const char *bytes = piece->text->bytes;
    size_t at = piece->range.start;
    size_t end = piece->range.end;
    size_t hint = 0;
    bool replaces = step->matcher.literal;
    const char *space = replaces ? memchr(bytes + at, ' ', end - at) : NULL;
    bool has_sign = (end - at >= step->content_size &&
                     memcmp(bytes + at, step->content, step->content_size) == 0) ||
                    (replaces && bytes[at] == ' ');
    bool prepends = step->prepend != PREPEND_NEVER && !has_sign &&
                    (step->prepend == PREPEND_ALWAYS ||
                     aligned_text_origin(piece->text, piece->range, &hint).start == 0);
    if (!space && !prepends)
        return encoder_pass(encoder, step->next, piece, err);
    struct text_rewriter rewriter = begin(encoder, piece);
    if (prepends)
        text_rewriter_replace(&rewriter, at, at, step->content, step->content_size);
    for (; space; space = memchr(bytes + at, ' ', end - at)) {
        size_t found = (size_t)(space - bytes);
        text_rewriter_keep(&rewriter, at, found);
        at = found + 1;
        text_rewriter_replace(&rewriter, found, at, step->content, step->content_size);
    }
    text_rewriter_keep(&rewriter, at, end);
    return pass_changed(step, encoder, &rewriter, err);
}

int pre_tokenizer_encode_bytes(const struct stage *step, struct encoder *encoder,
                               const struct text_piece *piece, struct err *err)
{
    if (!step->next) /* in the last step, keep the bytes: the model's words are bytes */
        return encoder_pass(encoder, NULL, piece, err);
    struct text_rewriter rewriter = begin(encoder, piece);
    normalize_bytes(&rewriter, piece->range);
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

static int begin_step(struct stage_list *list, struct stage *step, struct err *err)
{
    (void)list, (void)err;
    step->run = split;
    step->behavior = step->row->behavior;
    if (step->row->is)
        matcher_set_kind(&step->matcher, step->row->is);
    return 0;
}

/* Read the index of a field's text among `names`; an absent field leaves `*index` unchanged. */
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

static int read_behavior(struct stage_list *list, struct stage *step, const struct json *value,
                         struct err *err)
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

static int read_split(struct stage_list *list, struct stage *step, const struct json *value,
                      struct err *err)
{
    if (read_behavior(list, step, value, err) || json_bool(value, "invert", &step->inverted, err))
        return -1;
    return stage_read_pattern(list, step, value, err);
}

static int read_digits(struct stage_list *list, struct stage *step, const struct json *value,
                       struct err *err)
{
    bool single = false;
    (void)list;
    if (json_bool(value, "individual_digits", &single, err))
        return -1;
    step->behavior = single ? SPLIT_ISOLATED : SPLIT_CONTIGUOUS;
    return 0;
}

static int read_delimiter(struct stage_list *list, struct stage *step, const struct json *value,
                          struct err *err)
{
    (void)list, (void)value;
    return step->content_size ? 0 : err_set(err, "expected a field 'delimiter'");
}

static void set_space_before(struct stage *step)
{
    step->run = put_signs;
    step->prepend = PREPEND_ALWAYS;
    step->content = " ";
    step->content_size = 1;
}

/* Make up to three steps: put a space before a piece, split it by GPT-2's pattern, and write its
 * bytes as characters. */
static int read_byte_level(struct stage_list *list, struct stage *step, const struct json *value,
                           struct err *err)
{
    bool prefix = true, splits = true;
    if (json_bool(value, "add_prefix_space", &prefix, err) ||
        json_bool(value, "use_regex", &splits, err))
        return -1;
    if (prefix) {
        set_space_before(step);
        step = stages_add(list, step->row, err);
    }
    if (step && splits) {
        if (matcher_set_pattern(&step->matcher, splitter_patterns[PATTERN_GPT2].pattern, err))
            return -1;
        step = stages_add(list, step->row, err);
    }
    if (!step)
        return -1;
    step->run = pre_tokenizer_encode_bytes;
    return 0;
}

static int read_metaspace(struct stage_list *list, struct stage *step, const struct json *value,
                          struct err *err)
{
    /* in the order of enum prepend_scheme */
    static const char *const schemes[] = {"never", "first", "always"};
    /* older files have add_prefix_space, not prepend_scheme */
    bool prefix = true;
    bool splits = true;
    uint32_t c = 0;
    if (json_bool(value, "add_prefix_space", &prefix, err))
        return -1;
    unsigned scheme = prefix ? PREPEND_ALWAYS : PREPEND_NEVER;
    if (read_name(&scheme, value, "prepend_scheme", NAMES_LIST(schemes), err))
        return -1;
    const struct matcher sign = step->matcher;
    if (!sign.literal_size || utf8_decode(&c, sign.literal, sign.literal_size) != sign.literal_size)
        return err_set(err, "field 'replacement': expected one character, found '%s'",
                       label_excerpt(sign.literal, sign.literal_size));
    if (json_bool(value, "split", &splits, err))
        return -1;
    step->run = put_signs;
    step->prepend = (enum prepend_scheme)scheme;
    step->matcher = (struct matcher){.literal = " ", .literal_size = 1};
    if (!splits)
        return 0;
    if (!(step = stages_add(list, step->row, err)))
        return -1;
    step->matcher = sign;
    step->behavior = SPLIT_MERGED_WITH_NEXT;
    return 0;
}

static const struct stage_row words = {.is = is_word, .behavior = SPLIT_CONTIGUOUS};
static const struct stage_row punctuation = {.is = is_punctuation, .behavior = SPLIT_ISOLATED};

static const struct stage_row rows[] = {
    {"ByteLevel", .read = read_byte_level, .behavior = SPLIT_ISOLATED},
    {"Split", .read = read_split, .behavior = SPLIT_ISOLATED},
    {"Digits", .read = read_digits, .is = is_number},
    {"Metaspace", "replacement", "▁", .read = read_metaspace},
    {"Whitespace", .is = is_space, .behavior = SPLIT_REMOVED, .then = &words},
    {"WhitespaceSplit", .is = is_space, .behavior = SPLIT_REMOVED},
    {"Punctuation", .read = read_behavior, .is = is_punctuation, .behavior = SPLIT_ISOLATED},
    {"BertPreTokenizer", .is = is_space, .behavior = SPLIT_REMOVED, .then = &punctuation},
    {"CharDelimiterSplit", "delimiter", .read = read_delimiter, .behavior = SPLIT_REMOVED},
};

const struct stage_kind pre_tokenizers = {"pretokenizers", rows, sizeof rows / sizeof *rows,
                                          begin_step};

int pre_tokenizers_set_prefix(struct stage **steps, bool wanted, struct arena *arena,
                              struct err *err)
{
    struct stage *first = *steps;
    bool there = first && first->run == put_signs && !first->matcher.literal;
    struct stage *rest = there ? first->next : first;
    bool splits = rest && rest->matcher.splitter == SPLITTER_GPT2;
    const struct stage *last = splits ? rest->next : rest;
    if (!last || last->run != pre_tokenizer_encode_bytes || last->next || there == wanted)
        return 0;
    rest->name = first->name;
    *steps = rest;
    if (!wanted)
        return 0;
    struct stage *space = arena_alloc(arena, 1, sizeof *space, err);
    if (!space)
        return -1;
    set_space_before(space);
    space->name = "prefix";
    space->next = rest;
    *steps = space;
    return 0;
}
