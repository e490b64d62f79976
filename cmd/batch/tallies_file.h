/* tallies_file.h: exact sums on their way to another process, or to the same one after an
 * interruption.
 *
 * The file begins with how many jobs are in it; each group has a line that says what it is, a
 * line that says how many texts, and the lines of tally_lines.h:
 *
 *     {"done": 4000}
 *     {"model": "tiny", "settings": {"bos": "true"}, "layers": 2, "heads": 4, "queries": 40,
 *      "keys": 40, "causal": true}
 *     texts,4000
 *     entropy,0,0,,,88000,1f3a…
 */
#ifndef ATTN_CMD_TALLIES_FILE_H
#define ATTN_CMD_TALLIES_FILE_H

#include <stddef.h>

#include "base/err.h"
#include "base/stream.h"
#include "tallies.h"

int tallies_write(struct stream *out, const struct tallies *tallies, size_t done, struct err *err);

/* Write sums to a file, and after them a line with the hash of all others. */
int tallies_save(const struct tallies *tallies, const char *path, size_t done, struct err *err);

/* Refuse a file that is not as it was saved. */
int tallies_check_saved(const char *path, struct err *err);

/* Count what a file of sums has, and tell how many jobs are in it. Groups must be those that are
 * there already; where there are none, they are the file's. */
int tallies_load(struct tallies *tallies, const char *path, size_t *done, struct err *err);

#endif
