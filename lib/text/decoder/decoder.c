#include "text/decoder/decoder.h"

#include <string.h>

#include "base/utf8.h"
#include "format/json.h"
#include "text/stages.h"

/* A kind of step: how its object is read, when it says more than its type and a text; what it does
 * with a token; and at the end, when it keeps something back. */
struct decoder_row {
    const char *name;
    int (*read)(struct decoder_step *step, const struct json *value, struct err *err);
    void (*put)(const struct decoder_step *step, struct token_decoder *decoder, const char *token,
                size_t size);
    void (*end)(const struct decoder_step *step, struct token_decoder *decoder);
    const char *content;   /* the field of the text, which most look for and Replace writes */
    const char *otherwise; /* that text where it is not given; NULL: it must be */
};

#define LOSSY_TEXT_SIGN "\xEF\xBF\xBD"

/* The size of the first invalid character of a text: the bytes that could have begun one. */
static size_t unreadable_bytes(const unsigned char *bytes, size_t size)
{
    unsigned char first = bytes[0];
    size_t wanted = first < 0xC2 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 1;
    unsigned char least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    unsigned char most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    size_t count = 1;
    for (; count < wanted && count < size; count++, least = 0x80, most = 0xBF)
        if (bytes[count] < least || bytes[count] > most)
            break;
    return count;
}

/* Append bytes that should be a text, and take them out of `rest`: invalid UTF-8 becomes U+FFFD. A
 * character that the next bytes may complete stays there, unless these are the last. */
static void lossy_text_write(struct buf *out, struct buf *rest, bool last)
{
    size_t at = 0;
    buf_fail_with(out, rest);
    while (at < rest->size) {
        const char *bytes = rest->bytes + at;
        size_t valid = utf8_invalid_at(bytes, rest->size - at);
        buf_bytes(out, bytes, valid);
        at += valid;
        if (at == rest->size)
            break;
        size_t count = unreadable_bytes((const unsigned char *)bytes + valid, rest->size - at);
        uint32_t c = 0;
        bool open = at + count == rest->size && count < 4 &&
                    utf8_decode(&c, rest->bytes + at, count) == 0 &&
                    (unsigned char)rest->bytes[at] >= 0xC2 && (unsigned char)rest->bytes[at] < 0xF5;
        if (open && !last)
            break;
        buf_text(out, LOSSY_TEXT_SIGN);
        at += count;
    }
    if (at < rest->size)
        memmove(rest->bytes, rest->bytes + at, rest->size - at);
    rest->size -= at;
}

/* Hand a token to the next step, or write it. */
static void pass(const struct decoder_step *step, struct token_decoder *decoder, const char *token,
                 size_t size)
{
    if (step) {
        step->row->put(step, decoder, token, size);
        decoder->states[step->index].tokens++;
        return;
    }
    buf_bytes(&decoder->rest, token, size);
    lossy_text_write(decoder->out, &decoder->rest, false);
}

/* --- steps ------------------------------------------------------------------------------------ */

static void keep(const struct decoder_step *step, struct token_decoder *decoder, const char *token,
                 size_t size)
{
    pass(step->next, decoder, token, size);
}

/* Append a token with every match replaced. A pattern that comes to no end leaves the rest. */
static void put_replaced(struct buf *out, const struct matcher *matcher, const char *token,
                         size_t size, const char *content, size_t content_size)
{
    struct matcher_walk walk = matcher_walk(matcher, token, size, NULL);
    struct text_range match;
    size_t at = 0;
    while (matcher_next(&walk, &match, NULL) > 0) {
        buf_bytes(out, token + at, match.start - at);
        buf_bytes(out, content, content_size);
        at = match.end;
    }
    buf_bytes(out, token + at, size - at);
    matcher_walk_release(&walk);
}

