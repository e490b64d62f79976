/* A text, split by the splitters and by Oniguruma with the same patterns. */
#include "fuzz.h"

#include <stdio.h>

#include "base/utf8.h"
#include "text/matcher.h"

enum { PATTERNS = 5 };

static struct matcher splitters[PATTERNS], regexes[PATTERNS], unassigned;

static void open_all(void)
{
    static const int patterns[PATTERNS] = {PATTERN_GPT2, PATTERN_LLAMA3, PATTERN_QWEN2,
                                           PATTERN_CLIP, PATTERN_CLIP_SPECIAL};
    for (size_t i = 0; i < PATTERNS; i++) {
        const struct splitter_pattern *pattern = &splitter_patterns[patterns[i]];
        char group[512]; /* which has no splitter */
        snprintf(group, sizeof group, "(?:%s)", pattern->pattern);
        splitters[i].splitter = pattern->kind;
        fuzz_check(!matcher_set_pattern(&regexes[i], group, &fuzz_err), "a pattern");
    }
    fuzz_check(!matcher_set_pattern(&unassigned, "\\p{Cn}", &fuzz_err), "a pattern");
}

/* matcher_next(); clears the error of too many steps, which a run of 100,000 blanks takes. */
static int next_match(struct matcher_walk *walk, struct text_range *match)
{
    int found = matcher_next(walk, match, &fuzz_err);
    if (found < 0)
        fuzz_refused();
    return found;
}

static void compare(const struct matcher *splitter, const struct matcher *regex, const char *text,
                    size_t size)
{
    struct matcher_walk pieces = matcher_walk(splitter, text, size, NULL);
    struct matcher_walk matches = matcher_walk(regex, text, size, NULL);
    struct text_range piece;
    struct text_range match;
    int found = 1;
    while (found > 0 && matcher_next(&pieces, &piece, &fuzz_err)) {
        found = next_match(&matches, &match);
        fuzz_check(found && (found < 0 || (match.start == piece.start && match.end == piece.end)),
                   "a piece is a match");
    }
    matcher_walk_release(&matches);
}

void fuzz_one(const char *bytes, size_t size)
{
    struct text_range match;
    if (!unassigned.regex)
        open_all();
    if (utf8_invalid_at(bytes, size) < size)
        return;
    struct matcher_walk walk = matcher_walk(&unassigned, bytes, size, NULL);
    int unknown = next_match(&walk, &match); /* not in Oniguruma's older Unicode */
    matcher_walk_release(&walk);
    for (size_t i = 0; !unknown && i < PATTERNS; i++)
        compare(&splitters[i], &regexes[i], bytes, size);
}
