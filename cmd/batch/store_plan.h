/* store_plan.h: where the results of a batch go, in which form, and what they are called there:
 * what options alone decide.
 */
#ifndef ATTN_CMD_STORE_PLAN_H
#define ATTN_CMD_STORE_PLAN_H

#include "../options.h"
#include "write/format.h"
#include "work_folder.h"

struct instrument;
enum store_kind {
    STORE_LINES, /* a JSON line for each item */
    STORE_ITEMS, /* files of each item, in a folder of its own */
};

struct store_plan {
    enum store_kind kind;
    bool to_stdout;                      /* or to a device: nothing is left there to go on with */
    bool in_folder;                      /* else in a file, which is one result */
    const struct format *format;         /* of items, where they do not say otherwise */
    const struct instrument *instrument; /* what is done with items; NULL: they are run */
    const struct options *options;
    struct job_shard shard;
    struct result_list items; /* of STORE_ITEMS, for who begins anew; `each` may be NULL */
    bool begins_anew;         /* what was begun of the same batch, as a merge does */
};

/* Read -o, --format and --shard. */
int store_choose(struct store_plan *plan, const struct options *options, struct err *err);

/* The format of one item. */
const struct format *store_format(const struct store_plan *plan, const struct options *item,
                                  struct err *err);

/* The page of texts in results: the same on every terminal. */
struct place store_page(const struct options *options);

/* --- names ------------------------------------------------------------------------------------ */

/* The file of all lines, which belongs to no single item; whether a name is that. */
extern const char result_name_lines[];
bool result_names_have(const char *name);

/* Append the name of a job as that of a folder, `a,head=2`: letters, digits and "-_.,=+" stay, all
 * else is %XX, and so is the first letter of what would be a name of the batch's own. No two jobs
 * have the same; a long one ends in a hash of it. */
void result_names_folder(struct buf *out, const char *job);

/* Whether a file of a journal or a manifest is one that a batch makes: ITEM/FILE, or of results. */
bool result_names_list(const char *file);

#endif