static void replace(const struct decoder_step *step, struct token_decoder *decoder,
                    const char *token, size_t size)
{
    struct buf *out = &decoder->states[step->index].bytes;
    buf_clear(out);
    put_replaced(out, &step->matcher, token, size, step->content, step->content_size);
    pass(step->next, decoder, out->bytes ? out->bytes : "", out->size);
}

int decoder_byte_of(const char *token, size_t size)
{
    static const char digits[] = "0123456789ABCDEF";
    const char *high = size == 6 && token[3] ? strchr(digits, token[3]) : NULL;
    const char *low = size == 6 && token[4] ? strchr(digits, token[4]) : NULL;
    if (!high || !low || memcmp(token, "<0x", 3) != 0 || token[5] != '>')
        return -1;
    return (int)(high - digits) * 16 + (int)(low - digits);
}

/* Byte tokens in a row are characters, or each of them is unreadable. */
static void end_bytes(const struct decoder_step *step, struct token_decoder *decoder)
{
    struct buf *bytes = &decoder->states[step->index].bytes;
    bool valid = utf8_invalid_at(bytes->bytes ? bytes->bytes : "", bytes->size) == bytes->size;
    if (valid && bytes->size)
        pass(step->next, decoder, bytes->bytes, bytes->size);
    for (size_t i = 0; !valid && i < bytes->size; i++)
        pass(step->next, decoder, LOSSY_TEXT_SIGN, sizeof LOSSY_TEXT_SIGN - 1);
    buf_clear(bytes);
}

static void join_bytes(const struct decoder_step *step, struct token_decoder *decoder,
                       const char *token, size_t size)
{
    int byte = decoder_byte_of(token, size);
    if (byte >= 0) {
        buf_char(&decoder->states[step->index].bytes, (char)byte);
        return;
    }
    end_bytes(step, decoder);
    pass(step->next, decoder, token, size);
}

static int read_strip(struct decoder_step *step, const struct json *value, struct err *err)
{
    if (json_integer(value, "start", 0, INT32_MAX, &step->start, err))
        return -1;
    return json_integer(value, "stop", 0, INT32_MAX, &step->stop, err);
}

static bool begins_with(const char *bytes, size_t size, const struct decoder_step *step)
{
    return step->content_size && size >= step->content_size &&
           memcmp(bytes, step->content, step->content_size) == 0;
}

static void strip(const struct decoder_step *step, struct token_decoder *decoder, const char *token,
                  size_t size)
{
    size_t *stripped = &decoder->states[step->index].stripped;
    bool *done = &decoder->states[step->index].done;
    if (!step->fused) {
        *stripped = 0;
        *done = false;
    }
    for (; !*done && (long long)*stripped < step->start && begins_with(token, size, step);
         ++*stripped) {
        token += step->content_size;
        size -= step->content_size;
    }
    *done = *done || size > 0 || (long long)*stripped == step->start;
    for (long long i = 0; !step->fused && i < step->stop && size >= step->content_size; i++) {
        if (!begins_with(token + size - step->content_size, step->content_size, step))
            break;
        size -= step->content_size;
    }
    pass(step->next, decoder, token, size);
}

static int read_metaspace(struct decoder_step *step, const struct json *value, struct err *err)
{
    const char *scheme = NULL;
    bool prefix = true;
    if (json_bool(value, "add_prefix_space", &prefix, err) ||
        json_text(value, "prepend_scheme", &scheme, err))
        return -1;
    step->strips_first = scheme ? strcmp(scheme, "never") != 0 : prefix;
    return 0;
}

static void metaspace(const struct decoder_step *step, struct token_decoder *decoder,
                      const char *token, size_t size)
{
    struct buf *out = &decoder->states[step->index].bytes;
    bool first = decoder->states[step->index].tokens == 0 && step->strips_first;
    buf_clear(out);
    put_replaced(out, &step->matcher, token, size, " ", first ? 0 : 1);
    pass(step->next, decoder, out->bytes ? out->bytes : "", out->size);
}

