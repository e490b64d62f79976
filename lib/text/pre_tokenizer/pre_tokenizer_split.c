#include "text/encoder.h"
#include "text/pre_tokenizer/pre_tokenizer.h"

/* A piece that is being cut. What is found, and what lies between, comes in turn; one part waits
 * until it is known whether the next belongs to it. */
struct cutting {
    const struct pre_tokenizer *step;
    struct encoder *encoder;
    const struct text_piece *piece;
    struct text_range waiting;
    bool has_waiting, waiting_is_match;
    struct err *err;
};

static int hand_on(struct cutting *cutting)
{
    struct text_range range = cutting->waiting;
    bool gone = cutting->step->behavior == SPLIT_REMOVED && cutting->waiting_is_match;
    bool empty = !cutting->has_waiting || range.start == range.end;
    cutting->has_waiting = false;
    if (gone || empty)
        return 0;
    struct text_piece part = {cutting->piece->text, range};
    return encoder_pass(cutting->encoder, cutting->step->next, &part, cutting->err);
}

/* Does a part belong to the one that waits? */
static bool joins(const struct cutting *cutting, bool is_match)
{
    if (!cutting->has_waiting)
        return false;
    switch (cutting->step->behavior) {
    case SPLIT_MERGED_WITH_PREVIOUS:
        return is_match && !cutting->waiting_is_match;
    case SPLIT_MERGED_WITH_NEXT:
        return !is_match && cutting->waiting_is_match;
    case SPLIT_CONTIGUOUS:
        return is_match == cutting->waiting_is_match;
    case SPLIT_REMOVED:
    case SPLIT_ISOLATED:
        break;
    }
    return false;
}

static int add_part(struct cutting *cutting, struct text_range range, bool found)
{
    bool is_match = found != cutting->step->inverted;
    bool joined = joins(cutting, is_match);
    if (joined)
        range.start = cutting->waiting.start;
    else if (hand_on(cutting))
        return -1;
    cutting->waiting = range;
    cutting->waiting_is_match = is_match;
    cutting->has_waiting = true;
    return 0;
}

static int cut(struct cutting *cutting, struct matcher_walk *walk)
{
    size_t offset = cutting->piece->range.start; /* matches are counted from there */
    size_t size = cutting->piece->range.end - offset;
    size_t at = 0;
    struct text_range match;
    for (int found; (found = matcher_next(walk, &match, cutting->err)) != 0;) {
        if (found < 0)
            return -1;
        struct text_range between = {offset + at, offset + match.start};
        struct text_range hit = {offset + match.start, offset + match.end};
        if ((at < match.start && add_part(cutting, between, false)) || add_part(cutting, hit, true))
            return -1;
        at = match.end;
    }
    struct text_range rest = {offset + at, offset + size};
    return (at < size && add_part(cutting, rest, false)) || hand_on(cutting) ? -1 : 0;
}

/* Of a pattern by hand, do all matches stay, and nothing else? */
static bool keeps_matches(const struct pre_tokenizer *step)
{
    enum splitter_kind kind = step->matcher.splitter;
    bool has_gaps = kind >= SPLITTER_CLIP;
    return kind && (step->inverted ? step->behavior == SPLIT_REMOVED
                                   : step->behavior == SPLIT_ISOLATED && !has_gaps);
}

static int hand_on_all(const struct pre_tokenizer *step, struct encoder *encoder,
                       const struct text_piece *piece, struct err *err)
{
    size_t offset = piece->range.start;
    size_t size = piece->range.end - offset;
    struct splitter splitter =
        splitter_of(step->matcher.splitter, piece->text->bytes + offset, size);
    for (size_t at = 0, end; (at = splitter_skip(&splitter, at)) < size; at = end) {
        end = splitter_next(&splitter, at);
        struct text_piece part = {piece->text, {offset + at, offset + end}};
        if (encoder_pass(encoder, step->next, &part, err))
            return -1;
    }
    return 0;
}

int pre_tokenizer_split(const struct pre_tokenizer *step, struct encoder *encoder,
                        const struct text_piece *piece, struct err *err)
{
    struct text_range range = piece->range;
    const char *bytes = piece->text->bytes + range.start;
    size_t size = range.end - range.start;
    if (keeps_matches(step))
        return hand_on_all(step, encoder, piece, err);
    if (step->matcher.is && !step->inverted &&
        matcher_find_kind(&step->matcher, bytes, size, 0) == size)
        return encoder_pass(encoder, step->next, piece, err); /* whole */
    struct matcher_walk walk = matcher_walk(&step->matcher, bytes, size, &encoder->limits);
    struct cutting cutting = {.step = step, .encoder = encoder, .piece = piece, .err = err};
    int failed = cut(&cutting, &walk);
    matcher_walk_release(&walk);
    return failed;
}
