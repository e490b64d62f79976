/* A text, split by the splitters and by Oniguruma with the same patterns. */
#include "fuzz.h"

#include "base/utf8.h"
#include "text/regex.h"
#include "text/splitter.h"

enum { PATTERNS = 5 };

static struct regex *regexes[PATTERNS], *unassigned;

static void open_all(void)
{
    static const char *const patterns[PATTERNS] = {
        "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
        "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
        "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
        "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| "
        "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
        "'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+",
        "<\\|startoftext\\|>|<\\|endoftext\\|>|'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|"
        "[^\\s\\p{L}\\p{N}]+",
    };
    for (size_t i = 0; i < PATTERNS; i++)
        fuzz_check(!regex_open(&regexes[i], patterns[i], &fuzz_err), "a pattern");
    fuzz_check(!regex_open(&unassigned, "\\p{Cn}", &fuzz_err), "a pattern");
}

/* regex_next(); clears the error of too many steps, which a run of 100,000 blanks takes. */
static int next_match(struct regex_walk *walk, struct text_range *match)
{
    int found = regex_next(walk, match, &fuzz_err);
    if (found < 0)
        fuzz_refused();
    return found;
}

static void compare(enum splitter_kind kind, const struct regex *regex, const char *text,
                    size_t size)
{
    struct splitter splitter = splitter_of(kind, text, size);
    struct regex_walk walk = {.regex = regex, .text = text, .size = size};
    struct text_range match;
    for (size_t at = 0; (at = splitter_skip(&splitter, at)) < size; at = match.end) {
        int found = next_match(&walk, &match);
        if (found < 0)
            break;
        fuzz_check(found && match.start == at,
                   "a match begins after each piece, except for skipped text");
        fuzz_check(splitter_next(&splitter, at) == match.end, "a piece is a match");
    }
    regex_walk_release(&walk);
}

void fuzz_one(const char *bytes, size_t size)
{
    struct text_range match;
    if (!unassigned)
        open_all();
    if (utf8_invalid_at(bytes, size) < size)
        return;
    struct regex_walk walk = {.regex = unassigned, .text = bytes, .size = size};
    int unknown = next_match(&walk, &match); /* not in Oniguruma's older Unicode */
    regex_walk_release(&walk);
    for (size_t i = 0; !unknown && i < PATTERNS; i++)
        compare(SPLITTER_GPT2 + (enum splitter_kind)i, regexes[i], bytes, size);
}
