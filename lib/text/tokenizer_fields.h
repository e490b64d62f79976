/* tokenizer_fields.h: the members of a tokenizer.json that make a difference, found in one walk:
 * its tables are too large for a tree. */
#ifndef ATTN_TEXT_TOKENIZER_FIELDS_H
#define ATTN_TEXT_TOKENIZER_FIELDS_H

#include "format/json.h"

struct json;

/* A member of an object. */
struct field {
    const char *name;
    struct json_span value; /* NULL bytes: it is not there */
    struct json *tree;      /* of a small value, once it was parsed */
    struct field *inner;    /* [inner_count] members to look for in its value */
    size_t inner_count;
};

/* Members of the document, and of its model. */
enum root_field {
    ROOT_ADDED_TOKENS,
    ROOT_NORMALIZER,
    ROOT_PRE_TOKENIZER,
    ROOT_POST_PROCESSOR,
    ROOT_DECODER,
    ROOT_TRUNCATION,
    ROOT_PADDING,
    ROOT_MODEL,
    ROOT_FIELDS
};

enum model_field {
    MODEL_TYPE,
    MODEL_VOCAB,
    MODEL_MERGES,
    MODEL_DROPOUT,
    MODEL_UNK_TOKEN,
    MODEL_UNK_ID,
    MODEL_PREFIX,
    MODEL_SUFFIX,
    MODEL_FUSE_UNK,
    MODEL_BYTE_FALLBACK,
    MODEL_IGNORE_MERGES,
    MODEL_MOST_CHARACTERS,
    MODEL_FIELDS
};

/* Find the fields of the object that comes, and pass it. Refused: one that stands twice. */
int fields_find(struct field *fields, size_t count, struct json_cursor *object, struct err *err);

/* Is there a value, and not null? */
bool field_is_given(const struct field *field);

/* Make a tree of a value that is small. */
int field_parse(struct field *field, struct err *err);
void fields_free(struct field *fields, size_t count);

/* The value of a field, which must be there and of one of the kinds, of "{[". */
int field_need(struct json_cursor *value, const struct field *field, const char *kinds,
               struct err *err);

/* Typed values: absent and null leave `*out` alone. Texts live as long as the field. */
int field_text(struct field *field, const char **out, struct err *err);
int field_bool(struct field *field, bool *out, struct err *err);
int field_integer(struct field *field, long long min, long long max, long long *out,
                  struct err *err);

#endif
