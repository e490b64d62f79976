/* stages.h: a list of stages in a tokenizer.json: one, `{"type": "NFC"}`, or a Sequence of them. */
#ifndef ATTN_TEXT_STAGES_H
#define ATTN_TEXT_STAGES_H

#include "base/names.h"

struct arena;
struct json;

/* Steps are called recursively: many of them would overflow the stack. */
enum { STAGES_MAX = 256 };

struct stage_list {
    const char *member; /* the field of a Sequence that has its stages, "normalizers" */
    struct names types; /* the supported types */
    int (*add)(void *context, size_t type, const struct json *value, struct err *err);
    void *context;
    size_t count; /* of stages read */

    /* The steps that stages become: structs that begin with a pointer to the next one. */
    struct arena *arena; /* holds them */
    size_t step_bytes;
    void *head; /* the pointer to the first step */
    void *last; /* the last step; NULL: there is none */
};

/* Call `add` for each stage, in order. NULL and null are an empty list; a type without a name in
 * `types` is an error. */
int stages_read(struct stage_list *list, const struct json *value, struct err *err);

/* Append a step, filled with zeros, and return it; NULL with `err`. */
void *stages_add(struct stage_list *list, struct err *err);

/* Copy the field `name` of a stage into `arena`. If it is absent, the text stays as it is; a text
 * that is NULL then is an error. */
int stage_text(const char **text, size_t *size, const struct json *stage, const char *name,
               struct arena *arena, struct err *err);

#endif
