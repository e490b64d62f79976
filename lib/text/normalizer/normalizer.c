#include "text/normalizer/normalizer.h"

#include <string.h>

#include "format/json.h"
#include "text/stages.h"
#include "text/word_table.h"

/* --- what single steps do --------------------------------------------------------------------- */

static int normalize_form(const struct normalizer *step, struct text_rewriter *rewriter,
                          struct err *err)
{
    static const char *const names[] = {"NFC", "NFD", "NFKC", "NFKD"}; /* by enum unicode_form */
    const struct aligned_text *in = rewriter->in;
    enum unicode_form form = UNICODE_NFC;
    struct buf changed = {0};
    while (strcmp(step->row->name, names[form]) != 0)
        form++;
    for (size_t at = 0, end; at < in->size; at = end) {
        bool stays = false;
        end = unicode_form_end(form, in->bytes, in->size, at, &stays);
        buf_clear(&changed);
        if (stays || !unicode_form_put(form, &changed, in->bytes + at, end - at))
            text_rewriter_keep(rewriter, at, end);
        else
            text_rewriter_replace(rewriter, at, end, changed.bytes, changed.size);
    }
    int failed = buf_check(&changed, err);
    buf_release(&changed);
    return failed;
}

static int normalize_lowercase(char bytes[NORMALIZER_BYTES], uint32_t character)
{
    static const char dotted[] = "i̇"; /* of İ, the one letter whose small form is two characters */
    enum { DOTTED_CAPITAL = 0x130 };
    uint32_t small = utf8_small(character);
    if (character == DOTTED_CAPITAL) {
        memcpy(bytes, dotted, sizeof dotted - 1);
        return sizeof dotted - 1;
    }
    return small == character ? NORMALIZER_SAME : (int)utf8_encode(bytes, small);
}

static int normalize_strip_accents(char bytes[NORMALIZER_BYTES], uint32_t character)
{
    (void)bytes;
    return utf8_is_mark(character) ? 0 : NORMALIZER_SAME;
}

static int read_replace(struct normalizer *step, const struct json *value, struct arena *arena,
                        struct err *err)
{
    return matcher_read(&step->matcher, json_member(value, "pattern"), arena, err);
}

static int replace(const struct normalizer *step, struct text_rewriter *rewriter, struct err *err)
{
    const struct aligned_text *in = rewriter->in;
    struct matcher_walk walk = matcher_walk(&step->matcher, in->bytes, in->size, rewriter->limits);
    struct text_range match;
    size_t at = 0;
    int found = 0;
    while ((found = matcher_next(&walk, &match, err)) > 0) {
        text_rewriter_keep(rewriter, at, match.start);
        text_rewriter_replace(rewriter, match.start, match.end, step->content, step->content_size);
        at = match.end;
    }
    text_rewriter_keep(rewriter, at, in->size);
    matcher_walk_release(&walk);
    return found;
}

static int prepend(const struct normalizer *step, struct text_rewriter *rewriter, struct err *err)
{
    static const struct text_range front = {0, 1};
    size_t hint = 0;
    (void)err;
    if (rewriter->in->size &&
        (!step->first || !aligned_text_place(rewriter->in, front, &hint).start))
        text_rewriter_replace(rewriter, 0, 0, step->content, step->content_size);
    text_rewriter_keep(rewriter, 0, rewriter->in->size);
    return 0;
}

static int append(const struct normalizer *step, struct text_rewriter *rewriter, struct err *err)
{
    size_t size = rewriter->in->size;
    (void)err;
    text_rewriter_keep(rewriter, 0, size);
    if (size)
        text_rewriter_replace(rewriter, size, size, step->content, step->content_size);
    return 0;
}

static int read_strip(struct normalizer *step, const struct json *value, struct arena *arena,
                      struct err *err)
{
    (void)arena;
    step->left = step->right = true;
    if (json_bool(value, "strip_left", &step->left, err))
        return -1;
    return json_bool(value, "strip_right", &step->right, err);
}

static bool is_space(const struct aligned_text *text, size_t at)
{
    uint32_t c = 0;
    utf8_decode(&c, text->bytes + at, text->size - at);
    return unicode_kind(c) == UNICODE_SPACE;
}

