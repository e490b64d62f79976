/* stages.h: a list of stages in a tokenizer.json: one, `{"type": "NFC"}`, or a Sequence of them. */
#ifndef ATTN_TEXT_STAGES_H
#define ATTN_TEXT_STAGES_H

#include "base/names.h"

struct arena;
struct json;

/* Steps are called recursively: many of them would overflow the stack. */
enum { STAGES_MAX = 256 };

struct stage_list {
    const char *member; /* of a Sequence, "normalizers" */
    struct names types; /* that there are */
    int (*add)(void *context, size_t type, const struct json *value, struct err *err);
    void *context;
    size_t count; /* so far */
};

/* Hand each stage to `add`, in order; NULL and null: there is none. Refused by name: a type that is
 * not there. */
int stages_read(struct stage_list *list, const struct json *value, struct err *err);

/* A text of a stage, kept in `arena`: by default what `text` is before; NULL: it must be there. */
int stage_text(const char **text, size_t *size, const struct json *stage, const char *name,
               struct arena *arena, struct err *err);

#endif
