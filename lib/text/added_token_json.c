#include "text/added_token_json.h"

#include <string.h>

#include "base/num.h"
#include "text/label.h"
#include "text/vocabulary.h"

static int read_rest(struct added_token *token, const struct json *item, struct err *err)
{
    const char *content = NULL;
    if (json_unique_keys(item, err) || json_text(item, "content", &content, err) ||
        json_bool(item, "special", &token->special, err) ||
        json_bool(item, "single_word", &token->single_word, err) ||
        json_bool(item, "lstrip", &token->left_strip, err) ||
        json_bool(item, "rstrip", &token->right_strip, err) ||
        json_bool(item, "normalized", &token->normalized, err))
        return -1;
    if (!content)
        return err_set(err, "expected a field 'content'");
    token->bytes = content;
    token->size = strlen(content);
    return 0;
}

int added_token_read(struct added_token *token, const struct json *item, struct err *err)
{
    long long id = -1;
    *token = (struct added_token){0};
    if (!json_is_object(item))
        return err_set(err, "expected an object");
    if (json_integer(item, "id", 0, VOCABULARY_ID_MAX, &id, err))
        return -1;
    if (id < 0)
        return err_set(err, "expected a field 'id'");
    token->id = (uint32_t)id;
    return read_rest(token, item, err);
}

int added_token_read_member(struct added_token *token, const struct json *member, struct err *err)
{
    char shown[LABEL_EXCERPT_BYTES];
    const char *name = json_key(member);
    long long id = 0;
    *token = (struct added_token){0};
    if (!num_parse_integer(name, 0, VOCABULARY_ID_MAX, &id) || !json_is_object(member))
        return err_set(err, "'%s': expected an object with an id from 0 to %d for its name",
                       label_excerpt(shown, name, strlen(name)), VOCABULARY_ID_MAX);
    token->id = (uint32_t)id;
    return read_rest(token, member, err) ? err_prefix(err, "'%s'", name) : 0;
}
