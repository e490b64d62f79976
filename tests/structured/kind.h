/* kind.h: the kinds of input: one row and one file each.
 *
 * A kind begins with a valid input, makes one change that keeps the checks passing (or nearly so),
 * and says which command lines read it. They are run in the folder that its files are written to.
 */
#ifndef ATTN_TESTS_KIND_H
#define ATTN_TESTS_KIND_H

#include <stddef.h>

#include "base/err.h"
#include "made.h"

struct kind {
    const char *name;
    /* Read what inputs begin with: once, in the repository's root. `scratch` is an empty folder.
     * NULL: nothing. */
    int (*open)(const char *scratch, struct err *err);
    void (*make)(struct made *made);
    int highest; /* the highest status that its command lines may end with */
};

extern const struct kind kinds[];
extern const size_t kind_count;

/* The rows' functions, each in the file of its name. */
int models_open(const char *scratch, struct err *err);
void models_make(struct made *made);
int families_open(const char *scratch, struct err *err);
void families_make(struct made *made);
int tokenizers_open(const char *scratch, struct err *err);
void tokenizers_make(struct made *made);
int gguf_open_files(const char *scratch, struct err *err);
void gguf_make(struct made *made);
void items_make(struct made *made);
int manifests_open(const char *scratch, struct err *err);
void manifests_make(struct made *made);
int journals_open(const char *scratch, struct err *err);
void journals_make(struct made *made);

#endif
