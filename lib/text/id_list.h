/* id_list.h: ids in a text of any size, with blanks, new lines or commas between them.
 *
 *     struct id_list list = {.at = text, .end = text + size, .limit = 50257};
 *     uint32_t id;
 *     while (id_list_next(&list, &id, err))
 *         use(id);
 *     if (list.failed) ...
 */
#ifndef ATTN_TEXT_ID_LIST_H
#define ATTN_TEXT_ID_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct id_list {
    const char *at;
    const char *end;
    size_t limit; /* ids are below it, and fit into 32 bits */
    size_t count; /* of those read */
    bool failed;
    bool is_option; /* of --ids: one id at least, one comma between two, and signs are read */
};

/* The next id; false at the end and, with `err` and `failed`, at what is none. */
bool id_list_next(struct id_list *list, uint32_t *id, struct err *err);

#endif
