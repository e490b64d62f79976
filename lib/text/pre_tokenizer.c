#include "text/tokenizer_json.h"

#include <string.h>

#include "format/json.h"
#include "text/label.h"

/* What was read so far of a sequence. */
struct steps {
    struct pre_tokenizer *out;
    bool split; /* by GPT-2's pattern, before anything else */
    struct err *err;
};

const char *pre_tokenizer_name(enum pre_tokenizer_kind kind)
{
    static const char *const names[] = {"null", "ByteLevel", "Whitespace", "WhitespaceSplit"};
    return names[kind];
}

/* The member's text, or "" where it is none. */
static const char *text_of(const struct json *object, const char *name)
{
    const char *text = "";
    json_get_text(json_member(object, name), &text);
    return text;
}

static bool is_true(const struct json *object, const char *name, bool otherwise)
{
    bool value = otherwise;
    json_get_bool(json_member(object, name), &value);
    return value;
}

/* The two ways in which GPT-2's pattern is written. */
static bool is_gpt2_pattern(const char *pattern)
{
    static const char rest[] = "| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
    static const char *const starts[] = {"'s|'t|'re|'ve|'m|'ll|'d", "'(?:[sdmt]|ll|ve|re)"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        size_t size = strlen(starts[i]);
        if (strncmp(pattern, starts[i], size) == 0 && strcmp(pattern + size, rest) == 0)
            return true;
    }
    return false;
}

/* Every piece stays, whether the pattern names the pieces or what separates them. */
static bool keeps_pieces(const struct json *step)
{
    const char *behavior = text_of(step, "behavior");
    return strcmp(behavior, is_true(step, "invert", false) ? "Removed" : "Isolated") == 0;
}

static int read_split(struct steps *steps, const struct json *step)
{
    char shown[LABEL_EXCERPT_BYTES];
    const char *pattern = text_of(json_member(step, "pattern"), "Regex");
    if (!is_gpt2_pattern(pattern) || !keeps_pieces(step))
        return err_unsupported(steps->err, "a Split by '%s' is not supported, only GPT-2's",
                               label_excerpt(shown, pattern, strlen(pattern)));
    steps->split = true;
    return 0;
}

static int read_byte_level(struct steps *steps, const struct json *step)
{
    bool prefix_space = false;
    if (!json_get_bool(json_member(step, "add_prefix_space"), &prefix_space))
        return err_set(steps->err, "ByteLevel: expected a field 'add_prefix_space', true or false");
    if (!steps->split && !is_true(step, "use_regex", true))
        return err_unsupported(steps->err,
                               "ByteLevel without use_regex is not supported, only after a Split");
    if (steps->split && prefix_space)
        return err_unsupported(steps->err,
                               "ByteLevel with add_prefix_space is not supported after a Split");
    *steps->out = (struct pre_tokenizer){PRE_TOKENIZER_BYTE_LEVEL, prefix_space};
    return 0;
}

static int read_step(struct steps *steps, const struct json *step);

static int read_sequence(struct steps *steps, const struct json *sequence)
{
    const struct json *list = json_member(sequence, "pretokenizers");
    for (const struct json *at = json_first(list); at; at = json_next(at))
        if (read_step(steps, at))
            return -1;
    return 0;
}

static int read_step(struct steps *steps, const struct json *step)
{
    char shown[LABEL_EXCERPT_BYTES];
    const char *type = text_of(step, "type");
    bool first = steps->out->kind == PRE_TOKENIZER_NONE;
    if (strcmp(type, "Sequence") == 0)
        return read_sequence(steps, step);
    if (first && !steps->split && strcmp(type, "Split") == 0)
        return read_split(steps, step);
    if (first && strcmp(type, "ByteLevel") == 0)
        return read_byte_level(steps, step);
    for (int kind = PRE_TOKENIZER_WHITESPACE; kind <= PRE_TOKENIZER_WHITESPACE_SPLIT; kind++) {
        if (!first || steps->split || strcmp(type, pre_tokenizer_name(kind)) != 0)
            continue;
        steps->out->kind = (enum pre_tokenizer_kind)kind;
        return 0;
    }
    return err_unsupported(steps->err, "type '%s' is not supported%s",
                           label_excerpt(shown, type, strlen(type)),
                           first && !steps->split ? "" : " after another");
}

int pre_tokenizer_read(struct pre_tokenizer *out, const struct json *value, struct err *err)
{
    struct steps steps = {.out = out, .err = err};
    *out = (struct pre_tokenizer){0};
    if (!value || json_is_null(value))
        return 0;
    if (!json_is_object(value))
        return err_set(err, "expected an object");
    if (read_step(&steps, value))
        return -1;
    if (steps.split && out->kind == PRE_TOKENIZER_NONE)
        return err_unsupported(err, "a Split without ByteLevel after it is not supported");
    return 0;
}
