/* answer.c: --answer and --position: whose logit, and after which token. */
#include <string.h>

#include "command.h"
#include "session.h"

int answer_read(struct answer *answer, const struct options *options, const struct viewer *viewer,
                struct arena *arena, struct err *err)
{
    const char *text = options->attribute.answer;
    *answer = (struct answer){-1, -1};
    if (!text)
        return 0;
    const char *colon = *text ? strchr(text + 1, ':') : NULL;
    size_t size = colon ? (size_t)(colon - text) : strlen(text);
    const char *first = arena_text(arena, text, size, err);
    if (!first || inputs_read_token(&answer->id, viewer, "--answer", first, arena, err))
        return -1;
    return colon ? inputs_read_token(&answer->against, viewer, "--answer", colon + 1, arena, err)
                 : 0;
}

int answer_position(size_t *index, const struct options *options, const struct tokenized *sentence,
                    struct err *err)
{
    const char *position = options->attribute.position;
    *index = sentence->count - 1;
    if (!position || selection_index(index, position, strlen(position), sentence->count))
        return 0;
    return err_usage(
        err, "--position: expected a place from 0 to %zu (or -%zu to -1 from the end), found '%s'",
        sentence->count - 1, sentence->count, position);
}

static const char *name_of(const struct viewer *viewer, long long id, struct arena *arena,
                           struct err *err)
{
    struct label label = {0};
    if (!viewer->tokenizer)
        return arena_format(arena, err, "%lld", id);
    return label_of_word(&label, viewer->tokenizer, (uint32_t)id, arena, err) ? NULL : label.text;
}

const char *answer_describe(const struct answer *answer, const struct viewer *viewer,
                            const struct label *after, struct arena *arena, struct err *err)
{
    bool differs = answer->against >= 0;
    const char *name = name_of(viewer, answer->id, arena, err);
    const char *other = differs ? name_of(viewer, answer->against, arena, err) : "";
    if (!name || !other)
        return NULL;
    return arena_format(arena, err, "logit of %s%s%s after %s%s%s%s", name, differs ? " less " : "",
                        other, after->text, answer->cap ? " (" : "", answer->cap ? answer->cap : "",
                        answer->cap ? " final soft cap)" : "");
}

void answer_put(struct json_writer *json, const struct answer *answer)
{
    json_put_integer(json, "answer", answer->id);
    if (answer->against < 0)
        json_put_text(json, "against", NULL);
    else
        json_put_integer(json, "against", answer->against);
    if (answer->cap)
        json_put_text(json, "final_soft_cap", answer->cap);
}