static bool goes_on(const struct aligned_text *text, size_t at)
{
    return at < text->size && ((unsigned char)text->bytes[at] & 0xC0) == 0x80;
}

static int strip(const struct normalizer *step, struct text_rewriter *rewriter, struct err *err)
{
    const struct aligned_text *in = rewriter->in;
    size_t start = 0;
    size_t end = in->size;
    (void)err;
    while (step->left && start < end && is_space(in, start))
        while (goes_on(in, ++start))
            ;
    for (size_t last = end; step->right && last > start && last == end;) {
        while (goes_on(in, --last))
            ;
        end = is_space(in, last) ? last : end;
    }
    if (start < end)
        text_rewriter_keep(rewriter, start, end);
    return 0;
}

/* Replace each byte by its character in GPT-2's byte alphabet. */
static int spell_bytes(const struct normalizer *step, struct text_rewriter *rewriter,
                       struct err *err)
{
    const struct aligned_text *in = rewriter->in;
    (void)step;
    (void)err;
    for (size_t i = 0; i < in->size; i++) {
        char sign[4];
        size_t size = utf8_encode(sign, byte_alphabet_sign((unsigned char)in->bytes[i]));
        text_rewriter_replace(rewriter, i, i + 1, sign, size);
    }
    return 0;
}

/* --- BertNormalizer: several steps ------------------------------------------------------------ */

enum { BERT_STEPS_MAX = 5 };

enum { REPLACEMENT = 0xFFFD };

/* Controls go, and every kind of white space becomes a blank. */
static int clean(char bytes[NORMALIZER_BYTES], uint32_t c)
{
    enum unicode_kind kind = unicode_kind(c);
    bool line = c == '\t' || c == '\n' || c == '\r';
    if (c == REPLACEMENT || (utf8_is_other(c) && !line))
        return 0;
    if (c == ' ' || kind != UNICODE_SPACE)
        return NORMALIZER_SAME;
    *bytes = ' ';
    return 1;
}

/* The blocks that BERT's own code calls Chinese characters. */
static bool is_chinese(uint32_t c)
{
    static const struct unicode_range blocks[] = {
        {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},   {0x20000, 0x2A6DF},
        {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F},
    };
    return UNICODE_IS_IN(blocks, c);
}

/* A blank on either side, which stands where it does. */
static int space_chinese(char bytes[NORMALIZER_BYTES], uint32_t c)
{
    if (!is_chinese(c))
        return NORMALIZER_SAME;
    bytes[0] = ' ';
    size_t size = 1 + utf8_encode(bytes + 1, c);
    bytes[size] = ' ';
    return (int)size + 1;
}

static int strip_nonspacing(char bytes[NORMALIZER_BYTES], uint32_t character)
{
    (void)bytes;
    return utf8_is_nonspacing(character) ? 0 : NORMALIZER_SAME;
}

static int bert_steps_read(const struct normalizer_row *steps[BERT_STEPS_MAX], size_t *count,
                           const struct json *value, struct err *err)
{
    static const struct normalizer_row bert_rows[BERT_STEPS_MAX] = {
        {"clean_text", NULL, NULL, clean},
        {"handle_chinese_chars", NULL, NULL, space_chinese},
        {"NFD", NULL, normalize_form, NULL},
        {"strip_accents", NULL, NULL, strip_nonspacing},
        {"lowercase", NULL, NULL, normalize_lowercase},
    };
    bool wanted[BERT_STEPS_MAX] = {true, true, true, true, true};
    bool *strips = &wanted[3];
    bool *lowers = &wanted[4];
    if (json_bool(value, bert_rows[0].name, &wanted[0], err) ||
        json_bool(value, bert_rows[1].name, &wanted[1], err) ||
        json_bool(value, bert_rows[4].name, lowers, err))
        return -1;
    *strips = *lowers; /* null */
    if (json_bool(value, bert_rows[3].name, strips, err))
        return -1;
    wanted[2] = *strips;
    *count = 0;
    for (size_t i = 0; i < BERT_STEPS_MAX; i++)
        if (wanted[i])
            steps[(*count)++] = &bert_rows[i];
    return 0;
}