static int read_word_piece(struct decoder_step *step, const struct json *value, struct err *err)
{
    step->cleans = true;
    return json_bool(value, "cleanup", &step->cleans, err);
}

/* Take blanks out where English has none, one rule after the other. */
static void clean(struct buf *token, struct buf *scratch)
{
    static const char *const rules[][2] = {
        {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
        {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
        {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        struct matcher matcher = {.literal = rules[i][0], .literal_size = strlen(rules[i][0])};
        buf_clear(scratch);
        put_replaced(scratch, &matcher, token->bytes ? token->bytes : "", token->size, rules[i][1],
                     strlen(rules[i][1]));
        struct buf swapped = *token;
        *token = *scratch;
        *scratch = swapped;
    }
}

static void word_piece(const struct decoder_step *step, struct token_decoder *decoder,
                       const char *token, size_t size)
{
    struct buf *out = &decoder->states[step->index].bytes;
    struct buf scratch = {0};
    buf_clear(out);
    if (decoder->states[step->index].tokens && !begins_with(token, size, step))
        buf_char(out, ' ');
    bool goes_on = decoder->states[step->index].tokens && begins_with(token, size, step);
    buf_bytes(out, token + (goes_on ? step->content_size : 0),
              size - (goes_on ? step->content_size : 0));
    if (step->cleans)
        clean(out, &scratch);
    buf_fail_with(out, &scratch); /* they have changed places */
    buf_release(&scratch);
    pass(step->next, decoder, out->bytes ? out->bytes : "", out->size);
}

/* A suffix is a blank, but at the end. */
static void drop_suffix(const struct decoder_step *step, struct token_decoder *decoder,
                        const char *token, size_t size)
{
    struct buf *out = &decoder->states[step->index].bytes;
    bool *owes = &decoder->states[step->index].owes_blank;
    buf_clear(out);
    if (*owes)
        buf_char(out, ' ');
    size_t before = out->size;
    put_replaced(out, &step->matcher, token, size, "", 0);
    *owes = out->size - before < size;
    pass(step->next, decoder, out->bytes ? out->bytes : "", out->size);
}

static const struct decoder_row rows[] = {
    {"ByteLevel", NULL, keep, NULL}, /* words are bytes already */
    {"Replace", NULL, replace, NULL, "content", NULL},
    {"ByteFallback", NULL, join_bytes, end_bytes},
    {"Fuse", NULL, keep, NULL}, /* what follows takes all tokens as one */
    {"Strip", read_strip, strip, NULL, "content", " "},
    {"Metaspace", read_metaspace, metaspace, NULL, "replacement", "▁"},
    {"WordPiece", read_word_piece, word_piece, NULL, "prefix", "##"},
    {"BPEDecoder", NULL, drop_suffix, NULL, "suffix", "</w>"},
};

enum { ROW_COUNT = sizeof rows / sizeof *rows };

struct reading {
    struct decoder_step **end;
    struct arena *arena;
    size_t count;
    bool fused;
};

static int add(void *context, size_t type, const struct json *value, struct err *err)
{
    struct reading *reading = context;
    const struct decoder_row *row = &rows[type];
    struct decoder_step *step = arena_alloc(reading->arena, 1, sizeof *step, err);
    if (!step)
        return -1;
    if (reading->count == DECODER_STEPS_MAX)
        return err_set(err, "expected at most %d steps, found more", DECODER_STEPS_MAX);
    *step = (struct decoder_step){
        .row = row, .index = reading->count++, .fused = reading->fused, .content = row->otherwise};
    reading->fused = reading->fused || strcmp(row->name, "Fuse") == 0;
    *reading->end = step;
    reading->end = &step->next;
    if (row->content &&
        stage_text(&step->content, &step->content_size, value, row->content, reading->arena, err))
        return -1;
    step->matcher = (struct matcher){.literal = step->content, .literal_size = step->content_size};
    if ((row->put == replace &&
         matcher_read(&step->matcher, json_member(value, "pattern"), reading->arena, err)) ||
        (row->read && row->read(step, value, err)))
        return -1;
    if (step->fused && step->stop)
        return err_unsupported(err, "field 'stop': %lld is not supported after Fuse", step->stop);
    return 0;
}

int decoders_read(struct decoder_step **steps, const struct json *value, struct arena *arena,
                  struct err *err)
{
    struct reading reading = {.end = steps, .arena = arena};
    struct stage_list list = {"decoders", NAMES(rows, ROW_COUNT), add, &reading};
    *steps = NULL;
    return stages_read(&list, value, err);
}

int decoders_byte_level(struct decoder_step **steps, struct arena *arena, struct err *err)
{
    *steps = arena_alloc(arena, 1, sizeof **steps, err);
    if (!*steps)
        return -1;
    (*steps)->row = &rows[0];
    return 0;
}

int decoders_sentencepiece(struct decoder_step **steps, bool prefixed, struct arena *arena,
                           struct err *err)
{
    static const struct decoder_row list[] = {
        {"signs", NULL, replace, NULL},
        {"bytes", NULL, join_bytes, end_bytes},
        {"prefix", NULL, strip, NULL},
    };
    struct decoder_step *step = arena_alloc(arena, 3, sizeof *step, err);
    if (!step)
        return -1;
    *steps = step;
    for (size_t i = 0; i < (prefixed ? 3 : 2); i++)
        step[i] = (struct decoder_step){.row = &list[i], .index = i, .next = &step[i + 1]};
    step[prefixed ? 2 : 1].next = NULL;
    step[0].matcher = (struct matcher){.literal = "▁", .literal_size = sizeof "▁" - 1};
    step[0].content = step[2].content = " ";
    step[0].content_size = step[2].content_size = 1;
    step[2].start = 1;
    step[2].fused = true;
    return 0;
}

void decoders_keep_front(struct decoder_step *steps)
{
    for (; steps && steps->next; steps = steps->next)
        if (steps->next->row->put == strip && !steps->next->next)
            steps->next = NULL;
}

void decoders_release(struct decoder_step *steps)
{
    for (; steps; steps = steps->next)
        matcher_release(&steps->matcher);
}

const struct matcher *decoders_sign(const struct decoder_step *steps)
{
    for (; steps; steps = steps->next) {
        bool blank = steps->row->put == metaspace ||
                     (steps->row->put == replace && strcmp(steps->content, " ") == 0);
        if (blank && steps->matcher.literal)
            return &steps->matcher;
    }
    return NULL;
}

const char *decoders_prefix(const struct decoder_step *steps)
{
    while (steps && steps->row->put != word_piece)
        steps = steps->next;
    return steps ? steps->content : NULL;
}

bool decoders_join_bytes(const struct decoder_step *steps)
{
    while (steps && steps->row->put != join_bytes)
        steps = steps->next;
    return steps;
}

void token_decoder_put(struct token_decoder *decoder, const char *token, size_t size)
{
    if (!decoder->steps && decoder->count)
        buf_char(&decoder->rest, ' ');
    decoder->count++;
    pass(decoder->steps, decoder, token, size);
}

void token_decoder_end(struct token_decoder *decoder)
{
    for (const struct decoder_step *step = decoder->steps; step; step = step->next)
        if (step->row->end)
            step->row->end(step, decoder);
    for (size_t i = 0; i < DECODER_STEPS_MAX; i++)
        buf_fail_with(&decoder->rest, &decoder->states[i].bytes);
    lossy_text_write(decoder->out, &decoder->rest, true);
}

void token_decoder_release(struct token_decoder *decoder)
{
    for (size_t i = 0; i < DECODER_STEPS_MAX; i++)
        buf_release(&decoder->states[i].bytes);
    buf_release(&decoder->rest);
}
