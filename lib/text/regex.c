#include "text/regex.h"

#include <oniguruma.h>
#include <pthread.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "text/label.h"

enum {
    FREE_STEPS = 128,          /* back and forth in a search, which most do with, … */
    STEPS_FACTOR = 4,          /* … and how many times as many it gets when it is tried again */
    STACK_MAX = 1 << 26,       /* places to go back to */
    DEPTH_MAX = 64,            /* of parentheses */
    PATTERN_BYTES_MAX = 65536, /* longer ones are no pattern that anybody wrote */
};

struct regex {
    regex_t *onig;
    char shown[LABEL_EXCERPT_BYTES];
};

static const unsigned char *bytes_of(const char *text)
{
    return (const unsigned char *)text;
}

static void begin(void)
{
    OnigEncoding encodings[] = {ONIG_ENCODING_UTF8};
    onig_initialize(encodings, 1);
    onig_set_retry_limit_in_match(FREE_STEPS);
    onig_set_retry_limit_in_search(FREE_STEPS);
    onig_set_match_stack_limit_size(STACK_MAX);
    onig_set_parse_depth_limit(DEPTH_MAX);
    onig_set_warn_func(onig_null_warn);
    onig_set_verb_warn_func(onig_null_warn);
}

int regex_open(struct regex **regex, const char *pattern, struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    unsigned char said[ONIG_MAX_ERROR_MESSAGE_LEN];
    size_t size = strlen(pattern);
    OnigErrorInfo info;
    pthread_once(&once, begin);
    if (size > PATTERN_BYTES_MAX)
        return err_set(err, "expected a pattern of at most %d bytes, found %zu", PATTERN_BYTES_MAX,
                       size);
    struct regex *opened = heap_alloc(1, sizeof *opened, err);
    if (!opened)
        return -1;
    label_excerpt(opened->shown, pattern, size);
    int status = onig_new(&opened->onig, bytes_of(pattern), bytes_of(pattern) + size,
                          ONIG_OPTION_NONE, ONIG_ENCODING_UTF8, ONIG_SYNTAX_ONIGURUMA, &info);
    if (status == ONIG_NORMAL) {
        *regex = opened;
        return 0;
    }
    if (status == ONIGERR_MEMORY) {
        err_memory(err, size);
    } else {
        onig_error_code_to_str(said, status, &info);
        err_set(err, "expected a regular expression, found '%s': %s", opened->shown,
                (const char *)said);
    }
    heap_free(opened);
    return -1;
}

void regex_free(struct regex *regex)
{
    if (regex)
        onig_free(regex->onig);
    heap_free(regex);
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

static int search(struct regex_walk *walk, OnigMatchParam *param)
{
    regex_t *onig = walk->regex->onig;
    const unsigned char *text = bytes_of(walk->text);
    const unsigned char *end = text + walk->size;
    const unsigned char *at = text + walk->at;
    return param ? onig_search_with_param(onig, text, end, at, end, walk->found, ONIG_OPTION_NONE,
                                          param)
                 : onig_search(onig, text, end, at, end, walk->found, ONIG_OPTION_NONE);
}

static bool is_over(int status)
{
    return status == ONIGERR_RETRY_LIMIT_IN_MATCH_OVER ||
           status == ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER;
}

/* Oniguruma does not tell how many steps a search took, so one that needs more than the free ones
 * is tried again with more, and what failed is taken off the text's. */
static int search_longer(struct regex_walk *walk)
{
    struct text_limits *limits = walk->limits;
    OnigMatchParam *param = onig_new_match_param();
    int status = param ? ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER : ONIGERR_MEMORY;
    for (size_t steps = FREE_STEPS; is_over(status) && limits->steps_left > steps;) {
        limits->steps_left -= steps;
        steps =
            limits->steps_left / STEPS_FACTOR < steps ? limits->steps_left : STEPS_FACTOR * steps;
        onig_set_retry_limit_in_match_of_match_param(param, steps);
        onig_set_retry_limit_in_search_of_match_param(param, steps);
        status = search(walk, param);
    }
    if (param)
        onig_free_match_param(param);
    return status;
}

static int explain(const struct regex_walk *walk, int status, struct err *err)
{
    char shown[LABEL_EXCERPT_BYTES];
    unsigned char said[ONIG_MAX_ERROR_MESSAGE_LEN];
    if (status == ONIGERR_MEMORY)
        return err_memory(err, walk->size);
    label_excerpt(shown, walk->text + walk->at, walk->size - walk->at);
    if (is_over(status))
        return err_set(err,
                       "pattern '%s': expected at most %d steps of search and %d for each byte of "
                       "the text, found more at '%s'",
                       walk->regex->shown, REGEX_STEPS, REGEX_STEPS_PER_BYTE, shown);
    onig_error_code_to_str(said, status);
    return err_set(err, "pattern '%s': %s at '%s'", walk->regex->shown, (const char *)said, shown);
}

int regex_next(struct regex_walk *walk, struct text_range *match, struct err *err)
{
    if (walk->at > walk->size)
        return 0;
    if (!walk->found && !(walk->found = onig_region_new()))
        return err_memory(err, sizeof *walk->found);
    if (!walk->limits) {
        walk->own = text_limits_of(walk->size);
        walk->limits = &walk->own;
    }
    int status = search(walk, NULL);
    if (is_over(status))
        status = search_longer(walk);
    if (status == ONIG_MISMATCH)
        return 0;
    if (status < 0)
        return explain(walk, status, err);
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