/* --- the table -------------------------------------------------------------------------------- */

static const struct normalizer_row rows[] = {
    {"NFC", NULL, normalize_form, NULL}, /* the first: normalizers_compose */
    {"NFD", NULL, normalize_form, NULL},
    {"NFKC", NULL, normalize_form, NULL},
    {"NFKD", NULL, normalize_form, NULL},
    {"Lowercase", NULL, NULL, normalize_lowercase},
    {"StripAccents", NULL, NULL, normalize_strip_accents},
    {"Strip", read_strip, strip, NULL},
    {"Prepend", NULL, prepend, NULL, "prepend"},
    {"Append", NULL, append, NULL, "append"},
    {"Replace", read_replace, replace, NULL, "content"},
    {"ByteLevel", NULL, spell_bytes, NULL},
    {"Precompiled", normalizer_read_charsmap, normalize_charsmap, NULL},
    {"BertNormalizer", NULL, NULL, NULL}, /* several steps */
};

enum { ROW_COUNT = sizeof rows / sizeof *rows };

struct reading {
    struct normalizer **end;
    struct arena *arena;
};

static struct normalizer *add_step(struct reading *reading, const struct normalizer_row *row,
                                   struct err *err)
{
    struct normalizer *step = arena_alloc(reading->arena, 1, sizeof *step, err);
    if (!step)
        return NULL;
    char bytes[NORMALIZER_BYTES];
    for (uint32_t c = 0; row->change && c < 0x80; c++)
        step->stays[c] = row->change(bytes, c) == NORMALIZER_SAME;
    step->row = row;
    *reading->end = step;
    reading->end = &step->next;
    return step;
}

static int add_bert(struct reading *reading, const struct json *value, struct err *err)
{
    const struct normalizer_row *steps[BERT_STEPS_MAX];
    size_t count = 0;
    if (bert_steps_read(steps, &count, value, err))
        return -1;
    for (size_t i = 0; i < count; i++)
        if (!add_step(reading, steps[i], err))
            return -1;
    return 0;
}

static int add(void *context, size_t type, const struct json *value, struct err *err)
{
    const struct normalizer_row *row = &rows[type];
    if (!row->apply && !row->change)
        return add_bert(context, value, err);
    struct reading *reading = context;
    struct arena *arena = reading->arena;
    struct normalizer *step = add_step(reading, row, err);
    if (!step || (row->content &&
                  stage_text(&step->content, &step->content_size, value, row->content, arena, err)))
        return -1;
    return row->read ? row->read(step, value, arena, err) : 0;
}

int normalizers_read(struct normalizer **steps, const struct json *value, struct arena *arena,
                     struct err *err)
{
    struct reading reading = {steps, arena};
    struct stage_list list = {"normalizers", NAMES(rows, ROW_COUNT), add, &reading};
    *steps = NULL;
    return stages_read(&list, value, err);
}

int normalizers_compose(struct normalizer **steps, struct arena *arena, struct err *err)
{
    struct reading reading = {steps, arena};
    *steps = NULL;
    return add_step(&reading, &rows[0], err) ? 0 : -1;
}

void normalizers_release(struct normalizer *steps)
{
    for (; steps; steps = steps->next)
        matcher_release(&steps->matcher);
}

/* Where the text ends, but for blanks and signs of them. */
static size_t end_of_words(const struct aligned_text *text)
{
    static const char sign[] = "▁";
    size_t size = text->size;
    for (;;) {
        if (size && text->bytes[size - 1] == ' ')
            size--;
        else if (size >= sizeof sign - 1 &&
                 memcmp(text->bytes + size - (sizeof sign - 1), sign, sizeof sign - 1) == 0)
            size -= sizeof sign - 1;
        else
            return size;
    }
}

static int trim(const struct normalizer *step, struct text_rewriter *rewriter, struct err *err)
{
    (void)step;
    (void)err;
    text_rewriter_keep(rewriter, 0, end_of_words(rewriter->in));
    return 0;
}

