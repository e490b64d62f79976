/* work_claims.h: whether all of an earlier batch can go, and whether nothing else is in the way of
 * a new one, before anything goes.
 *
 *     struct work_claims claims;
 *     if (work_claims_open(&claims, &folder, err) ||
 *         work_claims_check(&claims, "results.jsonl", err)) ...      (for all names of the new one)
 *     work_claims_release(&claims);
 */
#ifndef ATTN_CMD_WORK_CLAIMS_H
#define ATTN_CMD_WORK_CLAIMS_H

#include <stddef.h>

#include "base/err.h"
#include "item_ids.h"
#include "work_folder.h"

struct work_claims {
    const struct work_folder *folder;
    struct item_ids names; /* in the folder, that go */
};

/* Read what is listed. Refused is a record that lists what no batch makes, and a folder of an item
 * in which anything else is. On failure nothing is held. */
int work_claims_open(struct work_claims *claims, const struct work_folder *folder, struct err *err);
void work_claims_release(struct work_claims *claims);

/* Refuse a name that something has which does not go. */
int work_claims_check(void *claims, const char *name, struct err *err);

/* Refuse a line of a record as work_claims_open does. */
int work_claims_check_line(const struct work_folder *folder, const char *line, size_t size,
                           struct err *err);

#endif
