#include "text/regex.h"

#include <oniguruma.h>
#include <pthread.h>
#include <string.h>

#include "base/utf8.h"
#include "text/label.h"

enum {
    STEPS_MAX = 1 << 24,       /* back and forth in one match, which 16 MB of blanks take, … */
    SEARCH_MAX = 1 << 25,      /* … or from one match to the next … */
    STACK_MAX = 1 << 26,       /* … and places to go back to */
    DEPTH_MAX = 64,            /* of parentheses */
    PATTERN_BYTES_MAX = 65536, /* longer ones are no pattern that anybody wrote */
};

static const unsigned char *bytes_of(const char *text)
{
    return (const unsigned char *)text;
}

static void begin(void)
{
    OnigEncoding encodings[] = {ONIG_ENCODING_UTF8};
    onig_initialize(encodings, 1);
    onig_set_retry_limit_in_match(STEPS_MAX);
    onig_set_retry_limit_in_search(SEARCH_MAX);
    onig_set_match_stack_limit_size(STACK_MAX);
    onig_set_parse_depth_limit(DEPTH_MAX);
    onig_set_warn_func(onig_null_warn);
    onig_set_verb_warn_func(onig_null_warn);
}

int regex_open(struct regex **regex, const char *pattern, struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char shown[LABEL_EXCERPT_BYTES];
    unsigned char said[ONIG_MAX_ERROR_MESSAGE_LEN];
    size_t size = strlen(pattern);
    regex_t *opened = NULL;
    OnigErrorInfo info;
    pthread_once(&once, begin);
    label_excerpt(shown, pattern, size);
    if (size > PATTERN_BYTES_MAX)
        return err_set(err, "expected a pattern of at most %d bytes, found %zu", PATTERN_BYTES_MAX,
                       size);
    int status = onig_new(&opened, bytes_of(pattern), bytes_of(pattern) + size, ONIG_OPTION_NONE,
                          ONIG_ENCODING_UTF8, ONIG_SYNTAX_ONIGURUMA, &info);
    if (status == ONIGERR_MEMORY)
        return err_memory(err, size);
    if (status != ONIG_NORMAL) {
        onig_error_code_to_str(said, status, &info);
        return err_set(err, "expected a regular expression, found '%s': %s", shown,
                       (const char *)said);
    }
    *regex = (struct regex *)(void *)opened;
    return 0;
}

void regex_free(struct regex *regex)
{
    if (regex)
        onig_free((regex_t *)(void *)regex);
}

/* After an empty match the search goes on one character later. */
static size_t after(const struct regex_walk *walk, const struct text_range *match)
{
    uint32_t character = 0;
    if (match->start < match->end)
        return match->end;
    if (match->end == walk->size)
        return walk->size + 1;
    return match->end + utf8_decode(&character, walk->text + match->end, walk->size - match->end);
}

int regex_next(struct regex_walk *walk, struct text_range *match, struct err *err)
{
    char shown[LABEL_EXCERPT_BYTES];
    unsigned char said[ONIG_MAX_ERROR_MESSAGE_LEN];
    const unsigned char *text = bytes_of(walk->text);
    if (walk->at > walk->size)
        return 0;
    if (!walk->found && !(walk->found = onig_region_new()))
        return err_memory(err, sizeof *walk->found);
    regex_t *regex = (regex_t *)(void *)walk->regex;
    int status = onig_search(regex, text, text + walk->size, text + walk->at, text + walk->size,
                             walk->found, ONIG_OPTION_NONE);
    if (status == ONIG_MISMATCH)
        return 0;
    if (status == ONIGERR_MEMORY)
        return err_memory(err, walk->size);
    if (status < 0) {
        onig_error_code_to_str(said, status);
        return err_set(err, "a pattern of the tokenizer comes to no end at '%s': %s",
                       label_excerpt(shown, walk->text + walk->at, walk->size - walk->at),
                       (const char *)said);
    }
    *match = (struct text_range){(size_t)walk->found->beg[0], (size_t)walk->found->end[0]};
    if (match->start > match->end) /* \K looked ahead */
        match->start = match->end;
    walk->at = after(walk, match);
    return 1;
}

void regex_walk_release(struct regex_walk *walk)
{
    if (walk->found)
        onig_region_free(walk->found, 1);
    walk->found = NULL;
}
