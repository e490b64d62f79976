#include "text/decoder.h"

#include <string.h>

#include "format/json.h"

/* --- invalid UTF-8 ---------------------------------------------------------------------------- */

#define LOSSY_TEXT_SIGN "\xEF\xBF\xBD"

/* The size of the invalid character at the start of a text: the bytes that could begin a character,
 * or 1. `*open` is set to true if more bytes could complete the character. */
static size_t invalid_bytes(const char *text, size_t size, bool *open)
{
    const unsigned char *bytes = (const unsigned char *)text;
    unsigned char first = bytes[0];
    size_t wanted = first < 0xC2 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 1;
    unsigned char least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    unsigned char most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    size_t count = 1;
    for (; count < wanted && count < size; count++, least = 0x80, most = 0xBF)
        if (bytes[count] < least || bytes[count] > most)
            break;
    *open = count == size && count < wanted;
    return count;
}

/* Append bytes that should be a text, and remove them from `rest`: invalid UTF-8 becomes U+FFFD. A
 * character that more bytes may complete is left in `rest`, unless no bytes follow (`last`). */
static void lossy_text_write(struct buf *out, struct buf *rest, bool last)
{
    size_t at = 0;
    buf_fail_with(out, rest);
    while (at < rest->size) {
        size_t valid = utf8_invalid_at(rest->bytes + at, rest->size - at);
        bool open = false;
        buf_bytes(out, rest->bytes + at, valid);
        at += valid;
        if (at == rest->size)
            break;
        size_t count = invalid_bytes(rest->bytes + at, rest->size - at, &open);
        if (open && !last)
            break;
        buf_text(out, LOSSY_TEXT_SIGN);
        at += count;
    }
    if (at < rest->size)
        memmove(rest->bytes, rest->bytes + at, rest->size - at);
    rest->size -= at;
}

/* --- steps ------------------------------------------------------------------------------------ */

enum { GROWTH_MAX = 64 };

/* Pass a token to a step. If `step` is NULL, after the last step, write the token. */
static void pass(const struct stage *step, struct token_decoder *decoder, const char *token,
                 size_t size)
{
    if (!step) {
        buf_bytes(&decoder->rest, token, size);
        lossy_text_write(decoder->out, &decoder->rest, false);
        return;
    }
    struct decoder_state *state = &decoder->states[step->index];
    if (step->row->put) {
        step->row->put(step, decoder, token, size);
    } else if (step->row->rewrite) {
        buf_clear(&state->bytes);
        step->row->rewrite(step, state, token, size);
        pass(step->next, decoder, state->bytes.bytes ? state->bytes.bytes : "", state->bytes.size);
    } else {
        pass(step->next, decoder, token, size);
    }
    state->tokens++;
}

/* Read a pattern, and limit how much tokens may grow: otherwise, chained replacements of "a" by
 * "aaaa" would fill the memory. */
static int read_replace(struct stage_list *list, struct stage *step, const struct json *value,
                        struct err *err)
{
    const struct matcher *matcher = &step->matcher;
    if (stage_read_pattern(list, step, value, err))
        return -1;
    size_t matched = matcher->literal ? matcher->literal_size : 1;
    size_t times = matched ? (step->content_size + matched - 1) / matched : 1;
    times += !matcher->literal; /* a pattern may match before and after each byte */
    if (times > GROWTH_MAX / step->growth)
        return err_set(err,
                       "expected steps after which a token is at most %d times as long, found "
                       "more",
                       GROWTH_MAX);
    step->growth *= times ? times : 1;
    return 0;
}

static int read_metaspace(struct stage_list *list, struct stage *step, const struct json *value,
                          struct err *err)
{
    const char *scheme = NULL;
    bool prefix = true;
    (void)list;
    step->content = " ";
    step->content_size = 1;
    if (json_bool(value, "add_prefix_space", &prefix, err) ||
        json_text(value, "prepend_scheme", &scheme, err))
        return -1;
    step->strips_first = scheme ? strcmp(scheme, "never") != 0 : prefix;
    return 0;
}

static void replace(const struct stage *step, struct decoder_state *state, const char *token,
                    size_t size)
{
    bool strips = step->strips_first && !state->tokens;
    matcher_replace(&step->matcher, &state->bytes, token, size, step->content,
                    strips ? 0 : step->content_size);
}

