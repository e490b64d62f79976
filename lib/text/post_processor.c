#include "text/post_processor.h"

#include <string.h>

#include "format/json.h"
#include "text/label.h"
#include "text/stages.h"
#include "text/word_table.h"

static int add_id(uint32_t *ids, size_t *count, const struct json *value, struct err *err)
{
    long long id = 0;
    if (!json_get_integer(value, 0, WORD_ID_MAX, &id))
        return err_set(err, "expected an id from 0 to %d", WORD_ID_MAX);
    if (*count == SPECIAL_IDS_MAX)
        return err_set(err, "expected at most %d tokens on each side of a text, found more",
                       SPECIAL_IDS_MAX);
    ids[(*count)++] = (uint32_t)id;
    return 0;
}

/* {"SpecialToken": {"id": "<s>"}}, whose ids the template lists. */
static int add_special(struct special_ids *ids, const struct json *token, const struct json *listed,
                       bool after, struct err *err)
{
    char shown[LABEL_EXCERPT_BYTES];
    const char *name = "";
    json_get_text(json_member(token, "id"), &name);
    const struct json *list = json_member(json_member(listed, name), "ids");
    if (!json_is_array(list))
        return err_set(err, "special_tokens: expected '%s' with its ids",
                       label_excerpt(shown, name, strlen(name)));
    for (const struct json *at = json_first(list); at; at = json_next(at))
        if (after ? add_id(ids->after, &ids->after_count, at, err)
                  : add_id(ids->before, &ids->before_count, at, err))
            return -1;
    return 0;
}

static int read_template(struct special_ids *ids, const struct json *value, struct err *err)
{
    const struct json *single = json_member(value, "single");
    const struct json *listed = json_member(value, "special_tokens");
    bool after = false; /* the text was passed */
    if (!json_is_array(single))
        return err_set(err, "field 'single': expected an array");
    for (const struct json *at = json_first(single); at; at = json_next(at)) {
        const struct json *special = json_member(at, "SpecialToken");
        after = after || json_member(at, "Sequence");
        if (special && add_special(ids, special, listed, after, err))
            return err_prefix(err, "single");
    }
    return 0;
}

/* "cls": ["<s>", 0], "sep": ["</s>", 2] */
static int read_pair(struct special_ids *ids, const struct json *value, struct err *err)
{
    const struct json *cls = json_next(json_first(json_member(value, "cls")));
    const struct json *sep = json_next(json_first(json_member(value, "sep")));
    if (add_id(ids->before, &ids->before_count, cls, err))
        return -1;
    return add_id(ids->after, &ids->after_count, sep, err);
}

static const struct row {
    const char *name;
    int (*read)(struct special_ids *ids, const struct json *value, struct err *err);
} rows[] = {
    {"TemplateProcessing", read_template},
    {"ByteLevel", NULL}, /* where tokens stand, which is known here anyway */
    {"BertProcessing", read_pair},
    {"RobertaProcessing", read_pair},
};

enum { ROW_COUNT = sizeof rows / sizeof *rows };

static int add(void *context, size_t type, const struct json *value, struct err *err)
{
    struct special_ids one = {0};
    if (rows[type].read && rows[type].read(&one, value, err))
        return -1;
    if (one.before_count || one.after_count) /* of several the last one counts */
        *(struct special_ids *)context = one;
    return 0;
}

int post_processor_read(struct special_ids *ids, const struct json *value, struct err *err)
{
    struct stage_list list = {"processors", NAMES(rows, ROW_COUNT), add, ids};
    *ids = (struct special_ids){0};
    return stages_read(&list, value, err);
}

void special_ids_set_first(struct special_ids *ids, uint32_t id, bool wanted)
{
    bool there = ids->before_count && ids->before[0] == id;
    if (there == wanted || (wanted && ids->before_count == SPECIAL_IDS_MAX))
        return;
    size_t rest = there ? ids->before_count - 1 : ids->before_count;
    memmove(ids->before + wanted, ids->before + there, rest * sizeof *ids->before);
    ids->before[0] = wanted ? id : ids->before[0];
    ids->before_count = rest + wanted;
}

void special_ids_set_last(struct special_ids *ids, uint32_t id, bool wanted)
{
    bool there = ids->after_count && ids->after[ids->after_count - 1] == id;
    if (there == wanted || (wanted && ids->after_count == SPECIAL_IDS_MAX))
        return;
    ids->after_count -= there;
    if (wanted)
        ids->after[ids->after_count++] = id;
}