static const char sentencepiece_prefix[] = "prefix";

int normalizers_sentencepiece(struct normalizer **steps, const struct sentencepiece_rules *rules,
                              struct arena *arena, struct err *err)
{
    static const struct normalizer_row charsmap = {"charsmap", NULL, normalize_charsmap_longest,
                                                   NULL};
    static const struct normalizer_row end = {"end", NULL, trim, NULL};
    static const struct normalizer_row prefix = {sentencepiece_prefix, NULL, prepend, NULL};
    static const struct normalizer_row escape = {"escape", NULL, replace, NULL};
    static const char blank[] = " ";
    static const char sign[] = "▁";
    const struct {
        bool wanted;
        const struct normalizer_row *row;
        const char *content;
    } list[] = {
        {rules->charsmap_size || rules->collapses, &charsmap, NULL},
        {rules->collapses, &end, NULL},
        {rules->prefixes, &prefix, rules->escapes ? sign : blank},
        {rules->escapes, &escape, sign},
    };
    struct reading reading = {steps, arena};
    *steps = NULL;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct normalizer *step = list[i].wanted ? add_step(&reading, list[i].row, err) : NULL;
        if (list[i].wanted && !step)
            return -1;
        if (step && list[i].row == &charsmap && rules->charsmap_size &&
            charsmap_read(&step->charsmap, rules->charsmap, rules->charsmap_size, arena, err))
            return -1;
        if (step) {
            step->kept = rules->kept;
            step->collapses = rules->collapses;
        }
        if (!step || !list[i].content)
            continue;
        step->content = list[i].content;
        step->content_size = strlen(list[i].content);
        step->matcher = (struct matcher){.literal = blank, .literal_size = 1};
    }
    return 0;
}

bool normalizers_limit_prefix(struct normalizer **steps, bool removed, bool first)
{
    while (*steps && strcmp((*steps)->row->name, sentencepiece_prefix) != 0)
        steps = &(*steps)->next;
    if (!*steps)
        return false;
    (*steps)->first = first;
    if (removed)
        *steps = (*steps)->next;
    return true;
}

bool normalizers_spell_bytes(const struct normalizer *steps)
{
    while (steps && steps->row->apply != spell_bytes)
        steps = steps->next;
    return steps;
}

/* Ask for the change of every character, except for those of ASCII that stay. */
static void change_each(const struct normalizer *step, struct text_rewriter *rewriter)
{
    const struct aligned_text *in = rewriter->in;
    const unsigned char *text = (const unsigned char *)in->bytes;
    size_t done = 0;
    for (size_t at = 0, length; at < in->size; at += length) {
        char bytes[NORMALIZER_BYTES];
        uint32_t c = 0;
        length = 1;
        if (step->stays[text[at]])
            continue;
        length = utf8_decode(&c, in->bytes + at, in->size - at);
        int written = step->row->change(bytes, c);
        if (written == NORMALIZER_SAME)
            continue;
        if (done < at)
            text_rewriter_keep(rewriter, done, at);
        done = at + length;
        text_rewriter_replace(rewriter, at, done, bytes, (size_t)written);
    }
    if (done < in->size)
        text_rewriter_keep(rewriter, done, in->size);
}

int normalize(const struct normalizer *steps, struct aligned_text *out,
              const struct aligned_text *text, struct text_rewriter rewriters[2],
              struct text_limits *limits, struct err *err)
{
    struct aligned_text now = *text;
    int turn = 0; /* the rewriter that does not hold the text as it is now */
    for (; steps; steps = steps->next) {
        struct text_rewriter *rewriter = &rewriters[turn];
        *out = now;
        text_rewriter_restart(rewriter, out, limits);
        if (steps->row->change)
            change_each(steps, rewriter);
        else if (steps->row->apply(steps, rewriter, err))
            return err_prefix(err, "normalizer: %s", steps->row->name);
        if (text_rewriter_finish(rewriter, &now, err))
            return err_prefix(err, "normalizer: %s", steps->row->name);
        turn = rewriter->changed ? !turn : turn;
    }
    text_rewriter_release(&rewriters[turn]);
    *out = now;
    return 0;
}