/* Remove the suffix. If the token had it, a space is put before the next token. */
static void drop_suffix(const struct stage *step, struct decoder_state *state, const char *token,
                        size_t size)
{
    if (state->owes_space)
        buf_char(&state->bytes, ' ');
    size_t before = state->bytes.size;
    matcher_replace(&step->matcher, &state->bytes, token, size, "", 0);
    state->owes_space = state->bytes.size - before < size;
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

/* Pass adjacent byte tokens as characters, or U+FFFD for each byte if they are not UTF-8. */
static void end_bytes(const struct stage *step, struct token_decoder *decoder)
{
    struct buf *bytes = &decoder->states[step->index].bytes;
    bool valid = utf8_invalid_at(bytes->bytes ? bytes->bytes : "", bytes->size) == bytes->size;
    if (valid && bytes->size)
        pass(step->next, decoder, bytes->bytes, bytes->size);
    for (size_t i = 0; !valid && i < bytes->size; i++)
        pass(step->next, decoder, LOSSY_TEXT_SIGN, sizeof LOSSY_TEXT_SIGN - 1);
    buf_clear(bytes);
}

static void join_bytes(const struct stage *step, struct token_decoder *decoder, const char *token,
                       size_t size)
{
    int byte = decoder_byte_of(token, size);
    if (byte >= 0) {
        buf_char(&decoder->states[step->index].bytes, (char)byte);
        return;
    }
    end_bytes(step, decoder);
    pass(step->next, decoder, token, size);
}

static int read_strip(struct stage_list *list, struct stage *step, const struct json *value,
                      struct err *err)
{
    (void)list;
    if (json_integer(value, "start", 0, INT32_MAX, &step->start, err) ||
        json_integer(value, "stop", 0, INT32_MAX, &step->stop, err))
        return -1;
    if (step->fused && step->stop)
        return err_unsupported(err, "field 'stop': %lld is not supported after Fuse", step->stop);
    return 0;
}

static bool begins_with(const char *bytes, size_t size, const struct stage *step)
{
    return step->content_size && size >= step->content_size &&
           memcmp(bytes, step->content, step->content_size) == 0;
}

static void strip(const struct stage *step, struct token_decoder *decoder, const char *token,
                  size_t size)
{
    struct decoder_state *state = &decoder->states[step->index];
    if (!step->fused) {
        state->stripped = 0;
        state->done = false;
    }
    for (;
         !state->done && (long long)state->stripped < step->start && begins_with(token, size, step);
         state->stripped++) {
        token += step->content_size;
        size -= step->content_size;
    }
    state->done = state->done || size > 0 || (long long)state->stripped == step->start;
    for (long long i = 0; i < step->stop && size >= step->content_size; i++) {
        if (!begins_with(token + size - step->content_size, step->content_size, step))
            break;
        size -= step->content_size;
    }
    pass(step->next, decoder, token, size);
}

static int read_word_piece(struct stage_list *list, struct stage *step, const struct json *value,
                           struct err *err)
{
    (void)list;
    step->cleans = true;
    return json_bool(value, "cleanup", &step->cleans, err);
}

/* Apply rules for English, one after the other: remove spaces, and shorten `do not`. */
static void clean(struct buf *token)
{
    static const char *const rules[][2] = {
        {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
        {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
        {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        /* no replacement is longer than the text that it replaces */
        size_t length = strlen(rules[i][0]);
        size_t written = 0;
        for (size_t at = 0; at < token->size;)
            if (token->size - at < length || memcmp(token->bytes + at, rules[i][0], length) != 0) {
                token->bytes[written++] = token->bytes[at++];
            } else {
                memcpy(token->bytes + written, rules[i][1], strlen(rules[i][1]));
                written += strlen(rules[i][1]);
                at += length;
            }
        token->size = written;
    }
}

static void word_piece(const struct stage *step, struct decoder_state *state, const char *token,
                       size_t size)
{
    bool continues = begins_with(token, size, step);
    size_t prefix = state->tokens && continues ? step->content_size : 0;
    if (state->tokens && !continues)
        buf_char(&state->bytes, ' ');
    buf_bytes(&state->bytes, token + prefix, size - prefix);
    if (step->cleans)
        clean(&state->bytes);
}

/* --- reading ---------------------------------------------------------------------------------- */

enum { ROW_FUSE = 1 };

static const struct stage_row rows[] = {
    {"ByteLevel"},         /* changes nothing: words are stored as bytes */
    [ROW_FUSE] = {"Fuse"}, /* sets `fused` of later steps */
    {"Replace", "content", .rewrite = replace, .read = read_replace},
    {"ByteFallback", .put = join_bytes, .end = end_bytes},
    {"Strip", "content", " ", .put = strip, .read = read_strip},
    {"Metaspace", "replacement", "▁", .rewrite = replace, .read = read_metaspace},
    {"WordPiece", "prefix", "##", .rewrite = word_piece, .read = read_word_piece},
    {"BPEDecoder", "suffix", "</w>", .rewrite = drop_suffix},
};

static int begin_step(struct stage_list *list, struct stage *step, struct err *err)
{
    const struct stage *last = list->last;
    step->growth = last ? last->growth : 1;
    step->fused = last && (last->fused || last->row == &rows[ROW_FUSE]);
    return step->index < DECODER_STEPS_MAX
               ? 0
               : err_set(err, "expected at most %d steps, found more", DECODER_STEPS_MAX);
}

const struct stage_kind decoders = {"decoders", rows, sizeof rows / sizeof *rows, begin_step};

const struct matcher *decoders_sign(const struct stage *steps)
{
    for (; steps; steps = steps->next)
        if (steps->row->rewrite == replace && strcmp(steps->content, " ") == 0 &&
            steps->matcher.literal)
            return &steps->matcher;
    return NULL;
}

const char *decoders_prefix(const struct stage *steps)
{
    while (steps && steps->row->rewrite != word_piece)
        steps = steps->next;
    return steps ? steps->content : NULL;
}

bool decoders_join_bytes(const struct stage *steps)
{
    while (steps && steps->row->put != join_bytes)
        steps = steps->next;
    return steps;
}

/* --- decoding --------------------------------------------------------------------------------- */

void token_decoder_put(struct token_decoder *decoder, const char *token, size_t size)
{
    if (!decoder->steps && decoder->count)
        buf_char(&decoder->rest, ' ');
    decoder->count++;
    pass(decoder->steps, decoder, token, size);
}

void token_decoder_end(struct token_decoder *decoder)
{
    for (const struct stage *step = decoder->steps; step; step = step->next)
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
